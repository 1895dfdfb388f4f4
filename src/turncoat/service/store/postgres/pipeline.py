"""One connection to PostgreSQL in libpq's pipeline mode, and the translation of its errors.

Timeouts:
    connecting      5 s, unless the address sets it (?connect_timeout=)
    a statement     30 s; in migrations none
    a lock          10 s; 10 minutes for migrations, of which one runs at a time
    a transaction   60 s idle: a frozen worker loses it, and its locks
    a dead server   about 25 s (TCP keepalive)
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import FloatBinaryDumper, Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import BytesBinaryDumper, StrBinaryDumper

from turncoat.service.store.interface import Row, StoreDown, StoreError, WriteConflict
from turncoat.service.store.postgres.address import Address

ALWAYS = {
    "jit": "off",  # nothing here runs long enough to be worth compiling
    "synchronous_commit": "on",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
# Writers find rows by key: generic plans, made once and maybe on empty tables, must use the indexes.
WRITING = ALWAYS | {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
READING = ALWAYS | {"plan_cache_mode": "force_custom_plan"}
DUMPERS = (
    (int, Int8BinaryDumper),
    (float, FloatBinaryDumper),
    (str, StrBinaryDumper),
    (bytes, BytesBinaryDumper),
    (list, ListBinaryDumper),
)

BINARY = 1  # the format of results
OPEN = TransactionStatus.INTRANS, TransactionStatus.INERROR
# By SQLSTATE, or its class (the first two digits).
RETRYABLE = {"40001", "40P01", "23505"}  # serialization failure, deadlock, a key that is there already
UNAVAILABLE = {
    "08",  # connection
    "53",  # disk full, out of memory, too many connections
    "57",  # shutting down, starting up, timed out
    "58",  # the disk
    "25006",  # read-only
    "25P03",  # idle in a transaction for too long
    "25P04",
    "55P03",  # waited too long for a lock
}


class Number(NumericBinaryLoader):
    """Load NUMERIC, such as a sum of integers, as int or float, as SQLite returns it."""

    def load(self, data: Buffer) -> Any:
        """An int if it is integral, else a float."""
        number = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


class PendingResult:
    """The result of a statement that was sent, once it is read from the pipeline."""

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: PGresult | None = None


class Pipeline:
    """A connection in pipeline mode: statements are sent at once, results read when needed.

    A round trip takes longer than most statements. By hand, because psycopg's own `connection.pipeline()` sends every
    statement at once: 0.3 ms more per batch, a third fewer rounds per second with two workers on two busy cores.
    """

    def __init__(self, address: Address, settings: Mapping[str, str]) -> None:
        self.connection = address.connect()
        for kind, dumper in DUMPERS:
            self.connection.adapters.register_dumper(kind, dumper)
        self.connection.adapters.register_loader("numeric", Number)
        self._pgconn = self.connection.pgconn
        self._pgconn.nonblocking = 0
        self._incoming = select.poll()
        self._incoming.register(self._pgconn.socket, select.POLLIN)
        self._values = Transformer(self.connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}  # of prepared statements
        self._numbers = count()
        self._fresh: list[tuple[str, tuple[int, ...]]] = []  # prepared in this transaction, so perhaps rolled back
        self._sent: deque[PendingResult | None] = deque()  # results not read yet; None: a sync point
        try:
            self.execute("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
        except BaseException:
            self.connection.close()
            raise

    def is_lost(self) -> bool:
        """Whether the connection was lost. Input on an idle connection can only announce that."""
        if self.connection.closed:
            return True
        with suppress(psycopg.Error):
            if self.is_open():
                self._end()
            if self._incoming.poll(0):
                self._pgconn.exec_(b"")
        return self._pgconn.status != ConnStatus.OK

    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return not self.connection.closed and self._pgconn.pipeline_status != PipelineStatus.OFF

    def execute(self, sql: str) -> None:
        """Run SQL outside of transactions, without values and without rows."""
        _checked(self._pgconn.exec_(sql.encode()))

    def begin(self, how: str) -> None:
        """Begin a transaction."""
        self._pgconn.enter_pipeline_mode()
        self._send_text(how)

    def send(self, sql: str, values: Sequence[Any]) -> PendingResult:
        """Send a statement with $1, $2, …, prepared on its first use."""
        written = self._values.dump_sequence(values, [PyFormat.BINARY] * len(values))
        known = sql, self._values.types or ()
        name = self._names.get(known)
        if name is None:
            name = self._names[known] = b"t%d" % next(self._numbers)
            self._fresh.append(known)
            self._pgconn.send_prepare(name, sql.encode(), known[1])
            self._expect_result()
        self._pgconn.send_query_prepared(name, written, self._values.formats, BINARY)
        return self._expect_result()

    def rows(self, pending: PendingResult) -> list[Row]:
        """The rows of a result."""
        result = self._read(pending)
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)

    def count(self, pending: PendingResult) -> int:
        """The number of rows that a statement changed."""
        return self._read(pending).command_tuples or 0

    def commit(self) -> None:
        """Commit. After a failed statement PostgreSQL answers COMMIT with ROLLBACK, and this raises."""
        done = self._read(self._send_text("COMMIT"))
        self._end()
        if done.command_status != b"COMMIT":
            raise StoreError("PostgreSQL: a statement had failed before; nothing of the transaction was kept")
        self._fresh.clear()

    def commit_without_waiting(self) -> None:
        """End a read-only transaction without waiting for the answer; the connection's next user reads it."""
        if all(one is None for one in self._sent):  # every result was read, and none was an error
            self._fresh.clear()
        self._send_text("COMMIT")
        self._sync()

    def roll_back(self, problem: BaseException) -> None:
        """Roll back; close the connection if its state is unknown or the server is down."""
        for known in self._fresh:  # whether they were prepared is not known
            self._names.pop(known, None)
        self._fresh.clear()
        if isinstance(problem, Exception) and not isinstance(translate_error(problem), StoreDown):
            with suppress(psycopg.Error):
                self._end_transaction()
        if not self.connection.closed and (self.is_open() or self._pgconn.transaction_status != TransactionStatus.IDLE):
            self.connection.close()

    def _end_transaction(self) -> None:
        if self.is_open():
            self._sync()
            self._end()
        if self._pgconn.transaction_status in OPEN:
            self.execute("ROLLBACK")

    def _send_text(self, sql: str) -> PendingResult:
        self._pgconn.send_query_params(sql.encode(), None)
        return self._expect_result()

    def _expect_result(self) -> PendingResult:
        pending = PendingResult()
        self._sent.append(pending)
        return pending

    def _read(self, pending: PendingResult) -> PGresult:
        """Read results in the order of sending, up to this one. The first error among them is raised."""
        self._sync()
        while pending.result is None:
            if not self._sent:
                raise StoreError("PostgreSQL: a statement had failed before")
            one, result = self._receive()
            if one is not None:
                one.result = _checked(result)
        return pending.result

    def _sync(self) -> None:
        """Send a sync point, so that the server answers all statements so far."""
        if self._sent and self._sent[-1] is not None:
            self._pgconn.pipeline_sync()
            self._sent.append(None)

    def _receive(self) -> tuple[PendingResult | None, PGresult | None]:
        one, result = self._sent.popleft(), self._next()
        if one is not None and result is not None:
            self._next()  # the null result that ends each statement's results
        return one, result

    def _next(self) -> PGresult | None:
        """The next result. Waiting inside libpq would hold the interpreter's lock (GIL); `poll` releases it."""
        while self._pgconn.is_busy():
            self._incoming.poll()
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _end(self) -> None:
        while self._sent:
            self._receive()
        self._pgconn.exit_pipeline_mode()


def _checked(result: PGresult | None) -> PGresult:
    """The result, unless it is an error: that is raised."""
    if result is None:
        raise psycopg.OperationalError("the connection was lost")
    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        problem = error_from_result(result, encoding="utf-8")
        raise problem if problem.sqlstate else psycopg.OperationalError(str(problem))  # the connection was lost
    return result


def translate_error(problem: BaseException) -> BaseException:
    """The store's error for one of psycopg's. Other exceptions stay as they are."""
    if not isinstance(problem, psycopg.Error):
        return problem
    state = problem.sqlstate
    message = f"PostgreSQL: {(problem.diag.message_primary or str(problem) or type(problem).__name__).splitlines()[0]}"
    if state in RETRYABLE:
        return WriteConflict(message)
    lost = state is None and isinstance(problem, psycopg.OperationalError)
    if lost:  # the driver's words name host, port and user
        return StoreDown("PostgreSQL: there is no connection", message)
    if state is not None and {state, state[:2]} & UNAVAILABLE:
        return StoreDown(message)
    return StoreError(message)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate PostgreSQL's errors to the store's."""
    try:
        yield
    except psycopg.Error as problem:
        raise translate_error(problem) from problem
