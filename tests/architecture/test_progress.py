"""The line on stderr for a first use that compiles: once, where it is of use, and through a logger."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.test_start_up import PACKAGE
from turncoat._compile import progress
from turncoat._compile.jit import jit
from turncoat._compile.progress import TEXT

IMPATIENT = """
from turncoat._compile import progress
progress.PATIENCE = {patience}
"""
USE = """
import turncoat as tc
learner = tc.Uniform(3, seed=1)
learner.tell(learner.ask(), loss=0.5)
"""
RACE = """
import sys
sys.argv = "turncoat race -e flip/3 -l uniform --horizon 50 --seeds 1 --no-report".split() + ["--folder", "race"]
from turncoat.cli import main
main()
"""
IMPORT = """
import importlib, pkgutil, turncoat
for found in pkgutil.walk_packages(turncoat.__path__, "turncoat."):
    if "__main__" not in found.name:
        importlib.import_module(found.name)
for name in turncoat.__all__:
    getattr(turncoat, name)
print(progress.compiling.n_compiled)
"""


def complaints(code: str, folder: Path, patience: float = 0.0) -> str:
    """What a fresh Python with an empty cache says on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT.format(patience=patience) + code],
        cwd=folder,
        env={"PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_it_appears_once_and_a_process_that_compiles_nothing_is_silent(tmp_path: Path) -> None:
    assert complaints(USE, tmp_path) == f"{TEXT}\n"
    assert complaints(USE, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, patience",
    [
        ("import logging; logging.getLogger('turncoat.compile').setLevel(logging.ERROR)" + USE, 0.0),
        (USE, 1000.0),
        (IMPORT, 0.0),
        pytest.param(RACE, 0.0, marks=pytest.mark.exhaustive),
        ("import turncoat as tc; tc.compile('uniform', environments=[])", 0.0),
    ],
    ids=["silenced by the logger", "soon compiled", "imports", "turncoat race", "tc.compile"],
)
def test_there_is_none(code: str, patience: float, tmp_path: Path) -> None:
    """Nothing compiles during imports; a race shows progress of its own; compiling ahead was asked for."""
    assert complaints(code, tmp_path, patience) == ""


# -- the timer -----------------------------------------------------------------------------------------------------


class Compiler:
    """As numba's: `compile` takes what it takes."""

    def __init__(self, problem: BaseException | None) -> None:
        self.problem = problem

    def compile(self, args: Any, return_type: Any) -> str:
        if self.problem is not None:
            raise self.problem
        return f"{args} {return_type}"


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer) and thread.is_alive()]


@pytest.mark.parametrize("problem", [None, ValueError("failed"), KeyboardInterrupt()], ids=str)
def test_no_timer_runs_on(problem: BaseException | None) -> None:
    compiling, compiler, before = progress._Compiling(), Compiler(problem), timers()
    compiling.watch(compiler)
    if problem is None:
        assert compiler.compile("int", "float") == "int float"
    else:
        with pytest.raises(type(problem)):
            compiler.compile("int", "float")
    assert (compiling.n_compiled, compiling.depth, compiling.timer) == (problem is None, 0, None)
    for timer in set(timers()) - set(before):
        timer.join(5.0)  # a cancelled one ends at once
        assert not timer.is_alive()


def test_a_kernel_that_cannot_be_compiled_leaves_no_timer() -> None:
    @jit
    def wrong(x: Any) -> Any:
        return x + "text"

    said, n_compiled = progress.compiling.said, progress.compiling.n_compiled
    with pytest.raises(Exception, match="No implementation of function"):
        wrong(1.0)
    now = progress.compiling
    assert (now.depth, now.timer, now.said, now.n_compiled) == (0, None, said, n_compiled)


def test_kernels_inside_kernels_are_announced_together(caplog: pytest.LogCaptureFixture) -> None:
    compiling = progress._Compiling()
    with compiling.one_kernel():
        timer = compiling.timer
        with compiling.one_kernel():
            assert compiling.timer is timer
        assert compiling.timer is timer
        compiling._say()
        compiling._say()
    with compiling.unannounced(), compiling.one_kernel():
        assert compiling.timer is None
    assert [record.message for record in caplog.records] == [TEXT]


def test_many_short_kernels_are_announced_like_a_long_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It once began to count anew with every kernel, and a first use of ten kernels of 0.9 s said nothing."""
    monkeypatch.setattr(progress, "PATIENCE", 0.2)
    compiling = progress._Compiling()
    for _ in range(3):
        with compiling.one_kernel():
            time.sleep(0.15)
    assert [record.message for record in caplog.records] == [TEXT]
