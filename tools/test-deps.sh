#!/bin/sh
# Installs the system packages that tests against real programs need. Tests whose program is missing are skipped and
# say so, so this succeeds wherever it can do nothing; it fails only when an install that was tried fails.
set -eu

# One line a program: the command the tests call, and the Debian package that brings it.
needs="
ps      procps
"

missing=$(echo "$needs" | while read -r program package; do
    [ -z "$program" ] || command -v "$program" >/dev/null 2>&1 || echo "$package"
done | sort -u | tr '\n' ' ')
missing=${missing% }

if [ -z "$missing" ]; then
    echo "test-deps: everything is installed"
elif ! command -v apt-get >/dev/null 2>&1; then
    echo "test-deps: not a Debian system; install what corresponds to these Debian packages: $missing"
elif [ "$(id -u)" -ne 0 ]; then
    echo "test-deps: not root; to install what is missing: sudo apt-get install -y $missing"
else
    echo "test-deps: installing $missing…"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >/dev/null
    # shellcheck disable=SC2086  # a list of packages
    apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null
fi
