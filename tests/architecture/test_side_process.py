"""The second process that compiles: every task is done here in the end, whatever becomes of the other process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from turncoat._compile import side_process
from turncoat._compile.progress import compiling
from turncoat._compile.side_process import Task, compile_all

HERE = os.getpid()


@pytest.fixture(autouse=True)
def compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if the first task had compiled, kernels could be kept, and there were two processors."""
    monkeypatch.setattr(compiling, "n_compiled", compiling.n_compiled)
    monkeypatch.setattr(side_process, "CACHE", tmp_path)
    monkeypatch.setattr(side_process, "CAN_KEEP", True)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def compile_first() -> None:
    compiling.n_compiled += 1


def note(folder: Path, here: int, index: int) -> None:
    """Write down which process did it."""
    with (folder / f"task-{index}").open("a") as file:
        file.write(f"{os.getpid()}\n")


def note_after_the_last(folder: Path, here: int, index: int) -> None:
    """The first task waits until the last has been done, by the other process."""
    last, limit = folder / "task-5", time.monotonic() + 60
    while index == 0 and not last.exists() and time.monotonic() < limit:
        time.sleep(0.01)
    note(folder, here, index)


def note_here(folder: Path, here: int, index: int) -> None:
    """Done here; the other process dies of it, and the first task waits for that."""
    if os.getpid() != here:
        (folder / "claimed").touch()
        os._exit(1)
    while index == 0 and not (folder / "claimed").exists():
        time.sleep(0.01)
    note(folder, here, index)


def run_all(work: Callable[[Path, int, int], None], folder: Path, *, shareable: bool = True) -> list[list[int]]:
    """Six tasks after the first; who did each."""
    tasks = [Task(partial(work, folder, HERE, i), 1, shareable) for i in range(6)]
    tasks = [Task(compile_first, 1, False), *tasks]
    assert sorted(map(id, compile_all(tasks))) == sorted(map(id, tasks))
    return [list(map(int, (folder / f"task-{i}").read_text().split())) for i in range(6)]


def test_both_processes_compile_and_this_one_has_everything(tmp_path: Path) -> None:
    done = run_all(note_after_the_last, tmp_path)
    assert all(HERE in who for who in done)
    assert done[0] == [HERE]
    assert len(done[-1]) == 2  # there first, then found on disk here


def test_what_a_dead_process_has_claimed_is_done_here(tmp_path: Path) -> None:
    assert run_all(note_here, tmp_path) == 6 * [[HERE]]


@pytest.mark.parametrize("reason", ["not shareable", "cannot be sent", "no cache", "one processor", "not Python"])
def test_one_process_does_all_where_two_cannot(reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    if reason == "no cache":
        monkeypatch.setattr(side_process, "CACHE", None)
    elif reason == "one processor":
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
    elif reason == "not Python":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    work = (lambda folder, here, index: note(folder, here, index)) if reason == "cannot be sent" else note
    assert run_all(work, tmp_path, shareable=reason != "not shareable") == 6 * [[HERE]]


def test_nothing_is_started_where_nothing_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    tasks = [Task(partial(note, tmp_path, HERE, i), 1, True) for i in range(4)]
    assert list(compile_all(tasks)) == tasks


def stop(folder: Path, here: int, index: int) -> None:
    if os.getpid() == here:
        raise KeyboardInterrupt
    time.sleep(60)


def test_an_interrupt_ends_the_other_process_too(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_all(stop, tmp_path)
    assert time.monotonic() - began < 30
