"""The embedded store: one SQLite file, one process, one writing thread.

Every commit is on the disk before it is answered (WAL, synchronous=FULL); with group commit this costs little. With
durability "os" the operating system has it (synchronous=NORMAL), and writes it within half a minute or so. Readers
have connections of their own and never wait for the writer. A second process that opens the file is refused at once:
several writers starve one another for seconds, and each would learn on its own.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from turncoat.service.store.interface import DeferredResult, Durability, Row, StoreDown, StoreError, WriteConflict
from turncoat.service.store.migrate import migrate

DIALECT = {"text": "TEXT", "bytes": "BLOB", "tended": "", "unpacked": ""}
NOT_UTF8 = "Could not decode to UTF-8"
LISTED = re.compile(r"\bIN :(\w+)")
READERS_KEPT = 8
LARGEST_LEFT = 64 * 1024 * 1024  # bytes that the write-ahead log is truncated to, after a long reader has let it grow
SETTINGS = "journal_mode = WAL", "cache_size = -32768", "temp_store = MEMORY"
OUR_TABLES = {"migration", "experiment"}  # tables that identify a file as Turncoat's


class SQLiteSession:
    """A transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def send(self, sql: str, **values: Any) -> DeferredResult[list[Row]]:
        """Executed at once: there is no round trip to save."""
        found = self.rows(sql, **values)
        return lambda: found

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """The rows of a query."""
        bound = _bound(sql, values)
        try:
            return self._connection.execute(*bound).fetchall()
        except sqlite3.OperationalError as problem:
            if not str(problem).startswith(NOT_UTF8):
                raise
        self._connection.text_factory = _damaged_text  # so that whoever decodes a row finds the damage in this row
        try:
            return self._connection.execute(*bound).fetchall()
        finally:
            self._connection.text_factory = str

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement; the number of rows that it changed."""
        return self._connection.execute(*_bound(sql, values)).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows."""
        self._connection.executemany(_insert(table, tuple(columns)), rows)

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Insert the rows whose keys are new; return those keys."""
        sql = _insert(table, tuple(columns)) + " ON CONFLICT DO NOTHING"
        execute = self._connection.execute
        return {row[:key] for row in rows if execute(sql, row).rowcount}

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Update the rows identified by the first column; set the other columns."""
        sets = ", ".join(f"{column} = ?{i + 2}" for i, column in enumerate(columns[1:]))
        self._connection.executemany(f"UPDATE {table} SET {sets} WHERE {columns[0]} = ?1", rows)

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Add to the sums of the row with these keys."""
        adding = ", ".join(f"{column} = {column} + excluded.{column}" for column in sums)
        sql = f"{_insert(table, (*keys, *sums))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {adding}"
        self._connection.executemany(sql, rows)

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> DeferredResult[int | None]:
        """Its version. No lock is needed: SQLite has one writer."""
        found = self.rows("SELECT version FROM experiment WHERE id = :id", id=experiment)
        return lambda: next((version for (version,) in found), None)

    def lock_settings(self) -> None:
        """No lock is needed: SQLite has one writer."""


class SQLiteStore:
    """A SQLite file. Writing threads take turns at the one writing connection."""

    shared = False

    def __init__(
        self,
        path: str | Path,
        *,
        allow_in_use: bool = False,
        durability: Durability = "flush",
        patience: float = 5.0,
    ) -> None:
        """`allow_in_use`: do not fail if a service holds the file; read it, and write a row now and then.

        `patience`: seconds to wait for a lock of another program.
        """
        self.path, self._patience = Path(path), patience
        self._settings = *SETTINGS, f"synchronous = {'FULL' if durability == 'flush' else 'NORMAL'}"
        self._readers: list[sqlite3.Connection] = []
        self._lock, self._writing = threading.Lock(), threading.RLock()
        self._is_closed = False
        self._file_lock = self._lock_file(allow_in_use)
        try:
            self._writer = self._connect()
            self._identity = self._file_identity()
        except BaseException:
            self._file_lock.release()
            raise
        try:
            if self._file_lock.is_locked:
                with self.transaction() as session:
                    migrate(session, DIALECT)
        except BaseException:
            self.close()
            raise

    def _lock_file(self, allow_in_use: bool) -> FileLock:
        """File lock: keep other processes out while this one lives; the system releases it if the process is killed."""
        lock = FileLock(f"{self.path}.lock", mode=0o600, thread_local=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _make_private(self.path)
            lock.acquire(blocking=False)
        except Timeout:
            if not allow_in_use:
                raise StoreError(
                    f"{self.path} is in use by another process; one SQLite file serves one process "
                    "(for several workers give a PostgreSQL address)"
                ) from None
        except OSError as problem:
            raise StoreDown(f"{self.path} cannot be opened: {problem.strerror}") from problem
        return lock

    def _connect(self) -> sqlite3.Connection:
        with _translated_errors(place=str(self.path)):
            connection = sqlite3.connect(
                self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            try:
                self._check_owner(connection)
                for setting in (*self._settings, f"journal_size_limit = {LARGEST_LEFT}"):
                    connection.execute(f"PRAGMA {setting}")
            except BaseException:
                connection.close()
                raise
        return connection

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        """Refuse another program's database before anything is written to it."""
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not OUR_TABLES.issubset(tables):
            raise StoreError(
                f"{self.path} is a database of another program, with the table {min(tables)!r}; "
                "accepted is one that Turncoat made, or a new file"
            )

    def _file_identity(self) -> tuple[int, int] | None:
        """Device and inode of the file at the path."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Refuse to go on if the file was deleted or replaced: SQLite would write to the unlinked file."""
        if self._file_identity() != self._identity:
            said = "SQLite: the file was deleted or replaced while it was in use; put it back, or start again"
            raise StoreDown(said, str(self.path))

    @contextmanager
    def transaction(self) -> Iterator[SQLiteSession]:
        """A transaction on the writing connection."""
        self._check_file()
        with self._writing, _translated_errors():
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
        """A read-only transaction that does not block the writer."""
        self._check_file()
        with self._lock:
            if self._is_closed:
                raise StoreError("the store was closed")
            connection = self._readers.pop() if self._readers else None
        if connection is None:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
        try:
            with _translated_errors():
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
        """Nothing to do: SQLite reuses free pages at once."""

    def integrity_check(self) -> list[str]:
        """What SQLite finds to be wrong with the file."""
        try:
            with self.reading() as session:
                found = [str(line) for (line,) in session.rows("PRAGMA integrity_check")]
        except StoreDown:
            raise
        except StoreError as problem:
            return [str(problem)]
        return [] if found == ["ok"] else found

    def backup(self, path: Path) -> None:
        """Write a whole copy, while everything goes on."""
        if path.exists():
            raise StoreError(f"{path} exists already; a backup never writes over a file")
        try:
            _make_private(path)  # SQLite accepts a file that is there and empty
        except OSError as problem:
            raise StoreDown(f"{path} cannot be written: {problem.strerror}") from problem
        try:
            with self.reading(), closing(self._connect()) as connection:
                connection.execute("VACUUM INTO ?", (str(path),))
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def size(self) -> int:
        """Bytes on disk, with the write-ahead log."""
        parts = (self.path, Path(f"{self.path}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close(self) -> None:
        """Close all connections and release the file lock."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        for connection in self._readers:
            connection.close()
        self._writer.close()
        self._file_lock.release()


def _damaged_text(stored: bytes) -> str:
    """Text in which bytes that are no UTF-8 are surrogates, which no decoder of JSON takes."""
    return stored.decode("utf-8", "surrogateescape")


def _make_private(path: Path) -> None:
    """Create the file with mode 0600: it will hold contexts and the hashes of keys."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


@contextmanager
def _translated_errors(place: str = "") -> Iterator[None]:
    """Translate SQLite's errors to the store's."""
    try:
        yield
    except sqlite3.IntegrityError as problem:
        taken = problem.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
        raise (WriteConflict if taken else StoreError)(f"SQLite: {problem}") from problem
    except sqlite3.OperationalError as problem:
        raise StoreDown(f"SQLite: {problem}", place) from problem
    except sqlite3.DatabaseError as problem:
        raise StoreError(f"SQLite: {place}: {problem}" if place else f"SQLite: {problem}") from problem


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
