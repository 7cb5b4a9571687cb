#!/bin/sh
# Makes .venv ready: `sh tools/setup.sh run` for running Dovetail, `sh tools/setup.sh dev` for developing it too.
# `sh tools/setup.sh python` only prints the Python that it would take.
#
# Needs Python 3.11 or newer and a package index that pip can reach; PYTHON=… names the interpreter, otherwise the
# fastest is taken that PATH has. Safe to repeat: a working .venv is kept and brought up to date, a broken one is made
# again. When to call it is the Makefile's business.
set -eu

cd "$(dirname "$0")/.."

case "${1:-}" in
    run) package="." ;;
    dev) package=".[dev]" ;;
    python) package="" ;;
    *) echo "tools/setup.sh: say 'run', 'dev' or 'python', not '${1:-}'" >&2; exit 2 ;;
esac

stop() {
    printf 'dovetail: %s\n' "$@" >&2
    exit 1
}

# Candidates are executed, not only looked up: a version manager's shim may exist for a Python that is not switched on.
recent_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# The microseconds of a processor that a candidate needs for a little work. Builds of one version differ by half: what
# a version manager compiles is often not optimised.
time_of_work() {
    "$1" - <<'EOF'
from time import process_time

class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other

def work():
    start = process_time()
    pairs = [Pair(number, str(number)) for number in range(20_000)]
    sorted({pair.other: pair.one for pair in pairs}.items())
    return process_time() - start

print(int(1e6 * min(work() for _ in range(15))))
EOF
}

on_path() {
    old_ifs=$IFS
    IFS=:
    for folder in $PATH; do
        for name in python3.13 python3.12 python3.11 python3; do
            if [ -x "$folder/$name" ]; then echo "$folder/$name"; fi
        done
    done
    IFS=$old_ifs
}

choose_python() {
    chosen="" fallback="" found="" best=0
    while IFS= read -r candidate; do
        if ! recent_enough "$candidate"; then
            if version=$("$candidate" --version 2>/dev/null); then found="$found${found:+, }$candidate is $version"; fi
        elif can_make_venv "$candidate"; then
            # A tenth is chance: among those as fast, the first of PATH is taken.
            time=$(time_of_work "$candidate")
            if [ -z "$chosen" ] || [ $((time * 10)) -lt $((best * 9)) ]; then chosen=$candidate best=$time; fi
        else
            fallback=${fallback:-$candidate}
        fi
    done <<EOF
${PYTHON:-$(on_path)}
EOF
    # One that can make a venv at once is better than one that first needs a system package.
    chosen=${chosen:-$fallback}
    [ -n "$chosen" ] || stop \
        "Python 3.11 or newer is needed; found: ${found:-none that runs}." \
        "Install one (on Debian or Ubuntu: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12 …"
}

# Debian ships Python without the part that puts pip into a venv.
install_venv_package() {
    debian_package=$("$chosen" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    command -v apt-get >/dev/null 2>&1 || stop \
        "$chosen cannot make a virtual environment: its module ensurepip or venv is missing." \
        "Install your system's package for it, or name another Python: make PYTHON=/path/to/python3.12 …"
    [ "$(id -u)" -eq 0 ] || stop \
        "$chosen cannot make a virtual environment: the system package $debian_package is missing. Install it, then repeat:" \
        "    sudo apt-get install -y $debian_package"
    echo "installing the system package $debian_package, which $chosen needs to make a virtual environment…"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$debian_package"; } </dev/null >/dev/null || stop \
        "apt-get could not install $debian_package (its message is above); install it by hand, then repeat."
    can_make_venv "$chosen" || stop \
        "$chosen still cannot make a virtual environment with $debian_package installed." \
        "Name another Python: make PYTHON=/path/to/python3.12 …"
}

if [ -z "$package" ]; then
    choose_python
    echo "$chosen"
    exit
fi

if [ -x .venv/bin/python ] && recent_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "bringing the environment up to date…"
else
    choose_python
    can_make_venv "$chosen" || install_venv_package
    echo "setting up the environment with $chosen (once, about a minute)…"
    "$chosen" -m venv --clear .venv || stop "'$chosen -m venv .venv' failed; its message is above."
fi

# An environment from before the distribution was renamed has it under its old name, which owns the same command.
if ls -d .venv/lib/python3*/site-packages/dovetail-[0-9]*.dist-info >/dev/null 2>&1; then
    .venv/bin/python -m pip uninstall --quiet --yes --disable-pip-version-check dovetail </dev/null
fi

pip() {
    command=$1
    shift
    .venv/bin/python -m pip "$command" --no-input --disable-pip-version-check "$@" </dev/null
}

# uv takes a tenth of the time. It reads none of pip's settings, so where these name an index, or it fails, pip does it.
install_with_uv() {
    ! pip config list | grep -q 'index' || return 1
    pip install --quiet --constraint constraints.txt uv 2>/dev/null || return 1
    .venv/bin/uv pip install --python .venv/bin/python --quiet --compile-bytecode \
        --constraint constraints.txt --editable "$package" </dev/null 2>/dev/null
}

install_with_uv || pip install --quiet --constraint constraints.txt --editable "$package" || stop \
    "pip could not install the dependencies (its message is above)." \
    "Check that this machine reaches a package index, then repeat; 'make clean-all' starts afresh."
