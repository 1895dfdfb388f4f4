"""Migrations run once, with kills and with concurrent starts. Both stores."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from turncoat.service.store import Store, StoreError, migrate, open_store, postgres, sqlite
from turncoat.service.store.interface import Session
from turncoat.service.store.migrate import Migration, known, statements

MOST = sum(1 for one in known() for _ in statements(one.sql, sqlite.DIALECT))  # statements that every store runs
TABLES = {"experiment", "learner", "arm", "version", "decision", "inbox", "part", "refused"} | {
    "idempotency", "sticky", "bucket", "audit", "api_key", "fact", "migration", "checkpoint", "comparison",
    "unit_group", "login_session", "damage",
}  # fmt: skip

KILLED = """
import os, signal, sys
from turncoat.service.store import migrate, open_store
where, last, original = sys.argv[1], int(sys.argv[2]), migrate.migrate
class Dying:
    def __init__(self, session):
        self.session, self.done = session, 0
    def run(self, sql, **values):
        self.done += 1
        if self.done > last:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.session.run(sql, **values)
    def __getattr__(self, name):
        return getattr(self.session, name)
from turncoat.service.store import postgres, sqlite
postgres.migrate = sqlite.migrate = lambda session, words: original(Dying(session), words)
open_store(where)
"""


class Failing:
    """A session whose statements fail from the k-th on."""

    def __init__(self, session: Session, k: int) -> None:
        self._session, self._left = session, k

    def run(self, sql: str, **values: Any) -> int:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("injected")
        return self._session.run(sql, **values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be opened that was never opened before."""
    url: str = str(tmp_path / "new.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


def tables(where: str) -> set[str]:
    """The tables that are there, asked without our store."""
    if where.startswith("postgresql"):
        with psycopg.connect(where) as connection:
            rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    else:
        file = sqlite3.connect(where)
        rows = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        file.close()
    return {name for (name,) in rows}


def is_whole(where: str) -> bool:
    """Opens, and has every table; a second time there is nothing to do."""
    store = open_store(where)
    try:
        with store.transaction() as session:
            assert migrate.migrate(session, words_of(store)) == 0
            assert [name for _, name, _ in session.rows("SELECT * FROM migration")] == [one.name for one in known()]
    finally:
        store.close()
    return tables(where) == TABLES


def words_of(store: Store) -> dict[str, str]:
    return postgres.DIALECT if store.shared else sqlite.DIALECT


def test_a_new_store_has_all_tables(empty: str) -> None:
    assert is_whole(empty)


def test_failing_at_every_statement_leaves_nothing_and_the_next_start_completes(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect = postgres.DIALECT if empty.startswith("postgresql") else sqlite.DIALECT
    for k in range(1 + sum(1 for one in known() for _ in statements(one.sql, dialect))):  # 1: the table of migrations
        with monkeypatch.context() as patch:
            for module in (postgres, sqlite):
                patch.setattr(
                    module, "migrate", lambda session, dialect, k=k: migrate.migrate(Failing(session, k), dialect)
                )
            with pytest.raises(RuntimeError, match="injected"):
                open_store(empty)
        assert tables(empty) == set(), f"after {k} statements"
    assert is_whole(empty)


@pytest.mark.parametrize("after", [0, 1, 9, MOST])
def test_killed_in_the_middle_leaves_nothing_and_the_next_start_completes(empty: str, after: int) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, empty, str(after)], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert tables(empty) == set()
    assert is_whole(empty)


def test_many_start_at_the_same_time(postgres_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(open_store, [postgres_url] * 8))
    for store in stores:
        store.close()
    assert is_whole(postgres_url)


def test_many_processes_start_at_the_same_time(postgres_url: str) -> None:
    script = "import sys; from turncoat.service.store import open_store; open_store(sys.argv[1]).close()"
    starting = [subprocess.Popen([sys.executable, "-c", script, postgres_url]) for _ in range(4)]
    assert [one.wait(60) for one in starting] == [0] * 4
    assert is_whole(postgres_url)


def test_a_newer_database_is_refused(store_url: str) -> None:
    store = open_store(store_url)
    with store.transaction() as session:
        session.insert("migration", ("number", "name", "sha256"), [(99, "0099_later.sql", "0")])
    store.close()
    with pytest.raises(StoreError, match=r"newer Turncoat.*step 99"):
        open_store(store_url)


def test_a_file_that_changed_after_it_ran_is_refused(store_url: str) -> None:
    store = open_store(store_url)
    with store.transaction() as session:
        session.run("UPDATE migration SET sha256 = :other", other="0")
    store.close()
    with pytest.raises(StoreError, match=r"0001_first_tables\.sql has changed"):
        open_store(store_url)


@pytest.fixture
def later(store: Store) -> tuple[Store, list[Migration]]:
    """A store at the present step, and the steps of a later version."""
    steps = known()
    sql = "CREATE TABLE more (a {text}, b {bytes}); -- new;\nDELETE FROM fact"
    return store, [*steps, Migration(steps[-1].number + 1, "more.sql", sql)]


def test_only_what_has_not_run_yet_is_run(later: tuple[Store, list[Migration]]) -> None:
    store, steps = later
    with store.transaction() as session:
        session.insert("fact", ("name", "value"), [("a", "")])
    with store.transaction() as session:
        assert migrate.migrate(session, words_of(store), steps) == 1
    with store.transaction() as session:
        assert session.rows("SELECT * FROM more") == session.rows("SELECT * FROM fact") == []
        assert migrate.migrate(session, words_of(store), steps) == 0


def test_what_comes_after_a_step_that_fails_does_not_run(later: tuple[Store, list[Migration]]) -> None:
    store, steps = later
    wrong = Migration(steps[-1].number + 1, "wrong.sql", "CREATE TABLE more (a {text})")
    with pytest.raises(StoreError), store.transaction() as session:
        migrate.migrate(session, words_of(store), [*steps, wrong])
    with pytest.raises(StoreError), store.reading() as session:
        session.rows("SELECT * FROM more")
    with store.transaction() as session:
        assert migrate.migrate(session, words_of(store), steps) == 1


def test_no_process_is_left(tmp_path: Path) -> None:
    """A process killed while it holds a SQLite file lets go of it: the kernel does."""
    where = str(tmp_path / "a.db")
    script = (
        "import sys, os, signal; from turncoat.service.store import open_store; "
        "open_store(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, where], timeout=60, check=False).returncode == -signal.SIGKILL
    assert Path(f"{where}.lock").exists() and Path(where).stat().st_size > 0
    assert is_whole(where)
