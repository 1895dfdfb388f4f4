"""What a store can do. Two do it: SQLite inside this process, PostgreSQL for many.

SQL is plain and written once, next to what it is for: `:name` for a value, `IN :names` for a list of values. What the
two write differently (many rows at once, "only if new", locks) has a verb here instead. Every finite double comes back
bit for bit, but for the sign of -0.0, which SQLite drops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from turncoat.errors import TurncoatError

T = TypeVar("T")

Row = tuple[Any, ...]
Later: TypeAlias = Callable[[], T]  # an answer under way, to be called for when it is needed


class StoreError(TurncoatError, RuntimeError):
    """The store cannot be used as it is: another program's, a newer version's, or damaged."""


class StoreDown(StoreError):
    """The store cannot be reached or written now; nothing of the transaction was kept, as far as can be known."""


class Raced(StoreError):
    """Somebody else was a moment faster, or two waited for each other: the same again will do."""


class Session(Protocol):
    """A transaction."""

    def send(self, sql: str, **values: Any) -> Later[list[Row]]:
        """A statement; what it finds, later. Whoever has something else to send meanwhile saves a trip."""

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """What a query finds, now."""

    def run(self, sql: str, **values: Any) -> int:
        """Do it; how many rows it touched."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows. If one is there already somebody else was faster: Raced, now or when next something is read."""

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row], *, key: int) -> set[Row]:
        """Add those whose first `key` columns are not there yet, and say which those were (by these columns).

        Nobody else's row can slip in between: it waits for transactions that are adding the same one.
        """

    def update(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Set the other columns of the rows whose first column is the first value."""

    def add_up(self, table: str, keys: Sequence[str], sums: Sequence[str], rows: Sequence[Row]) -> None:
        """Add to the sums of the row with these keys; where there is none, it is made. No two rows have the same."""

    def lock_experiment(self, experiment: int, *, wait: bool = False) -> Later[int | None]:
        """Keep everyone else from changing it until the transaction ends; its version. None: somebody has it now."""

    def lock_everything(self) -> None:
        """Keep everyone else from changing settings until the transaction ends."""


class Store(Protocol):
    """A database with our tables."""

    @property
    def shared(self) -> bool:
        """Whether other processes may write to it too."""

    def transaction(self) -> AbstractContextManager[Session]:
        """All of it or nothing: committed, to the disk, when the block ends; forgotten when it raises."""

    def reading(self) -> AbstractContextManager[Session]:
        """Look, from any thread, without holding up who writes."""

    def tidy(self) -> None:
        """Make room quickly for what goes through the inbox; to be called every few seconds."""

    def backup(self, path: Path) -> None:
        """Write a whole copy, while everything goes on."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Let go of it."""
