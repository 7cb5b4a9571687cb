# Everything a person or CI does with this repository. A fresh clone needs only make and Python 3.11 or newer:
# each target first sets up .venv, once, and again only when the dependencies change. `make run` installs what
# running needs; the developers' targets add the tools they call.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two set-ups at once would write the same .venv.
.NOTPARALLEL:

BIN := .venv/bin
# The stamps live inside .venv, so that removing it removes the claim that it is ready.
RUN_READY := .venv/.ready-to-run
DEV_READY := .venv/.ready-to-develop
DEPENDENCIES := pyproject.toml constraints.txt tools/setup.sh

# Set by the caller: PYTHON=python3.12 picks the interpreter, ONLY=PATTERN some benchmarks, ARGS=… goes to the command.
PYTHON ?=
ONLY ?=
ARGS ?=

# Processes that run tests. More than two cores' worth: tests of servers mostly wait, and each server has one of them.
WORKERS ?= 6

# Compiled modules are kept, whatever the caller's shell says: the tests start hundreds of processes that import them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: $(RUN_READY) ## start the control plane on this machine (ARGS="--help" shows its options)
	@$(BIN)/dovetail serve $(ARGS)

.PHONY: demo
demo: $(RUN_READY) ## start it on a simulated cluster with a stream of work
	@$(BIN)/dovetail demo $(ARGS)

.PHONY: test
test: $(DEV_READY) ## run the tests (ARGS="-k gang" runs some, ARGS=--cpu-report says what each costs)
	@$(BIN)/python -m tests.run -n $(WORKERS) --dist loadgroup --max-worker-restart 4 $(ARGS)

.PHONY: bench
bench: $(DEV_READY) ## measure against the bars (ONLY=PATTERN measures some); figures go to build/bench.json
	@$(BIN)/python -m benchmarks $(if $(ONLY),--only '$(ONLY)') $(ARGS)

.PHONY: bench-kubernetes
bench-kubernetes: $(DEV_READY) ## the same beside kube-scheduler, on one API server (make test-deps builds both)
	@$(BIN)/python -m benchmarks --only 'kubernetes*' $(ARGS)

.PHONY: soak
soak: $(DEV_READY) ## long random runs with fresh seeds (ARGS="--minutes 5 --seed 2 --only simulation"); to build/soak.json
	@$(BIN)/python -m tests.soak $(ARGS)

.PHONY: lint
lint: $(DEV_READY) ## check style, formatting, types and which room imports which
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@sh tools/web/check.sh

.PHONY: web-types
web-types: $(DEV_READY) ## write the types of the dashboard from the OpenAPI description
	@$(BIN)/python tools/web/schema_types.py

.PHONY: screenshots
screenshots: $(DEV_READY) ## pictures of every page of the dashboard, light and dark, wide and narrow, to build/screenshots
	@$(BIN)/python tools/web/screenshots.py

.PHONY: docs
docs: $(DEV_READY) ## write the reference pages (docs/reference) from the models, the picture of the README, the Grafana dashboard
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/picture.py
	@$(BIN)/python tools/grafana.py

.PHONY: format
format: $(DEV_READY) ## apply the formatting and the safe style fixes
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

.PHONY: hooks
hooks: $(DEV_READY) ## run the checks before every git commit from now on
	@$(BIN)/pre-commit install

.PHONY: test-deps
test-deps: $(DEV_READY) ## install the programs that tests against real servers need, or build them (once, ten minutes)
	@sh tools/test-deps.sh

.PHONY: clean
clean: ## remove what the other targets made, except .venv
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## remove .venv too
	@rm -rf .venv

$(RUN_READY): $(DEPENDENCIES)
	@PYTHON='$(PYTHON)' sh tools/setup.sh run
	@touch $@

# A developer's environment can also run: the second stamp spares `make run` an install.
$(DEV_READY): $(DEPENDENCIES)
	@PYTHON='$(PYTHON)' sh tools/setup.sh dev
	@touch $@ $(RUN_READY)
