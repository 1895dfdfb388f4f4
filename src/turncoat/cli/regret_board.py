"""What `turncoat regret` prints: the best path for every number of switches, and one path segment by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from turncoat.cli.console import plain_table, screen
from turncoat.cli.numbers import counted, writer

if TYPE_CHECKING:
    from turncoat.cli.regret import Found, Segment


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
    table = plain_table()
    for name in ("S", "best path", *(["regret"] if found.regret else [])):
        table.add_column(name, justify="right")
    for S, best in enumerate(found.best):
        table.add_row(f"{S:,}", total(best), *([regret(found.regret[S])] if found.regret else []))
    return table


def _segments(path: list[Segment], kind: str) -> Table:
    """One row a segment."""
    total, regret = writer(segment.total for segment in path), writer(segment.regret or 0.0 for segment in path)
    measured = path[0].regret is not None
    table = plain_table()
    for name in ("from row", "to row"):
        table.add_column(name, justify="right")
    table.add_column("arm", overflow="fold")
    for name in (kind, *(["regret here"] if measured else [])):
        table.add_column(name, justify="right")
    for first, last, arm, sum_here, regret_here in path:
        row = f"{first:,}", f"{last:,}", arm, total(sum_here)
        table.add_row(*row, *([] if regret_here is None else [regret(regret_here)]))
    return table
