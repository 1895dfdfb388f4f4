"""The interface of a store. Two implement it: SQLite inside this process, PostgreSQL for many workers.

SQL is portable and written once, next to its use: `:name` for a value, `IN :names` for a list of values. What the two
write differently (bulk inserts, "insert if new", locks) is a method here. Every finite double is stored bit for bit,
except for the sign of -0.0, which SQLite drops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from turncoat.errors import TurncoatError

T = TypeVar("T")

Row = tuple[Any, ...]
Durability = Literal[
    "flush", "os"
]  # what a commit waits for: the disk, or the operating system (PostgreSQL: its server)
DeferredResult: TypeAlias = Callable[[], T]  # a result under way; call it to wait for the value


class StoreError(TurncoatError, RuntimeError):
    """The store cannot be used: it is another program's, of a newer version, or damaged."""


class StoreDown(StoreError):
    """The store cannot be reached or written now. The transaction was rolled back, as far as can be known.

    `place`: host and port, or the file, for the log and the command line alone. Callers are told the message.
    """

    def __init__(self, message: str = "", place: str = "") -> None:
        super().__init__(message)
        self.place = place


def with_place(problem: BaseException) -> str:
    """The message of an error, with the place of the store that it comes from."""
    down = problem if isinstance(problem, StoreDown) else problem.__cause__
    place = down.place if isinstance(down, StoreDown) else ""
    return f"{problem} ({place})" if place else str(problem)


class WriteConflict(StoreError):
    """A concurrent transaction wrote the same key first, or the two deadlocked: retry."""


class Session(Protocol):
    """A transaction."""

    def send(self, sql: str, **values: Any) -> DeferredResult[list[Row]]:
        """Send a statement; its rows as a deferred result. Sending several before reading saves round trips."""

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """The rows of a query."""

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement; the number of rows that it changed."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows. If a row's key is taken: WriteConflict, now or when a result is next read."""

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Insert the rows whose first `key` columns are new; return those columns of the inserted rows.

        Atomic: it waits for concurrent transactions that insert the same key.
        """

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Update the rows identified by the first column; set the other columns."""

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Upsert: add to the sums of the row with these keys, or insert it. The keys in `rows` are distinct."""

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> DeferredResult[int | None]:
        """Lock an experiment until the transaction ends; its version. None: another transaction holds the lock."""

    def lock_settings(self) -> None:
        """Lock all settings until the transaction ends."""


class Store(Protocol):
    """A database with our tables."""

    @property
    def shared(self) -> bool:
        """Whether other processes may write to it too."""

    def transaction(self) -> AbstractContextManager[Session]:
        """A transaction: committed to the disk when the block ends, rolled back when it raises."""

    def reading(self) -> AbstractContextManager[Session]:
        """A read-only transaction, from any thread, that does not block writers."""

    def tidy(self) -> None:
        """Vacuum the inbox; to be called every few seconds."""

    def integrity_check(self) -> list[str] | None:
        """What the database finds to be wrong with its own file; None: it has no check that a client may ask for."""

    def backup(self, path: Path) -> None:
        """Write a full copy while the service runs."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Close all connections."""
