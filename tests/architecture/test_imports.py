"""What an import costs: the front door is light, each case in a fresh process. (Directions: `lint-imports`.)"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import turncoat

HEAVY = {"numpy", "numba", "polars", "altair"}

AFTER = f"\nimport sys; print('heavy:', *sorted({HEAVY!r} & set(sys.modules)))"
HELP = """
import sys
sys.argv = ["turncoat", *WORDS, "--help"]
from turncoat.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def printed(code: str) -> str:
    """What a fresh Python prints when it runs the code; it must end well."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_turncoat_is_light() -> None:
    assert printed("import turncoat" + AFTER).split() == ["heavy:"]


@pytest.mark.parametrize(
    "command", ["", "race", "replay", "regret", "serve", "key add", "log export", "verify", "backup"]
)
def test_help_is_light(command: str) -> None:
    said = printed(HELP.replace("*WORDS", f"*{command.split()}") + AFTER)
    assert f"Usage: turncoat {command}" in said
    assert said.splitlines()[-1].split() == ["heavy:"]


def test_no_module_has_the_name_of_an_exported_function() -> None:
    """Python puts a module that was imported into its package: it would take the place of the function."""
    modules = {module.name for module in pkgutil.iter_modules(turncoat.__path__)}
    exported = {name for name in turncoat.__all__ if not isinstance(getattr(turncoat, name), ModuleType)}
    assert {"racing", "simulate"} <= modules and {"play", "race"} <= exported
    assert not modules & exported


def test_this_would_see_a_heavy_import() -> None:
    assert printed("import numpy" + AFTER).split() == ["heavy:", "numpy"]
