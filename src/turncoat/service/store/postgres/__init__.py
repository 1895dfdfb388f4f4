"""The store for many workers: PostgreSQL, through psycopg 3.

Every commit is on the disk before it is answered, whatever the server's default. A process has one connection that
writes and a few that read. One that was lost is opened again by the next who needs it. A pooler in between must leave
a connection to one client for as long as it wants it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from turncoat.service.store.interface import Later, Row, StoreError
from turncoat.service.store.migrate import migrate
from turncoat.service.store.postgres.address import Address
from turncoat.service.store.postgres.pipeline import READING, WRITING, Answer, Link, plainly
from turncoat.service.store.recordset import Recordset

WORDS = {
    "text": 'TEXT COLLATE "C"',
    "bytes": "BYTEA",
    # Who looks for open decisions passes by the entries of those closed since the last vacuum.
    "tended": " WITH (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on)",
    # A state is written anew at every pass; to compress it takes longer than all the rest of that.
    "unpacked": "ALTER TABLE learner ALTER COLUMN state SET STORAGE EXTERNAL",
}
READERS_KEPT = 8
ALONE = 0x7475726E  # the name, among this database's advisory locks, of the one on settings and migrations
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
LOOK = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
TIDYING = "500ms"
PATIENCE = {"statement_timeout": "0", "lock_timeout": "10min"}

TYPES = """
    SELECT column_name, udt_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = :table
