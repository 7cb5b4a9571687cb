#!/bin/sh
# Makes .venv ready: `sh tools/setup.sh run` for running Dovetail, `sh tools/setup.sh dev` for developing it too.
#
# Needs Python 3.11 or newer and a package index that pip can reach; PYTHON=… names the interpreter. Safe to repeat:
# a working .venv is kept and brought up to date, a broken one is made again. When to call it is the Makefile's business.
set -eu

cd "$(dirname "$0")/.."

case "${1:-}" in
    run) package="." ;;
    dev) package=".[dev]" ;;
    *) echo "tools/setup.sh: say 'run' or 'dev', not '${1:-}'" >&2; exit 2 ;;
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

found=""
candidates="${PYTHON:-python3.13 python3.12 python3.11 python3}"

choose_python() {
    chosen=""
    for candidate in $candidates; do
        if recent_enough "$candidate"; then
            # One that can make a venv at once is better than a newer one that first needs a system package.
            if can_make_venv "$candidate"; then chosen=$candidate; return; fi
            chosen=${chosen:-$candidate}
        elif version=$("$candidate" --version 2>/dev/null); then
            found="$found${found:+, }$candidate is $version"
        fi
    done
    [ -n "$chosen" ] || stop \
        "Python 3.11 or newer is needed; looked for: $candidates; found: ${found:-none that runs}." \
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

if [ -x .venv/bin/python ] && recent_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "bringing the environment up to date…"
else
    choose_python
    can_make_venv "$chosen" || install_venv_package
    echo "setting up the environment (once, about a minute)…"
    "$chosen" -m venv --clear .venv || stop "'$chosen -m venv .venv' failed; its message is above."
fi

# An environment from before the distribution was renamed has it under its old name, which owns the same command.
if ls -d .venv/lib/python3*/site-packages/dovetail-[0-9]*.dist-info >/dev/null 2>&1; then
    .venv/bin/python -m pip uninstall --quiet --yes --disable-pip-version-check dovetail </dev/null
fi

.venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
    --constraint constraints.txt --editable "$package" </dev/null || stop \
    "pip could not install the dependencies (its message is above)." \
    "Check that this machine reaches a package index, then repeat; 'make clean-all' starts afresh."
