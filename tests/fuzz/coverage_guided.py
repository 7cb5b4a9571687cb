"""`python -m tests.fuzz.coverage_guided SECONDS SEED FOLDER`: all targets under Atheris, which follows coverage.

Atheris looks for inputs that reach new lines of Dovetail. The first byte of an input chooses the target, so that one
process serves them all: to load and instrument the code takes long. It ends the process: with 0 when the time is over,
otherwise after an input that made its target raise, or take more than `SLOW_S`. That input is then in the folder.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MAX_LENGTH = 4096
SLOW_S = 10
#: Those with parsers; to instrument all of Dovetail would take minutes.
INSTRUMENTED = ["dovetail.model", "dovetail.constraints", "dovetail.api.protocol", "dovetail.discovery"]


def is_installed() -> bool:
    return find_spec("atheris") is not None


def chosen(targets: dict[str, Any], data: bytes) -> str:
    """The name of the target of an input."""
    return list(targets)[data[0] % len(targets)]


def main(seconds: str, seed: str, folder: str) -> None:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=INSTRUMENTED):
        targets = import_module("tests.fuzz.targets").TARGETS
    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for number, target in enumerate(targets.values()):
        for text in target.seeds:
            (corpus / f"{number}-{len(text)}").write_bytes(bytes([number]) + text.encode())

    def run(data: bytes) -> None:
        if data:
            targets[chosen(targets, data)](data[1:])

    bounds = [f"-max_total_time={seconds}", f"-max_len={MAX_LENGTH}", f"-timeout={SLOW_S}", f"-seed={seed}"]
    atheris.Setup([sys.argv[0], *bounds, f"-artifact_prefix={folder}/found-", str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
