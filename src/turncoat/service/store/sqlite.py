"""The embedded store: one SQLite file, one process, one thread that writes.

Every commit is on the disk before it is answered (WAL, synchronous=FULL); the engine puts many requests into one, so
this costs little. Readers have connections of their own and never wait for the writer. A second process that wants the
same file is refused at once: several writers starve one another for seconds, and each would decide on its own.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from turncoat.service.store.interface import Later, Raced, Row, StoreDown, StoreError
from turncoat.service.store.migrate import migrate

WORDS = {"text": "TEXT", "bytes": "BLOB", "tended": "", "unpacked": ""}
LISTED = re.compile(r"\bIN :(\w+)")
READERS_KEPT = 8
LARGEST_LEFT = 64 * 1024 * 1024  # bytes of the write-ahead file that stay once a long reader has let it grow
OURS = {"migration", "experiment"}  # tables by which a file of ours is known


class SQLiteSession:
    """A transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def send(self, sql: str, **values: Any) -> Later[list[Row]]:
        """Done at once: nothing travels here."""
        found = self.rows(sql, **values)
        return lambda: found

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """What a query finds."""
        return self._connection.execute(*_bound(sql, values)).fetchall()

    def run(self, sql: str, **values: Any) -> int:
        """Do it; how many rows it touched."""
        return self._connection.execute(*_bound(sql, values)).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows."""
        self._connection.executemany(_insert(table, tuple(columns)), rows)

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Add those that are not there yet, and say which."""
        sql = _insert(table, tuple(columns)) + " ON CONFLICT DO NOTHING"
        execute = self._connection.execute
        return {row[:key] for row in rows if execute(sql, row).rowcount}

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Set the other columns of the rows whose first column is the first value."""
        sets = ", ".join(f"{column} = ?{i + 2}" for i, column in enumerate(columns[1:]))
        self._connection.executemany(f"UPDATE {table} SET {sets} WHERE {columns[0]} = ?1", rows)

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Add to the sums of the row with these keys."""
        adding = ", ".join(f"{column} = {column} + excluded.{column}" for column in sums)
        sql = f"{_insert(table, (*keys, *sums))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {adding}"
        self._connection.executemany(sql, rows)

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> Later[int | None]:
        """Nobody else writes here at all."""
        found = self.rows("SELECT version FROM experiment WHERE id = :id", id=experiment)
        return lambda: next((version for (version,) in found), None)

    def lock_everything(self) -> None:
        """Nobody else writes here at all."""


class SQLiteStore:
    """A file. Threads that write take turns at its one writing connection."""

    shared = False

    def __init__(self, path: str | Path, *, beside: bool = False) -> None:
        """`beside`: where a service has the file already, look over its shoulder and write a row now and then."""
        self.path = Path(path)
        self._readers: list[sqlite3.Connection] = []
        self._lock, self._writing = threading.Lock(), threading.RLock()
        self._is_closed = False
        self._file = self._hold(beside)
        try:
            self._writer = self._connect()
            self._identity = self._found()
        except BaseException:
            self._let_go()
            raise
        try:
            if self._file is not None:
                with self.transaction() as session:
                    migrate(session, WORDS)
        except BaseException:
            self.close()
            raise

    def _hold(self, beside: bool) -> int | None:
        """Keep other processes out, for as long as this one lives."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _make_private(self.path)
            file = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise StoreDown(f"{self.path} cannot be opened: {problem.strerror}") from problem
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            if beside:
                return None
            raise StoreError(
                f"{self.path} is in use by another process; one SQLite file serves one process "
                "(for several workers give a PostgreSQL address)"
            ) from None
        return file

    def _connect(self) -> sqlite3.Connection:
        with _plainly(f"SQLite: {self.path}"):
            connection = sqlite3.connect(self.path, timeout=5.0, isolation_level=None, check_same_thread=False)
            try:
                self._check_whose(connection)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA cache_size = -32768")
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LEFT}")
            except BaseException:
                connection.close()
                raise
        return connection

    def _check_whose(self, connection: sqlite3.Connection) -> None:
        """A file of another program is refused before anything is written to it."""
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not OURS.issubset(tables):
            raise StoreError(
                f"{self.path} is a database of another program, with the table {min(tables)!r}; "
                "accepted is one that Turncoat made, or a new file"
            )

    def _found(self) -> tuple[int, int] | None:
        """Which file is at the path now."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_there(self) -> None:
        """SQLite goes on writing to a file that was deleted, and nobody would ever read it again."""
        if self._found() != self._identity:
            raise StoreDown(f"{self.path} was deleted or replaced while it was in use; put it back, or start again")

    @contextmanager
    def transaction(self) -> Iterator[SQLiteSession]:
        """All of it or nothing."""
        self._check_there()
        with self._writing, _plainly():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield SQLiteSession(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[SQLiteSession]:
        """Look, without holding up who writes."""
        self._check_there()
        with self._lock:
            if self._is_closed:
                raise StoreError("the store was closed")
            connection = self._readers.pop() if self._readers else None
        if connection is None:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
        try:
            with _plainly():
                connection.execute("BEGIN")
                yield SQLiteSession(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            with self._lock:
                keep = len(self._readers) < READERS_KEPT and not self._is_closed
                if keep:
                    self._readers.append(connection)
            if not keep:
                connection.close()

    def tidy(self) -> None:
        """Room is used again at once here."""

    def backup(self, path: Path) -> None:
        """Write a whole copy, while everything goes on."""
        if path.exists():
            raise StoreError(f"{path} exists already; a backup never writes over a file")
        try:
            _make_private(path)  # SQLite accepts a file that is there and empty
        except OSError as problem:
            raise StoreDown(f"{path} cannot be written: {problem.strerror}") from problem
        try:
            self._copy(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _copy(self, path: Path) -> None:
        with self.reading() as session:
            session._connection.execute("ROLLBACK")  # VACUUM stands alone
            session._connection.execute("PRAGMA query_only = OFF")
            try:
                session._connection.execute("VACUUM INTO ?", (str(path),))
            finally:
                session._connection.execute("PRAGMA query_only = ON")

    def size(self) -> int:
        """Bytes on disk, what waits to be merged included."""
        parts = (self.path, Path(f"{self.path}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        for connection in self._readers:
            connection.close()
        self._writer.close()
        self._let_go()

    def _let_go(self) -> None:
        file, self._file = self._file, None  # once: its number may be another file's by then
        if file is not None:
            os.close(file)


def _make_private(path: Path) -> None:
    """A file that is new is for its owner alone: it will hold contexts, and what keys are known by."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


@contextmanager
def _plainly(where: str = "SQLite") -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.IntegrityError as problem:
        taken = problem.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
        raise (Raced if taken else StoreError)(f"{where}: {problem}") from problem
    except sqlite3.OperationalError as problem:
        raise StoreDown(f"{where}: {problem}") from problem
    except sqlite3.DatabaseError as problem:
        raise StoreError(f"{where}: {problem}") from problem


def _bound(sql: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    text, lists = _prepared(sql)
    for name in lists:
        values[name] = msgspec.json.encode(list(values[name])).decode()
    return text, values


@cache
def _prepared(sql: str) -> tuple[str, tuple[str, ...]]:
    return LISTED.sub(r"IN (SELECT value FROM json_each(:\1))", sql), tuple(LISTED.findall(sql))


@cache
def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
