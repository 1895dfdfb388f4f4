"""The store for many workers: PostgreSQL, through psycopg 3.

Every commit is on the disk before it is answered (synchronous_commit=on), whatever the server's default. Connection
pool: a process has one writing connection and a few readers; a lost connection is reopened on its next use. An external
pooler must use session pooling.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from turncoat.service.store.interface import DeferredResult, Durability, Row, StoreError
from turncoat.service.store.migrate import migrate
from turncoat.service.store.postgres.address import Address
from turncoat.service.store.postgres.pipeline import READING, WRITING, PendingResult, Pipeline, translated_errors

DIALECT = {
    "text": 'TEXT COLLATE "C"',
    "bytes": "BYTEA",
    # Autovacuum early: the search for open decisions passes index entries of those closed since the last vacuum.
    "tended": " WITH (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on)",
    # No compression: a state is rewritten at every pass, and compressing it would dominate the pass.
    "unpacked": "ALTER TABLE learner ALTER COLUMN state SET STORAGE EXTERNAL",
}
READERS_KEPT = 8
SETTINGS_LOCK = 0x7475726E  # the key of the advisory lock on settings and migrations
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
VACUUM_TIMEOUT = "500ms"
MIGRATION_TIMEOUTS = {"statement_timeout": "0", "lock_timeout": "10min"}

TYPES = """
    SELECT column_name, udt_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = :table
"""
LOCKED = "SELECT version FROM experiment WHERE id = :id FOR UPDATE"
PLACEHOLDERS = re.compile(r"\bIN :(\w+)|(?<!:):(\w+)")


class BulkRows:
    """Many rows as one JSON parameter (json_to_recordset), cheaper than one parameter per field.

    JSON, not JSONB, which would turn -0.0 into 0.0. Every double is stored bit for bit; bytes are sent as base64.
    """

    def __init__(self, table: str, columns: Sequence[str], types: Mapping[str, str]) -> None:
        self._table, self._columns = table, list(columns)
        self._row = msgspec.defstruct("Row", [f"c{i}" for i in range(len(columns))])
        fields, self._values = [], []
        for i, column in enumerate(columns):
            is_bytes = types[column] == "bytea"
            fields.append(f"c{i} {'text' if is_bytes else types[column]}")
            self._values.append(f"decode(r.c{i}, 'base64')" if is_bytes else f"r.c{i}")
        self._source = f"json_to_recordset($1::json) AS r({', '.join(fields)})"

    def written(self, rows: Sequence[Row]) -> str:
        """The rows as JSON."""
        row = self._row
        return msgspec.json.encode([row(*values) for values in rows]).decode()

    def insert(self) -> str:
        """INSERT all rows."""
        columns, values = ", ".join(self._columns), ", ".join(self._values)
        return f"INSERT INTO {self._table} ({columns}) SELECT {values} FROM {self._source}"

    def insert_new(self, key: int) -> str:
        """INSERT … ON CONFLICT DO NOTHING; returns the keys of the inserted rows."""
        return f"{self.insert()} ON CONFLICT DO NOTHING RETURNING {', '.join(self._columns[:key])}"

    def update(self) -> str:
        """UPDATE all columns but the first, which identifies the row."""
        pairs = zip(self._columns[1:], self._values[1:], strict=True)
        sets = ", ".join(f"{column} = {value}" for column, value in pairs)
        return f"UPDATE {self._table} AS t SET {sets} FROM {self._source} WHERE t.{self._columns[0]} = r.c0"

    def add_up(self, n_keys: int) -> str:
        """Upsert that adds to the stored sums."""
        keys, sums = self._columns[:n_keys], self._columns[n_keys:]
        adding = ", ".join(f"{column} = {self._table}.{column} + excluded.{column}" for column in sums)
        return f"{self.insert()} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {adding}"


BulkRowsCache = dict[tuple[str, tuple[str, ...]], BulkRows]


class PostgresSession:
    """A transaction on one connection."""

    def __init__(self, pipeline: Pipeline, bulk_rows_cache: BulkRowsCache) -> None:
        self._pipeline = pipeline
        self._bulk_rows_cache = bulk_rows_cache

    def send(self, sql: str, **values: Any) -> DeferredResult[list[Row]]:
        """Send a statement; its rows as a deferred result."""
        pending = self._send(sql, values)
        return lambda: self._pipeline.rows(pending)

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """The rows of a query."""
        return self._pipeline.rows(self._send(sql, values))

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement; the number of rows that it changed."""
        return self._pipeline.count(self._send(sql, values))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows."""
        self._write(table, columns, rows, BulkRows.insert)

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Insert the rows whose keys are new; return those keys."""
        return set(self._pipeline.rows(self._write(table, columns, rows, BulkRows.insert_new, key)))

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Update the rows identified by the first column; set the other columns."""
        self._write(table, columns, rows, BulkRows.update)

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Add to the sums of the row with these keys."""
        self._write(table, (*keys, *sums), rows, BulkRows.add_up, len(keys))

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> DeferredResult[int | None]:
        """Row lock, until the transaction or the connection ends."""
        found = self.send(LOCKED if wait else LOCKED + " SKIP LOCKED", id=experiment)
        return lambda: next((version for (version,) in found()), None)

    def lock_settings(self) -> None:
        """Advisory lock, shared by all transactions that change settings."""
        self.rows("SELECT pg_advisory_xact_lock(:name)", name=SETTINGS_LOCK)

    def _send(self, sql: str, values: dict[str, Any]) -> PendingResult:
        text, names = _to_postgres(sql)
        return self._pipeline.send(text, [_bound(values[name], is_list) for name, is_list in names.items()])

    def _write(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], statement: Callable[..., str], *keys: int
    ) -> PendingResult:
        wanted = table, tuple(columns)
        if wanted not in self._bulk_rows_cache:
            self._bulk_rows_cache[wanted] = BulkRows(table, columns, dict(self.rows(TYPES, table=table)))
        bulk = self._bulk_rows_cache[wanted]
        return self._pipeline.send(statement(bulk, *keys), [bulk.written(rows)])


