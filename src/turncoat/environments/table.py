"""Table: losses given in advance, one row per round and one column per arm.

Losses in [0, 1] stay as they are. Others are put on that scale: with `loss_range` (lo, hi)

    loss = (value - lo)/(hi - lo),  or (hi - value)/(hi - lo) where the table holds rewards

A table has no noise, so its losses are their own means, and no planted path.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.games import register_environment
from turncoat._compile.jit import jit_rule
from turncoat.environments.environment import Environment
from turncoat.environments.table_files import TableFile, open_csv, open_parquet
from turncoat.errors import TableError
from turncoat.types import Label, Matrix
from turncoat.validation.games import parse_range
from turncoat.validation.tables import as_table

_ROWS_AT_ONCE = 1 << 16


class TableGame(NamedTuple):
    """The losses themselves."""

    losses: Matrix


@jit_rule
def loss_of(game: TableGame, t: int, arm: int) -> float:
    """The entry in row t, column arm."""
    return float(game.losses[t, arm])


register_environment(TableGame, loss_of=loss_of)


def as_losses(losses: ArrayLike) -> Matrix:
    """The losses as a (rounds, arms) array compiled code can read; their values are not looked at."""
    return np.ascontiguousarray(as_table(losses), dtype=np.float64)


class Table(Environment):
    """A game over a (rounds, arms) array of losses, or of `rewards`, within `loss_range`; `arms` names its columns.

    All values are checked once, here. An array of losses in [0, 1] is not copied: leave it alone while it is in use.
    """

    name = "table"
    n_switches = None

    def __init__(
        self,
        losses: ArrayLike,
        *,
        arms: Sequence[Label] | None = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        rewards: bool = False,
    ) -> None:
        values = as_losses(losses)
        self.horizon, self.n_arms = values.shape
        self.arms: list[Label] = list(range(self.n_arms)) if arms is None else list(arms)
        if len(self.arms) != self.n_arms:
            raise TableError(f"arms are {self.arms!r}; accepted is one name for each of the {self.n_arms} columns")
        low, high = parse_range(loss_range)
        check_values(values, self.arms, (low, high), rewards=rewards)
        if rewards:
            values = (high - values) / (high - low)
        elif (low, high) != (0.0, 1.0):
            values = (values - low) / (high - low)
        self.game = TableGame(values)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        header: bool = True,
        loss_range: Sequence[float] = (0.0, 1.0),
        rewards: bool = False,
    ) -> Self:
        """A table from a CSV file: one column per arm, named in the `header`, a row per round; `columns` picks some."""
        return cls._from_file(open_csv(path, header=header), columns, loss_range, rewards)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        rewards: bool = False,
    ) -> Self:
        """A table from a Parquet file: one column per arm, one row per round. `columns` picks some of them."""
        return cls._from_file(open_parquet(path), columns, loss_range, rewards)

    @classmethod
    def _from_file(
        cls, file: TableFile, columns: Sequence[str] | None, loss_range: Sequence[float], rewards: bool
    ) -> Self:
        arms = file.names if columns is None else list(columns)
        values = file.numbers(arms)
        check_values(values, arms, parse_range(loss_range), rewards=rewards, place=file.place)
        return cls(values, arms=arms, loss_range=loss_range, rewards=rewards)

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that identify this table: its shape, and a hash of its losses."""
        digest = hashlib.sha256(self.game.losses.astype("<f8", copy=False)).hexdigest()
        return {**super().fields(), "sha256": digest}


def _row(row: int) -> str:
    return f"row {row}"


def check_values(
    values: Matrix,
    arms: Sequence[Label],
    loss_range: tuple[float, float],
    *,
    rewards: bool = False,
    place: Callable[[int], str] = _row,
) -> None:
    """Refuse the first value that is NaN or outside the range; `place` says where a row, counted from 0, stands."""
    low, high = loss_range
    for start in range(0, len(values), _ROWS_AT_ONCE):
        rows = values[start : start + _ROWS_AT_ONCE]
        wrong = ~((rows >= low) & (rows <= high))  # NaN is neither
        if wrong.any():
            i, arm = np.argwhere(wrong)[0]
            kind, kinds = ("reward", "rewards") if rewards else ("loss", "losses")
            raise TableError(
                f"the {kind} in {place(start + int(i))}, column {arms[arm]!r} is {float(rows[i, arm])!r}; "
                f"accepted are {kinds} from {low:g} to {high:g}"
            )
