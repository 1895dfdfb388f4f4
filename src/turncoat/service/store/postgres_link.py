"""One connection to PostgreSQL, set up as we need it, and its errors in our words.

Nothing waits for ever:
    connecting      5 s, if the address says nothing else (?connect_timeout=)
    a statement     30 s; in migrations as long as it takes
    a lock          10 s; migrations, of which one runs at a time, wait 10 minutes for one another
    a worker frozen or cut off in the middle of a transaction loses it, and its locks, after 60 s
    a server that says nothing at all is given up after about 25 s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import FloatBinaryDumper, Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import BytesBinaryDumper, StrBinaryDumper

from turncoat.service.store.interface import Raced, StoreDown, StoreError
from turncoat.service.store.postgres_address import Address

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

OPEN = TransactionStatus.INTRANS, TransactionStatus.INERROR
# By SQLSTATE, or the class that its first two digits name.
AGAIN = {"40001", "40P01"}  # serialization failure, deadlock
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


class Link:
    """A connection, on which a transaction is begun at once."""

    def __init__(self, address: Address, settings: Mapping[str, str], begin: str) -> None:
        self.connection = address.connect()
        self.connection.prepared_max = 500
        for kind, dumper in DUMPERS:
            self.connection.adapters.register_dumper(kind, dumper)
        self.connection.adapters.register_loader("numeric", Number)
        try:
            self.order("; ".join([*(f"SET {name} = '{value}'" for name, value in settings.items()), begin]))
        except BaseException:
            self.connection.close()
            raise

    def is_open(self) -> bool:
        """Whether a transaction is."""
        return self.connection.info.transaction_status in OPEN

    def order(self, sql: str) -> bytes:
        """Do something that has no values and finds nothing; what PostgreSQL says it did."""
        done = self.connection.pgconn.exec_(sql.encode())
        if done.status != ExecStatus.COMMAND_OK:
            problem = error_from_result(done, encoding="utf-8")
            raise problem if problem.sqlstate else psycopg.OperationalError(str(problem))  # the connection was lost
        return done.command_status or b""

    def commit(self) -> None:
        """Keep what was done. PostgreSQL does not mind being told to after a failure: it keeps nothing, and we do."""
        if self.order("COMMIT") != b"COMMIT":
            raise StoreError("PostgreSQL: a statement had failed before; nothing of the transaction was kept")

    def leave(self, problem: BaseException) -> None:
        """Forget what was done. What may be half used, or leads to a server that is down, is closed."""
        with suppress(psycopg.Error):
            if self.is_open():
                self.order("ROLLBACK")
        is_idle = self.connection.info.transaction_status == TransactionStatus.IDLE
        if not is_idle or isinstance(in_our_words(problem), StoreDown):
            self.connection.close()


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