class PostgresStore:
    """A PostgreSQL database. Writing transactions of several threads run one after the other."""

    shared = True

    def __init__(self, url: str, *, durability: Durability = "flush") -> None:
        self._address = Address(url)
        self._writing_settings = WRITING if durability == "flush" else {**WRITING, "synchronous_commit": "off"}
        self._bulk_rows_cache: BulkRowsCache = {}
        self._writing = threading.RLock()
        self._writer: Pipeline | None = None
        self._lock = threading.Lock()
        self._readers: list[Pipeline] = []
        self._is_closed = False
        try:
            with self.transaction() as session:
                for name, value in MIGRATION_TIMEOUTS.items():
                    session.run(f"SET LOCAL {name} = '{value}'")
                session.lock_settings()
                migrate(session, DIALECT)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresStore({self._address!r})"

    @contextmanager
    def transaction(self) -> Iterator[PostgresSession]:
        """A transaction on the writing connection."""
        with self._writing, translated_errors():
            if self._writer is not None and self._writer.is_open():
                raise StoreError("a transaction is open already; there is one at a time")
            self._writer = self._connected(self._writer, self._writing_settings)
            with _rollback_on_error(self._writer):
                self._writer.begin(WRITE)
                yield PostgresSession(self._writer, self._bulk_rows_cache)
                self._writer.commit()

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A read-only transaction that does not block writers."""
        with translated_errors(), self._reader() as pipeline, _rollback_on_error(pipeline):
            pipeline.begin(READ)
            yield PostgresSession(pipeline, self._bulk_rows_cache)
            pipeline.commit_without_waiting()

    @contextmanager
    def _reader(self) -> Iterator[Pipeline]:
        """Borrow a reader from the pool."""
        with self._lock:
            kept = self._readers.pop() if self._readers else None
        pipeline = self._connected(kept, READING)
        try:
            yield pipeline
        finally:
            with self._lock:
                keep = len(self._readers) < READERS_KEPT and not (pipeline.connection.closed or self._is_closed)
                if keep:
                    self._readers.append(pipeline)
            if not keep:
                pipeline.connection.close()

    def _connected(self, pipeline: Pipeline | None, settings: Mapping[str, str]) -> Pipeline:
        """The connection, or a new one if it was lost."""
        if pipeline is not None and not pipeline.is_lost():
            return pipeline
        if pipeline is not None:
            pipeline.connection.close()
        if self._is_closed:
            raise StoreError("the store was closed")
        return Pipeline(self._address, settings)

    def tidy(self) -> None:
        """Vacuum the inbox, if that is quick: a scan of it passes every dead row since the last vacuum.

        Autovacuum runs once a minute at best; at 5,000 rewards per second that is 300,000 dead rows.
        """
        with translated_errors(), self._reader() as pipeline, _rollback_on_error(pipeline):
            pipeline.execute(f"SET statement_timeout = '{VACUUM_TIMEOUT}'")
            try:
                with suppress(psycopg.errors.QueryCanceled):
                    pipeline.execute("VACUUM (SKIP_LOCKED, TRUNCATE off) inbox")
            finally:
                pipeline.execute(f"SET statement_timeout = '{READING['statement_timeout']}'")

    def integrity_check(self) -> None:
        """None: the checks are the server's (data checksums, pg_amcheck)."""

    def backup(self, path: Path) -> None:
        """Write a full copy while the service runs."""
        self._address.dump(path)

    def size(self) -> int:
        """Bytes on disk."""
        with self.reading() as session:
            return int(session.rows("SELECT pg_database_size(current_database())")[0][0])

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._is_closed = True
        for pipeline in (self._writer, *self._readers):
            if pipeline is not None:
                pipeline.connection.close()


@contextmanager
def _rollback_on_error(pipeline: Pipeline) -> Iterator[None]:
    """Roll back when the block raises."""
    try:
        yield
    except BaseException as problem:
        pipeline.roll_back(problem)
        raise


def _bound(value: Any, is_list: bool) -> Any:
    if is_list:
        return list(value)
    if isinstance(value, str) and "\0" in value:
        return None  # PostgreSQL's text cannot contain NUL, so nothing equals this value
    return value


@cache
def _to_postgres(sql: str) -> tuple[str, dict[str, bool]]:
    """The statement with $1, $2, …; and by name, in order, whether the value is a list."""
    names: dict[str, bool] = {}

    def place(found: re.Match[str]) -> str:
        name, is_list = found[1] or found[2], bool(found[1])
        names.setdefault(name, is_list)
        number = f"${list(names).index(name) + 1}"
        return f"= ANY({number})" if is_list else number

    return PLACEHOLDERS.sub(place, sql), names
