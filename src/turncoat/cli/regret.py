"""`turncoat regret`: the exact regret of recorded choices against the best paths, in the table's units."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from rich.table import Table

from turncoat.cli.console import counted, plain_table, right, screen, text, writer
from turncoat.cli.table_input import Values, read_values
from turncoat.errors import TableError
from turncoat.regret import best_switching_losses, best_switching_path, switching_regret
from turncoat.types import Ints

if TYPE_CHECKING:
    from turncoat.cli.table_commands import TableOptions
    from turncoat.environments.table_files import TableFile


class Choices(NamedTuple):
    """The arms that were chosen, one per round."""

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
    """All that is printed."""

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


def print_regret(found: Found) -> None:
    """Print what was chosen, how the best paths did, and one of those paths if it is wanted."""
    console = screen()
    values, choices = found.values, found.choices
    total = writer([*found.best, found.total or 0.0])
    console.print(values.describe())
    if choices is not None and found.total is not None:
        switches = counted(choices.n_switches, "switch", "switches")
        read = "names of columns" if choices.read_as == "names" else "indices, 0 being the first arm"
        said = f"{switches}, total {values.kind} {total(found.total)}"
        console.print(f"choices: column {choices.column}, read as {read}; {said}")
        if choices.doubtful:
            console.print("note: they could also be indices, of other arms; names come first", style="yellow")
    console.print()
    console.print(_frontier(found))
    console.print()
    best, beyond = ("largest", "below") if values.rewards else ("least", "above")
    console.print(f"best path: the {best} total of any sequence of arms with at most S switches, in the table's units")
    if choices is not None:
        console.print(f"regret: the total of the choices {beyond} that; less is better")
    if found.path is not None:
        console.print()
        console.print(f"The best path with at most {counted(found.n_switches or 0, 'switch', 'switches')}")
        console.print()
        console.print(_segments(found.path, values.kind))
        console.print()
        console.print(f"rows are counted from 1{', below the header' if values.file.header else ''}")


def _frontier(found: Found) -> Table:
    """One row for each number of switches."""
    total, regret = writer(found.best), writer(found.regret or [])
    table = plain_table(*right("S", "best path", *(["regret"] if found.regret else [])))
    for S, best in enumerate(found.best):
        table.add_row(f"{S:,}", total(best), *([regret(found.regret[S])] if found.regret else []))
    return table


def _segments(path: list[Segment], kind: str) -> Table:
    """One row per segment."""
    total, regret = writer(segment.total for segment in path), writer(segment.regret or 0.0 for segment in path)
    sums = [kind] if path[0].regret is None else [kind, "regret here"]
    table = plain_table(*right("from row", "to row"), text("arm"), *right(*sums))
    for first, last, arm, sum_here, regret_here in path:
        row = f"{first:,}", f"{last:,}", arm, total(sum_here)
        table.add_row(*row, *([] if regret_here is None else [regret(regret_here)]))
    return table
