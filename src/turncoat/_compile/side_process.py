"""Work sharing while compiling: a second process compiles some of the tasks, and this one reads its kernels from disk.

numba compiles in one thread at a time, so another processor helps only in another process. The two claim tasks from
both ends of the list, by creating a file per task, until they meet.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from turncoat._compile.cache import CACHE
from turncoat._compile.kernel_files import CAN_KEEP
from turncoat._compile.progress import compiling

WORTH_A_PROCESS = 3  # tasks left: a process takes a second to start
MESSAGE = "tasks"
CHILD = f"import sys; sys.path[:] = eval(sys.argv[2]); from {__name__} import work; work(sys.argv[1])"
Work = Callable[[], object]


class Task(NamedTuple):
    """Something to compile."""

    work: Work
    size: int  # for progress
    shareable: bool  # may another process do it? Its kernels must be kept on disk


def compile_all(tasks: list[Task]) -> Iterator[Task]:
    """Do every task, and yield it when it is done. Once one had to compile, a second process shares those left."""
    start, left = compiling.n_compiled, deque(tasks)
    while left and compiling.n_compiled == start:
        yield _done(left.popleft())
    shared = [task for task in left if task.shareable]
    later = []
    with _second_process([task.work for task in shared]) as claim:
        yield from (_done(task) for task in left if not task.shareable)
        for index, task in enumerate(shared):
            if claim(index):
                yield _done(task)
            else:
                later.append(task)
    yield from map(_done, later)  # they are on disk now; or compiled here, where the other process failed


def _done(task: Task) -> Task:
    task.work()
    return task


@contextmanager
def _second_process(tasks: list[Work]) -> Iterator[Callable[[int], bool]]:
    """Share these tasks with another process, and wait for it at the end. What is yielded claims a task."""
    message = _packed(tasks) if _is_worth_it(tasks) else None
    if message is None:
        yield lambda index: True
        return
    with TemporaryDirectory() as folder:
        Path(folder, MESSAGE).write_bytes(message)
        command = [sys.executable, "-c", CHILD, folder, repr(sys.path)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield lambda index: _claim(folder, index)
                process.wait()
            finally:
                process.kill()


def _is_worth_it(tasks: list[Work]) -> bool:
    """Can another process leave kernels where this one finds them, and is there enough to do?"""
    return CACHE is not None and CAN_KEEP and len(tasks) >= WORTH_A_PROCESS and another_python()


def another_python() -> bool:
    """Can a second Python be started, and has it a processor?"""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and (os.cpu_count() or 1) > 1


def _packed(tasks: list[Work]) -> bytes | None:
    """What the other process reads; None where a task holds something that cannot be sent."""
    try:
        return pickle.dumps(tasks)
    except Exception:  # pickle raises whatever the objects' own methods raise
        return None


def _claim(folder: str, index: int) -> bool:
    """Is this process the first to claim the task?"""
    try:
        Path(folder, str(index)).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def work(folder: str) -> None:
    """The second process: do the tasks that it claims, the last first. The folder is gone if the first has ended."""
    tasks: list[Work] = pickle.loads(Path(folder, MESSAGE).read_bytes())
    for index in reversed(range(len(tasks))):
        if not _claim(folder, index):
            return
        tasks[index]()
