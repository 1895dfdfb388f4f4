"""The table that `replay` and `regret` work on: read from its file, its arms selected, every value checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turncoat.cli.console import counted
from turncoat.environments.table import check_values
from turncoat.environments.table_files import TableFile, open_table
from turncoat.errors import OptionError, TableError
from turncoat.types import Matrix

if TYPE_CHECKING:
    from turncoat.cli.table_commands import TableOptions

SOME_ARMS = 8  # so many are listed


class Values(NamedTuple):
    """The values of the file: one column per arm, one row per round, in the file's units."""

    file: TableFile
    arms: list[str]
    table: Matrix
    rewards: bool

    @property
    def losses(self) -> Matrix:
        """The table as losses: rewards with their sign changed."""
        return -self.table if self.rewards else self.table

    @property
    def kind(self) -> str:
        """What the numbers are."""
        return "reward" if self.rewards else "loss"

    def total(self, loss: float) -> float:
        """A total of `losses`, in the table's units."""
        return 0.0 - float(loss) if self.rewards else float(loss)

    def describe(self) -> str:
        """One line about the table."""
        arms = ", ".join(self.arms[:SOME_ARMS]) + (", …" if len(self.arms) > SOME_ARMS else "")
        kinds = "rewards" if self.rewards else "losses"
        return f"{self.file.path.name}: {kinds} of {counted(len(self.arms), 'arm')} ({arms}) over " + counted(
            len(self.table), "round"
        )


def read_values(options: TableOptions, *, other: Sequence[str] = ()) -> Values:
    """The arms' columns of the file, in its first rows; the columns in `other` are no arms."""
    file = open_table(options.path, header=options.header)
    dropped = options.drop or []
    for names in (dropped, options.columns or [], other):
        file.check_names(names)
    arms = [name for name in options.columns or file.names if name not in {*dropped, *other}]
    if len(arms) < 2:
        raise TableError(
            f"{file.path} has {counted(len(arms), 'column')} of arms{''.join(map(' {!r}'.format, arms))}; "
            "accepted are two or more, each with the numbers of its arm in every round, chosen or not"
        )
    if options.horizon is not None and file.n_rows:
        if options.horizon > file.n_rows:
            raise OptionError(
                f"--horizon is {options.horizon}; accepted are 1 to {file.n_rows}, the rows of {file.path}"
            )
        file = file.first(options.horizon)
    try:
        values = Values(file, arms, file.numbers(arms), options.rewards)
    except TableError as problem:
        raise TableError(f"{problem}; --columns and --drop say which columns are arms") from None
    _check(values, options.scale)
    return values


def _check(values: Values, scale: tuple[float, float] | None) -> None:
    """Refuse values outside the scale, and such that their sums could leave the range of a float64."""
    largest = float(np.finfo(np.float64).max) / (4 * len(values.table))
    low, high = (-largest, largest) if scale is None else (max(scale[0], -largest), min(scale[1], largest))
    check_values(values.table, values.arms, (low, high), rewards=values.rewards, place=values.file.place)
