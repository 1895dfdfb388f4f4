"""The library and the race import nothing that Windows lacks. (The service does: it is for POSIX systems.)"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.architecture.test_start_up import run

POSIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios")
WITHOUT = f"""
import sys
from types import SimpleNamespace
for name in {POSIX_ONLY!r}:
    sys.modules[name] = None  # importing it is an ImportError
"""

PSUTIL = """
memory = SimpleNamespace(peak_wset=210e6)  # which psutil has on Windows alone
sys.modules["psutil"] = SimpleNamespace(Process=lambda: SimpleNamespace(memory_info=lambda: memory))
"""

IMPORT = """
import importlib, pkgutil, turncoat
n = 0
for found in pkgutil.walk_packages(turncoat.__path__, "turncoat.", onerror=lambda name: None):
    if not found.name.startswith(("turncoat.service", "turncoat.cli.service")) and "__main__" not in found.name:
        importlib.import_module(found.name)
        n += 1
print(n > 150)
"""

RACE = """
import sys, warnings
warnings.filterwarnings("ignore", "only soft file lock")  # filelock's, on a system that has neither kind of lock
sys.argv = "turncoat race -e flip/3 -l exp3 -l uniform --horizon 50 --seeds 2 --folder FOLDER".split()
from turncoat.cli import main
main()
"""


def test_every_module_but_the_service_can_be_imported() -> None:
    assert run(WITHOUT + IMPORT) == ["True"]


def test_the_check_would_see_such_an_import() -> None:
    tried = "\ntry:\n    import fcntl\nexcept ImportError:\n    print('seen')"
    assert run(WITHOUT + tried) == ["seen"]


@pytest.mark.slow
def test_a_race_runs_and_goes_on(tmp_path: Path) -> None:
    for report in (" --no-report", ""):
        said = run(WITHOUT + PSUTIL + RACE.replace("FOLDER", f"{tmp_path}{report}"))
        assert said[-1].startswith("finished in ") and said[-1].endswith(" s; peak memory 210 MB")
    assert (tmp_path / "report.html").exists()
    assert len(json.loads((tmp_path / "manifest.json").read_text())["cells"]) == 4