"""
LOCKED = "SELECT version FROM experiment WHERE id = :id FOR UPDATE"
PLACES = re.compile(r"\bIN :(\w+)|(?<!:):(\w+)")

Recordsets = dict[tuple[str, tuple[str, ...]], Recordset]


class PostgresSession:
    """A transaction on one connection."""

    def __init__(self, link: Link, recordsets: Recordsets) -> None:
        self._link = link
        self._recordsets = recordsets

    def send(self, sql: str, **values: Any) -> Later[list[Row]]:
        """A statement, of which somebody may want to know later what it found."""
        answer = self._send(sql, values)
        return lambda: self._link.rows(answer)

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """What a query finds."""
        return self._link.rows(self._send(sql, values))

    def run(self, sql: str, **values: Any) -> int:
        """Do it; how many rows it touched."""
        return self._link.count(self._send(sql, values))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows."""
        some = self._recordset(table, columns)
        self._link.send(some.insert(), [some.written(rows)])

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Add those that are not there yet, and say which."""
        some = self._recordset(table, columns)
        return set(self._link.rows(self._link.send(some.insert_new(key), [some.written(rows)])))

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Set the other columns of the rows whose first column is the first value."""
        some = self._recordset(table, columns)
        self._link.send(some.update(), [some.written(rows)])

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Add to the sums of the row with these keys."""
        some = self._recordset(table, (*keys, *sums))
        self._link.send(some.add_up(len(keys)), [some.written(rows)])

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> Later[int | None]:
        """Its row, until the transaction ends or the connection does."""
        found = self.send(LOCKED if wait else LOCKED + " SKIP LOCKED", id=experiment)
        return lambda: next((version for (version,) in found()), None)

    def lock_everything(self) -> None:
        """One lock for all who change settings."""
        self.rows("SELECT pg_advisory_xact_lock(:name)", name=ALONE)

    def _send(self, sql: str, values: dict[str, Any]) -> Answer:
        text, names = _spoken(sql)
        return self._link.send(text, [_bound(values[name], is_list) for name, is_list in names.items()])

    def _recordset(self, table: str, columns: Sequence[str]) -> Recordset:
        wanted = table, tuple(columns)
        if wanted not in self._recordsets:
            self._recordsets[wanted] = Recordset(table, columns, dict(self.rows(TYPES, table=table)))
        return self._recordsets[wanted]


class PostgresStore:
    """A database. Transactions of several threads come one after the other."""

    shared = True

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self._recordsets: Recordsets = {}
        self._writing = threading.RLock()
        self._writer: Link | None = None
        self._lock = threading.Lock()
        self._readers: list[Link] = []
        self._is_closed = False
        try:
            with self.transaction() as session:
                for name, value in PATIENCE.items():
                    session.run(f"SET LOCAL {name} = '{value}'")
                session.lock_everything()
                migrate(session, WORDS)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresStore({self._address!r})"

    @contextmanager
    def transaction(self) -> Iterator[PostgresSession]:
        """All of it or nothing."""
        with self._writing, plainly():
            if self._writer is not None and self._writer.is_open():
                raise StoreError("a transaction is open already; there is one at a time")
            self._writer = self._there(self._writer, WRITING)
            with _leaving(self._writer):
                self._writer.begin(WRITE)
                yield PostgresSession(self._writer, self._recordsets)
                self._writer.commit()

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """Look, without holding up who writes."""
        with plainly(), self._reader() as link, _leaving(link):
            link.begin(LOOK)
            yield PostgresSession(link, self._recordsets)
            link.turn_away()

    @contextmanager
    def _reader(self) -> Iterator[Link]:
        """A connection of those that read, to be given back."""
        with self._lock:
            kept = self._readers.pop() if self._readers else None
        link = self._there(kept, READING)
        try:
            yield link
        finally:
            self._keep(link)

    def _there(self, link: Link | None, settings: Mapping[str, str]) -> Link:
        """The connection, or a new one in its place if it was lost."""
        if link is not None and not link.is_lost():
            return link
        if link is not None:
            link.connection.close()
        if self._is_closed:
            raise StoreError("the store was closed")
        return Link(self._address, settings)

    def _keep(self, link: Link) -> None:
        """For the next who reads."""
        with self._lock:
            if len(self._readers) < READERS_KEPT and not (link.connection.closed or self._is_closed):
                self._readers.append(link)
                return
        link.connection.close()

    def tidy(self) -> None:
        """Vacuum the inbox, if that is quick: who looks into it passes by every row that went through since the last.

        PostgreSQL does so by itself, once a minute at best: then it had to pass by 300,000 at 5,000 a second.
        """
        with plainly(), self._reader() as link, _leaving(link):
            link.order(f"SET statement_timeout = '{TIDYING}'")
            try:
                with suppress(psycopg.errors.QueryCanceled):
                    link.order("VACUUM (SKIP_LOCKED, TRUNCATE off) inbox")
            finally:
                link.order(f"SET statement_timeout = '{READING['statement_timeout']}'")

    def backup(self, path: Path) -> None:
        """Write a whole copy, while everything goes on."""
        self._address.dump(path)

    def size(self) -> int:
        """Bytes on disk."""
        with self.reading() as session:
            return int(session.rows("SELECT pg_database_size(current_database())")[0][0])

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            self._is_closed = True
        for link in (self._writer, *self._readers):
            if link is not None:
                link.connection.close()


@contextmanager
def _leaving(link: Link) -> Iterator[None]:
    """Of a block that raises, nothing is kept."""
    try:
        yield
    except BaseException as problem:
        link.leave(problem)
        raise


def _bound(value: Any, is_list: bool) -> Any:
    if is_list:
        return list(value)
    if isinstance(value, str) and "\0" in value:
        return None  # no text in PostgreSQL has a NUL in it, so none equals this one
    return value


@cache
def _spoken(sql: str) -> tuple[str, dict[str, bool]]:
    """A statement as PostgreSQL wants it, and the names of its values in their order: is it a list?"""
    names: dict[str, bool] = {}

    def place(found: re.Match[str]) -> str:
        name, is_list = found[1] or found[2], bool(found[1])
        names.setdefault(name, is_list)
        number = f"${list(names).index(name) + 1}"
        return f"= ANY({number})" if is_list else number

    return PLACES.sub(place, sql), names
