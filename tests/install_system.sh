#!/bin/sh
# sh tests/install_system.sh: put Chromium where the tests of the report's page find it, with Debian's packages, as root.
# Does nothing where it is there already. Without it those tests skip and say so, so a failure here is no error.
set -u
if command -v chromium >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "-- no apt-get here, so no Chromium: the tests of the report in a browser will skip"
    exit 0
fi
echo "-- installing Debian's chromium, for the tests of the report in a browser (CI=true, as root)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
start=$(date +%s)
if { apt-get update && apt-get install -y --no-install-recommends chromium; } >"$log" 2>&1; then
    echo "-- chromium installed in $(($(date +%s) - start)) s"
else
    echo "-- chromium could not be installed: those tests will skip. apt-get said:"
    tail -n 5 "$log"
fi
rm -f "$log"
