#!/bin/sh
# Check the types of the dashboard: its modules are plain JavaScript, so nothing else would.
cd "$(dirname "$0")" || exit 1
if [ ! -x node_modules/.bin/tsc ]; then
    echo "the dashboard's types are not checked: node or its packages are missing; make test-deps installs them"
    exit 0
fi
node_modules/.bin/tsc --project . && echo "the dashboard's types are right"
