"""`turncoat regret`: how much better the best paths did than recorded choices, exactly, in the table's units."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from turncoat.cli.regret_board import print_regret
from turncoat.cli.table_input import Values, read_values
from turncoat.errors import TableError
from turncoat.regret import best_switching_losses, best_switching_path, switching_regret
from turncoat.types import Ints

if TYPE_CHECKING:
    from turncoat.cli.table_commands import TableOptions
    from turncoat.environments.table_files import TableFile


class Choices(NamedTuple):
    """The arms that were chosen, one a round."""

    column: str
    arms: Ints
    read_as: str  # "names" of columns, or "indices"
    doubtful: bool  # the other reading was possible, and says something else

    @property
    def n_switches(self) -> int:
        """How often the choice changed."""
        return int(np.count_nonzero(np.diff(self.arms)))


class Segment(NamedTuple):
    """A stretch of a path on one arm; rows are counted from 1, both ends belong to it."""

    first: int
    last: int
    arm: str
    total: float
    regret: float | None  # of the choices, here


class Found(NamedTuple):
    """All there is to tell."""

    values: Values
    choices: Choices | None
    total: float | None  # of the choices
    best: list[float]  # totals of the best paths with 0, 1, … switches
    regret: list[float] | None  # of the choices, against those
    n_switches: int | None  # of the path that is shown, at most
    path: list[Segment] | None


def show_regret(
    options: TableOptions, choice: str | None, max_switches: int, n_switches: int | None, as_json: bool
) -> None:
    """Measure, and print."""
    values = read_values(options, other=[] if choice is None else [choice])
    choices = None if choice is None else read_choices(values.file, choice, values.arms)
    found = measure(values, choices, min(max_switches, len(values.table) - 1), n_switches)
    if as_json:
        print(json.dumps(as_object(found), allow_nan=False))
    else:
        print_regret(found)


def read_choices(file: TableFile, column: str, arms: list[str]) -> Choices:
    """The chosen arms: names of columns if all of them are, otherwise indices."""
    words = file.labels(column)
    as_names = words.replace_strict({arm: i for i, arm in enumerate(arms)}, default=None, return_dtype=pl.Int64)
    numbers = words.cast(pl.Float64, strict=False)
    is_index = (numbers == numbers.floor()) & (numbers >= 0) & (numbers < len(arms))
    as_indices = pl.select(pl.when(is_index).then(numbers)).to_series().cast(pl.Int64)
    if not as_names.has_nulls():
        doubtful = not as_indices.has_nulls() and not as_indices.equals(as_names)
        return Choices(column, as_names.to_numpy(), "names", doubtful)
    if not as_indices.has_nulls():
        return Choices(column, as_indices.to_numpy(), "indices", False)
    meant = as_names if as_names.null_count() < len(words) else as_indices
    raise _no_arm(file, words, int(meant.is_null().arg_true()[0]), arms)


def _no_arm(file: TableFile, words: pl.Series, row: int, arms: list[str]) -> TableError:
    named = ", ".join(map(repr, arms[:12])) + (", …" if len(arms) > 12 else "")
    return TableError(
        f"the choice in {file.place(row)}, column {words.name!r} is {words[row]!r}; accepted are the names of the arms "
        f"({named}), or indices from 0 to {len(arms) - 1}, and one of the two in all rows"
    )


def measure(values: Values, choices: Choices | None, max_switches: int, n_switches: int | None) -> Found:
    """Totals and regrets, added up in the table's own units: nothing is scaled, so nothing is rounded by that."""
    losses = values.losses
    best = best_switching_losses(losses, max_switches)
    total = regret = None
    if choices is not None:
        regret = switching_regret(losses, choices.arms, max_switches).tolist()
        total = values.total(np.add.accumulate(losses[np.arange(len(losses)), choices.arms])[-1])
    path = None if n_switches is None else segments(values, best_switching_path(losses, n_switches), choices)
    return Found(values, choices, total, [values.total(loss) for loss in best], regret, n_switches, path)


def segments(values: Values, path: Ints, choices: Choices | None) -> list[Segment]:
    """A path, stretch by stretch; totals are added up round by round, as everywhere."""
    losses, rows = values.losses, np.arange(len(path))
    lost, starts = losses[rows, path], np.flatnonzero(np.diff(path, prepend=-1))
    found = []
    for start, stop in pairwise([*starts.tolist(), len(path)]):
        total = np.add.accumulate(lost[start:stop])[-1]
        regret = None
        if choices is not None:
            regret = float(np.add.accumulate(losses[rows[start:stop], choices.arms[start:stop]])[-1] - total)
        found.append(Segment(start + 1, stop, values.arms[path[start]], values.total(total), regret))
    return found


def as_object(found: Found) -> dict[str, Any]:
    """What --json prints; docs/replay.md explains the keys."""
    values, choices = found.values, found.choices
    return {
        "file": str(values.file.path),
        "rounds": len(values.table),
        "arms": values.arms,
        "rewards": values.rewards,
        "choice": choices
        and {
            "column": choices.column,
            "read_as": choices.read_as,
            "switches": choices.n_switches,
            "total": found.total,
        },
        "switches": list(range(len(found.best))),
        "best": found.best,
        "regret": found.regret,
        "path": None
        if found.path is None
        else {"switches": found.n_switches, "segments": [segment._asdict() for segment in found.path]},
    }
