"""Leaderboards for the terminal: one row per learner, one column per environment, in as many tables as the width needs.

By default only the best dozen learners of each group; with more than a dozen games, only the best learner of each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.table import Column, Table

from turncoat.cli.console import plain_table, text
from turncoat.learners.entries import BANDIT, TOP_N, by_feedback_group, feedback_group
from turncoat.racing import Result

GAP = 2  # blanks after every column …
RULE = 1  # … and one between them
MOST_GAMES = 12  # that have a column each
SEERS = "learners that see more than one loss per round are listed below, by feedback: they are ranked among themselves"


class Numbers(NamedTuple):
    """A heading, and what stands below it for each learner."""

    head: str
    cells: dict[str, str]

    @property
    def width(self) -> int:
        """Characters, the gap to the next one included."""
        return max(map(cell_len, (self.head, *self.cells.values())), default=0) + GAP + RULE


class Board(NamedTuple):
    """The tables of a result, and how many learners they leave out."""

    tables: list[Table]
    n_left_out: int


def boards(result: Result, width: int, *, everyone: bool = False) -> Board:
    """The columns, in as many tables as it takes to fit this width."""
    overall = result.overall()
    groups = by_feedback_group(overall["learner"], result.names.settings)
    shown = {group: names if everyone else names[:TOP_N] for group, names in groups.items()}
    n_left_out = overall.height - sum(map(len, shown.values()))
    columns = [
        Numbers("mean rank", {row["learner"]: _number(row, "mean_rank", 1) for row in overall.iter_rows(named=True)}),
        Numbers("ns/round", {row["learner"]: f"{row['ns_per_round']:,.0f}" for row in overall.iter_rows(named=True)}),
    ]
    many = len(result.names.environments) > MOST_GAMES and not everyone
    if not many:
        columns += _regrets(result)
    names = [cell_len(learner) for learners in shown.values() for learner in learners]
    room = width - max(names, default=0)  # the last column needs no gap, the names do
    tables = [_table(shown, some) for some in _fitting(columns, room)]
    return Board([*tables, _winners(result)] if many else tables, n_left_out)


def _winners(result: Result) -> Table:
    """The learner of least regret in each game, among those that see one loss per round."""
    least = Column("least regret", justify="right", no_wrap=True)
    table = plain_table(Column("environment", no_wrap=True), least, text("of"), gap=GAP)
    for (environment,), board in result.leaderboard().group_by("environment", maintain_order=True):
        bandits = (row for row in board.iter_rows(named=True) if feedback_group(row["setting"]) == BANDIT)
        best = [row for row in bandits if row["rank"] == 1] or [board.row(0, named=True)]
        others = f" and {len(best) - 1} more" if len(best) > 1 else ""
        table.add_row(str(environment), _number(best[0], "regret", 0), best[0]["learner"] + others)
    return table


def _regrets(result: Result) -> list[Numbers]:
    """Regret and its interval in every environment; a star for the best."""
    columns = []
    for (environment,), board in result.leaderboard().group_by("environment", maintain_order=True):
        cells = {
            row["learner"]: ("*" if row["rank"] == 1 else "") + _number(row, "regret", 0)
            for row in board.iter_rows(named=True)
        }
        columns.append(Numbers(str(environment), cells))
    return columns


def _number(row: dict[str, Any], name: str, digits: int) -> str:
    """`1,234 ± 56`, or the number alone where there is no interval."""
    if row[name] is None:
        return "–"
    half = "" if row["low"] is None else f" ± {(row['high'] - row['low']) / 2:,.{digits}f}"
    return f"{row[name]:,.{digits}f}{half}"


def _fitting(columns: list[Numbers], room: int) -> list[list[Numbers]]:
    """The columns in groups, each as wide as there is room for, and at least one."""
    groups: list[list[Numbers]] = []
    left = 0
    for column in columns:
        if not groups or column.width > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= column.width
    return groups


def _table(shown: dict[str, list[str]], columns: list[Numbers]) -> Table:
    """The learners, and below a line with their group those that see more."""
    numbers = [Column(column.head, justify="right", no_wrap=True) for column in columns]
    table = plain_table(text("learner"), *numbers, gap=GAP)  # where there is too little room, names give way
    for group, learners in shown.items():
        if group != BANDIT:
            table.add_section()
            table.add_row(f"{group}:", style="dim")
        for learner in learners:
            table.add_row(learner, *(column.cells.get(learner, "–") for column in columns))
    return table
