"""Kills processes in the middle of a statement, and compares what they leave with what a crash inside one leaves.

python -m tests.service.simulation.killed FOLDER EVERY: at every so manieth statement of the script. A child is forked
for each, does the script, and is gone at its statement by os._exit: nothing is closed, nothing rolled back.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import turncoat.learners.base.learner as learners
from tests.service.experiments.lab import TABLES, compile_kernels
from tests.service.simulation.script import SCRIPT
from tests.service.simulation.world import World
from turncoat.service.store import Store, open_store

KILLED = 77


def leave(code: str) -> BaseException:
    """End the process, at once."""
    os._exit(KILLED)


def play(path: Path, statement: int | None, kill: bool) -> int:
    """Do the script until this statement, of all; how many there were."""
    world = World(1, [open_store(str(path))], alone=True)
    count = 0
    try:
        with world.few_at_a_time():
            for do in SCRIPT:
                do(world, StatementFault(None if statement is None else statement - count, kill))  # type: ignore[arg-type]
                count += world.workers[0].store.count
    finally:
        world.store.close()
    return count


class StatementFault:
    """A Fault that kills."""

    commit, after_commit, is_down = None, False, False

    def __init__(self, statement: int | None, kill: bool) -> None:
        self.statement = statement
        self.trouble = leave if kill else Stop


class Stop(BaseException):
    """Ends the script, through everything that rolls back."""


def dump(path: Path) -> list[Any]:
    """All that is stored."""
    store: Store = open_store(str(path))
    with store.reading() as session:
        rows = [sorted(map(repr, session.rows(f"SELECT * FROM {table}"))) for table in TABLES]
    store.close()
    return rows


def main() -> None:
    """Kill and compare."""
    folder, every = Path(sys.argv[1]), int(sys.argv[2])
    learners.secrets.token_hex = lambda n=8: "0" * 2 * n  # type: ignore[attr-defined]  # its name is random
    compile_kernels()
    n = play(folder / "whole.db", None, kill=False)
    killed = same = 0
    for statement in range(1, n + 1, every):
        child, here = folder / f"killed-{statement}.db", folder / f"stopped-{statement}.db"
        pid = os.fork()
        if pid == 0:
            play(child, statement, kill=True)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        killed += os.waitstatus_to_exitcode(status) == KILLED
        try:
            play(here, statement, kill=False)
        except Stop:
            same += dump(child) == dump(here)
    sys.stdout.write(json.dumps({"statements": n, "killed": killed, "same": same}))


if __name__ == "__main__":
    main()
