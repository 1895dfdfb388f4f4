"""A fault at every single statement of a script that uses everything: the store fails there, or the process ends.

`make test` tries every commit, with two of four faults in turn, and every eighth of the other statements; `make
test-all` all of them.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.experiments.lab import TABLES, quick_folder
from tests.service.simulation.script import SCRIPT, act
from tests.service.simulation.world import Fault, World
from turncoat.service import engine
from turncoat.service.experiments import (
    audit,
    early_rewards,
    erasure,
    learn,
    queries,
    record,
    retention,
    rewards,
    snapshot_cache,
    waiting,
)
from turncoat.service.store import Store, open_store

ROOT = Path(__file__).parents[3]
CRASHES = 5  # at every so manieth statement
FEW = 8  # `make test` tries one statement of so many, and every commit
EVERY_POSTGRES = 41  # of so many faults one is tried on PostgreSQL, too


@pytest.fixture(scope="module")
def statements() -> list[list[str]]:
    """Those of each step."""
    with quick_folder() as folder:
        world = World(1, [open_store(str(folder / "x.db"))], alone=True)
        done = act(world)
        world.store.close()
    return done


def faults(names: list[str], every: int = 1, step: int = 0) -> Iterator[Fault]:
    """The store fails at each of these statements; at some of them, and at each commit, the process ends.

    At a commit there are four faults, before it and after it; unless it is every statement, two of them in turn.
    """
    for statement, name in enumerate(names, 1):
        if name != "COMMIT" and statement % every:
            continue
        if name != "COMMIT":
            yield Fault(statement=statement)
            if statement % CRASHES == 0:
                yield Fault(statement=statement, crash=True)
            continue
        at_commit = [
            Fault(statement=statement),
            Fault(statement=statement, after_commit=True, crash=True),
            Fault(statement=statement, after_commit=True),
            Fault(statement=statement, crash=True),
        ]
        yield from at_commit if every == 1 else at_commit[:2] if (statement + step) % 2 else at_commit[2:]


def survive(store: Store, step: int, fault: Fault) -> None:
    """The fault happens, and everything is as it should be."""
    world = World(1, [store], alone=True)
    try:
        act(world, step, fault)
        assert world.n_lost == 1
    except Exception as problem:
        problem.add_note(f"step {step}, {fault}")
        raise
    finally:
        if world.store is not store:  # it was opened anew after a crash
            world.store.close()


@pytest.mark.parametrize("every", [FEW, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("step", range(len(SCRIPT)))
def test_on_sqlite(statements: list[list[str]], step: int, every: int) -> None:
    tried = set()
    for fault in faults(statements[step], every, step):
        with quick_folder() as folder:
            store = open_store(str(folder / "x.db"))
            survive(store, step, fault)
            tried.add(fault.statement)
            store.close()
    assert len(tried) >= len(statements[step]) // every and len(statements[step]) > 0


def test_on_postgres(statements: list[list[str]], postgres_stores: tuple[Store, Store]) -> None:
    """Some of them; all would take minutes."""
    every = [(step, fault) for step in range(len(SCRIPT)) for fault in faults(statements[step])]
    for step, fault in every[::EVERY_POSTGRES]:
        with postgres_stores[0].transaction() as session:
            session.run(f"TRUNCATE {', '.join(TABLES)}")
        survive(postgres_stores[0], step, fault)


def test_the_script_uses_every_statement_there_is(statements: list[list[str]]) -> None:
    """All SQL that has a name in the engine's modules; else there are statements at which nothing was tried."""
    names = {name for step in statements for name in step}
    named = {
        f"{module.__name__}.{name}": sql
        for module in (
            *(early_rewards, learn, audit, snapshot_cache, engine, record, queries, rewards, waiting),
            *(retention, erasure),
        )
        for name, sql in inspect.getmembers(module, lambda member: isinstance(member, str))
        if sql.strip().partition(" ")[0] in ("SELECT", "UPDATE", "DELETE")
    }
    unused = {name for name, sql in named.items() if not any(used.startswith(sql) for used in names)}
    of_several_workers = {"rewards.CLOSED", "rewards.HOLD", "learn.HOLD", "snapshot_cache.NUMBERS"}
    of_damage = {"queries.NEXT"}  # rows that cannot be read: test_damage.py
    of_switches = {"queries.LEARNED"}  # looked up for a learner that believes in some
    assert unused <= {f"turncoat.service.experiments.{name}" for name in of_several_workers | of_switches | of_damage}
    verbs = {name.partition(" ")[0] for name in names}
    assert {
        "insert",
        "insert_new",
        "update",
        "add_up",
        "lock_experiment",
        "lock_settings",
        "BEGIN",
        "COMMIT",
    } <= verbs


def test_the_process_really_ends() -> None:
    """Killed at every 30th statement, by os._exit in a process of its own: it leaves what a crash in here leaves."""
    with quick_folder() as folder:
        command = [sys.executable, "-m", "tests.service.simulation.killed", str(folder), "30"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["statements"] > 300
    assert report["killed"] == report["same"] == len(range(0, report["statements"], 30))
