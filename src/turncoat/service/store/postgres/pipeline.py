"""One connection to PostgreSQL, set up as we need it, and its errors in our words.

Nothing waits for ever:
    connecting      5 s, if the address says nothing else (?connect_timeout=)
    a statement     30 s; in migrations as long as it takes
    a lock          10 s; migrations, of which one runs at a time, wait 10 minutes for one another
    a worker frozen or cut off in the middle of a transaction loses it, and its locks, after 60 s
    a server that says nothing at all is given up after about 25 s
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

from turncoat.service.store.interface import Raced, Row, StoreDown, StoreError
from turncoat.service.store.postgres.address import Address

ALWAYS = {
    "jit": "off",  # nothing here runs long enough to be worth compiling
    "synchronous_commit": "on",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
# What is written is found by its key. Plans are made once, maybe on empty tables, and must do when these are full.
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

BINARY = 1  # how answers are written
OPEN = TransactionStatus.INTRANS, TransactionStatus.INERROR
# By SQLSTATE, or the class that its first two digits name.
AGAIN = {"40001", "40P01", "23505"}  # serialization failure, deadlock, a key that is there already
DOWN = {
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
    """What PostgreSQL computes as a decimal, such as a sum of whole numbers, as the number it is elsewhere."""

    def load(self, data: Buffer) -> Any:
        """An int where it is whole, else a float."""
        number = super().load(data)
        return int(number) if number == number.to_integral_value() else float(number)


class Answer:
    """What PostgreSQL says to a statement: to be had from the link, once it is needed."""

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: PGresult | None = None


class Link:
    """A connection, on which transactions come one after the other.

    Statements are sent as they are given, and answers read when somebody needs one (libpq's pipeline mode). A trip to
    the server and back takes longer than most statements do. psycopg's cursors can do so too, in twice the time.
    """

    def __init__(self, address: Address, settings: Mapping[str, str]) -> None:
        self.connection = address.connect()
        for kind, dumper in DUMPERS:
            self.connection.adapters.register_dumper(kind, dumper)
        self.connection.adapters.register_loader("numeric", Number)
        self._wire = self.connection.pgconn
        self._wire.nonblocking = 0
        self._incoming = select.poll()
        self._incoming.register(self._wire.socket, select.POLLIN)
        self._values = Transformer(self.connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}  # of prepared statements
        self._numbers = count()
        self._fresh: list[tuple[str, tuple[int, ...]]] = []  # prepared in this transaction
        self._sent: deque[Answer | None] = deque()  # not read yet; None: a point up to which we wanted answers
        try:
            self.order("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
        except BaseException:
            self.connection.close()
            raise

    def is_lost(self) -> bool:
        """Whether the server has gone, or has sent us away. It says nothing of its own accord but that."""
        if self.connection.closed:
            return True
        with suppress(psycopg.Error):
            if self.is_open():
                self._end()
            if self._incoming.poll(0):
                self._wire.exec_(b"")
        return self._wire.status != ConnStatus.OK

    def is_open(self) -> bool:
        """Whether a transaction is."""
        return not self.connection.closed and self._wire.pipeline_status != PipelineStatus.OFF

    def order(self, sql: str) -> None:
        """Outside of transactions: do something that has no values and finds nothing."""
        _checked(self._wire.exec_(sql.encode()))

    def begin(self, how: str) -> None:
        """A transaction begins."""
        self._wire.enter_pipeline_mode()
        self._say(how)

    def send(self, sql: str, values: Sequence[Any]) -> Answer:
        """A statement with $1, $2, … in it."""
        written = self._values.dump_sequence(values, [PyFormat.BINARY] * len(values))
        known = sql, self._values.types or ()
        name = self._names.get(known)
        if name is None:
            name = self._names[known] = b"t%d" % next(self._numbers)
            self._fresh.append(known)
            self._wire.send_prepare(name, sql.encode(), known[1])
            self._wait_for()
        self._wire.send_query_prepared(name, written, self._values.formats, BINARY)
        return self._wait_for()

    def rows(self, answer: Answer) -> list[Row]:
        """What it found."""
        result = self._read(answer)
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)

    def count(self, answer: Answer) -> int:
        """How many rows it touched."""
        return self._read(answer).command_tuples or 0

    def commit(self) -> None:
        """Keep what was done. PostgreSQL does not mind being told to after a failure: it keeps nothing, and we do."""
        done = self._read(self._say("COMMIT"))
        self._end()
        if done.command_status != b"COMMIT":
            raise StoreError("PostgreSQL: a statement had failed before; nothing of the transaction was kept")
        self._fresh.clear()

    def turn_away(self) -> None:
        """The end of a transaction that only looked. Nobody waits for the answer; who next needs the link reads it."""
        if all(one is None for one in self._sent):  # every answer was read, and none was an error
            self._fresh.clear()
        self._say("COMMIT")
        self._sync()

    def leave(self, problem: BaseException) -> None:
        """Forget what was done. What may be half used, or leads to a server that is down, is closed."""
        for known in self._fresh:  # whether they are there is not known
            self._names.pop(known, None)
        self._fresh.clear()
        if isinstance(problem, Exception) and not isinstance(in_our_words(problem), StoreDown):
            with suppress(psycopg.Error):
                self._give_up()
        if not self.connection.closed and (self.is_open() or self._wire.transaction_status != TransactionStatus.IDLE):
            self.connection.close()

    def _give_up(self) -> None:
        if self.is_open():
            self._sync()
            self._end()
        if self._wire.transaction_status in OPEN:
            self.order("ROLLBACK")

    def _say(self, sql: str) -> Answer:
        self._wire.send_query_params(sql.encode(), None)
        return self._wait_for()

    def _wait_for(self) -> Answer:
        answer = Answer()
        self._sent.append(answer)
        return answer

    def _read(self, answer: Answer) -> PGresult:
        """Answers come in the order of what was sent. The first that is an error is raised, whoever asks."""
        self._sync()
        while answer.result is None:
            if not self._sent:
                raise StoreError("PostgreSQL: a statement had failed before")
            one, result = self._receive()
            if one is not None:
                one.result = _checked(result)
        return answer.result

    def _sync(self) -> None:
        """Have the server answer what it was sent. Then it waits for more, no longer than a transaction may idle."""
        if self._sent and self._sent[-1] is not None:
            self._wire.pipeline_sync()
            self._sent.append(None)

    def _receive(self) -> tuple[Answer | None, PGresult | None]:
        one, result = self._sent.popleft(), self._next()
        if one is not None and result is not None:
            self._next()  # that was all of it
        return one, result

    def _next(self) -> PGresult | None:
        """libpq would wait for it with the interpreter's lock in its hands, and nobody else could run."""
        while self._wire.is_busy():
            self._incoming.poll()
            self._wire.consume_input()
        return self._wire.get_result()

    def _end(self) -> None:
        while self._sent:
            self._receive()
        self._wire.exit_pipeline_mode()


def _checked(result: PGresult | None) -> PGresult:
    """What is not an error."""
    if result is None:
        raise psycopg.OperationalError("the connection was lost")
    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        problem = error_from_result(result, encoding="utf-8")
        raise problem if problem.sqlstate else psycopg.OperationalError(str(problem))  # the connection was lost
    return result


def in_our_words(problem: BaseException) -> BaseException:
    """What an error means to us. Those that are not PostgreSQL's stay what they are."""
    if not isinstance(problem, psycopg.Error):
        return problem
    state = problem.sqlstate
    message = f"PostgreSQL: {(problem.diag.message_primary or str(problem) or type(problem).__name__).splitlines()[0]}"
    if state in AGAIN:
        return Raced(message)
    lost = state is None and isinstance(problem, psycopg.OperationalError)
    if lost or (state is not None and {state, state[:2]} & DOWN):
        return StoreDown(message)
    return StoreError(message)


@contextmanager
def plainly() -> Iterator[None]:
    """PostgreSQL's errors in our words."""
    try:
        yield
    except psycopg.Error as problem:
        raise in_our_words(problem) from problem
