"""Leaderboards for the terminal: a row a learner, a column an environment, as many columns as there is room for."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.table import Table

from turncoat.cli.screen import plain_table
from turncoat.race import Result

GAP = 2  # blanks after every column …
RULE = 1  # … and one between them


class Column(NamedTuple):
    """A heading, and what stands below it for each learner."""

    head: str
    cells: dict[str, str]

    @property
    def width(self) -> int:
        """Characters, the gap to the next one included."""
        return max(map(cell_len, (self.head, *self.cells.values())), default=0) + GAP + RULE


def boards(result: Result, width: int) -> list[Table]:
    """All the columns, in as many tables as it takes to fit this width."""
    overall = result.overall()
    learners = overall["learner"].to_list()
    columns = [
        Column("mean rank", {row["learner"]: _number(row, "mean_rank", 1) for row in overall.iter_rows(named=True)}),
        Column("ns/round", {row["learner"]: f"{row['ns_per_round']:,.0f}" for row in overall.iter_rows(named=True)}),
        *_regrets(result),
    ]
    room = width - max(map(cell_len, learners), default=0)  # the last column needs no gap, the names do
    return [_table(learners, some) for some in _fitting(columns, room)]


def _regrets(result: Result) -> list[Column]:
    """Regret and its interval in every environment; a star for the best."""
    columns = []
    for (environment,), board in result.leaderboard().group_by("environment", maintain_order=True):
        cells = {
            row["learner"]: ("*" if row["rank"] == 1 else "") + _number(row, "regret", 0)
            for row in board.iter_rows(named=True)
        }
        columns.append(Column(str(environment), cells))
    return columns


def _number(row: dict[str, Any], name: str, digits: int) -> str:
    """`1,234 ± 56`, or the number alone where there is no interval."""
    if row[name] is None:
        return "–"
    half = "" if row["low"] is None else f" ± {(row['high'] - row['low']) / 2:,.{digits}f}"
    return f"{row[name]:,.{digits}f}{half}"


def _fitting(columns: list[Column], room: int) -> list[list[Column]]:
    """The columns in groups, each as wide as there is room for, and at least one."""
    groups: list[list[Column]] = []
    left = 0
    for column in columns:
        if not groups or column.width > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= column.width
    return groups


def _table(learners: list[str], columns: list[Column]) -> Table:
    table = plain_table(GAP)
    table.add_column("learner", overflow="fold")  # where there is too little room, names give way
    for column in columns:
        table.add_column(column.head, justify="right", no_wrap=True)
    for learner in learners:
        table.add_row(learner, *(column.cells.get(learner, "–") for column in columns))
    return table
