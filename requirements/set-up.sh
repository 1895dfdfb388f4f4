#!/bin/sh
# sh requirements/set-up.sh NAME [FOLDER]: put the pins of requirements/NAME.txt and the package itself into FOLDER, a
# virtual environment: .venv unless said otherwise.
# PYTHON: the interpreter to use (else the first on the PATH that is new enough). UV: the uv to use; empty for pip.
set -eu
cd "$(dirname "$0")/.."
name=$1
venv=${2:-.venv}
uv=${UV-$(command -v uv || true)}
start=$(date +%s)

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    echo "Turncoat needs Python 3.11 or newer, and found none (tried: ${PYTHON:-python3, python3.11 to 3.14, python})." >&2
    echo "Install one, or name yours: make PYTHON=/path/to/python3" >&2
    return 1
}

make_venv() {
    python=$(find_python)
    if [ -n "$uv" ]; then
        "$uv" venv --quiet --clear --no-project --python "$python" "$venv"
    else
        "$python" -m venv --clear "$venv"
    fi
}

install() {
    if [ -n "$uv" ]; then
        "$uv" pip install --quiet --python "$venv/bin/python" "$@"
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    fi
}

tool=${uv:+uv}
echo "== set-up: requirements/$name.txt into $venv, with ${tool:-pip} (once; again when the pins change)"
new_enough "$venv/bin/python" || make_venv
[ -n "$uv" ] || "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null # made by uv
install --require-hashes -r "requirements/$name.txt"
install --no-build-isolation --no-deps --editable .
echo "== set-up: done in $(($(date +%s) - start)) s"
