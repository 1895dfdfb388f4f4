#!/bin/sh
# sh tests/install_system.sh: install what the tests use of the system, as root, from Debian's packages: Chromium for
# the pages, PostgreSQL for the store. Does nothing where it is there already, nor with TURNCOAT_NO_APT=1.
# Without it those tests skip and say so, so a failure here is no error.
set -u

has_chromium() { command -v chromium >/dev/null 2>&1; }

has_postgresql() {
    for program in "$(command -v postgres)" /usr/lib/postgresql/*/bin/postgres; do
        [ -x "$program" ] && return 0
    done
    return 1
}

install() { # PACKAGE, WHAT FOR
    echo "-- installing Debian's $1, for $2 (CI=true, as root)"
    start=$(date +%s)
    if apt-get install -y --no-install-recommends "$1" >"$log" 2>&1; then
        version=$(dpkg-query --show --showformat='${Version}' "$1" 2>/dev/null)
        echo "-- $1 $version installed ($(grep -c '^Setting up' "$log") packages) in $(($(date +%s) - start)) s"
    else
        echo "-- $1 could not be installed: those tests will skip. apt-get said:"
        tail -n 5 "$log"
    fi
}

missing=
has_chromium || missing="$missing chromium"
has_postgresql || missing="$missing postgresql"
[ -n "$missing" ] || exit 0
if [ "${TURNCOAT_NO_APT:-}" = 1 ]; then
    echo "-- TURNCOAT_NO_APT=1, so not installing:$missing; tests that need them will skip"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "-- no apt-get here, so not installing:$missing; tests that need them will skip"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! apt-get update >"$log" 2>&1; then
    echo "-- apt-get update failed; going on with the lists there are. It said:"
    tail -n 3 "$log"
fi
has_chromium || install chromium "the tests of the report and the dashboard in a browser"
has_postgresql || install postgresql "the tests of the service's store"
rm -f "$log"
