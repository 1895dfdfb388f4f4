"""A store that fails when it is told to: before a transaction, at one of its statements, or around its commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turncoat.service.store.interface import DeferredResult, Row, Session, Store, StoreDown

Trouble = Callable[[str], BaseException]


def down(what: str) -> BaseException:
    """The store cannot be reached."""
    return StoreDown(f"the store was made to fail: {what}")


class Crash(BaseException):
    """The process ends here: nothing catches it."""


class FaultyStore:
    """Any store, counting its statements, of which one fails. (A transaction's beginning and its end are such, too.)

    `shared`: as if other processes used it.
    """

    def __init__(self, store: Store, *, shared: bool | None = None) -> None:
        self._store = store
        self.shared = store.shared if shared is None else shared
        self.is_down = False
        self.before_begin: Callable[[int], None] = lambda number: None  # another worker is faster
        self.arm()

    def arm(
        self,
        statement: int | None = None,
        *,
        commit: int | None = None,
        after_commit: bool = False,
        trouble: Trouble = down,
    ) -> None:
        """Count from 0 again, and fail at the statement, or the commit, of this number.

        `after_commit`: a commit that is to fail happens nevertheless, and only its answer is lost.
        """
        self.count = self.n_begun = self.n_committed = 0
        self.failed = False
        self.names: list[str] = []
        self._statement, self._commit, self._after, self._trouble = statement, commit, after_commit, trouble

    def step(self, what: str) -> bool:
        """One more statement; whether it fails."""
        if self.is_down:
            self.failed = True
            raise down("it is down")
        self.count += 1
        self.names.append(what)
        fails = self.count == self._statement or (what == "COMMIT" and self.n_committed + 1 == self._commit)
        if fails:
            self.failed = True
            self.disarm()  # once
        return fails

    def disarm(self) -> None:
        """Fail no more."""
        self._statement = self._commit = None

    def check(self, what: str) -> None:
        if self.step(what):
            raise self._trouble(f"statement {self.count}, {what}")

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        self.n_begun += 1
        self.before_begin(self.n_begun)
        self.check("BEGIN")
        lost = False
        with self._store.transaction() as session:
            yield FaultySession(self, session)
            session.rows("SELECT 1")  # all that was sent has been done by then
            failing = self.step("COMMIT")
            if failing and not self._after:
                raise self._trouble(f"statement {self.count}, before its commit")
            lost = failing
        self.n_committed += 1
        if lost:
            raise self._trouble(f"statement {self.count}, after its commit")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        self.check("BEGIN reading")
        with self._store.reading() as session:
            yield FaultySession(self, session)

    def tidy(self) -> None:
        self.check("tidy")
        self._store.tidy()

    def integrity_check(self) -> list[str] | None:
        return self._store.integrity_check()

    def backup(self, path: Path) -> None:
        self._store.backup(path)

    def size(self) -> int:
        return self._store.size()

    def close(self) -> None:
        self._store.close()


class FaultySession:
    """A session, each of whose verbs may fail before it does anything."""

    def __init__(self, faults: FaultyStore, session: Session) -> None:
        self._faults, self._session = faults, session

    def send(self, sql: str, **values: Any) -> DeferredResult[list[Row]]:
        self._faults.check(sql)
        return self._session.send(sql, **values)

    def rows(self, sql: str, **values: Any) -> list[Row]:
        self._faults.check(sql)
        return self._session.rows(sql, **values)

    def run(self, sql: str, **values: Any) -> int:
        self._faults.check(sql)
        return self._session.run(sql, **values)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._faults.check(f"insert {table}")
        self._session.insert(table, columns, rows)

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        self._faults.check(f"insert_new {table}")
        return self._session.insert_new(table, columns, rows, key=key)

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._faults.check(f"update {table}")
        self._session.update(table, columns, rows)

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        self._faults.check(f"add_up {table}")
        self._session.add_up(table, keys, sums, rows)

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> DeferredResult[int | None]:
        self._faults.check("lock_experiment")
        return self._session.lock_experiment(experiment, wait=wait)

    def lock_settings(self) -> None:
        self._faults.check("lock_settings")
        self._session.lock_settings()
