"""Leaderboards for the terminal: a row a learner, a column an environment, as many columns as there is room for.

Unless everyone is asked for, the best dozen of each league; and of more than a dozen games, who was best in each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.table import Table

from turncoat.cli.console import plain_table
from turncoat.racing import BANDIT, FRONT, Result, in_leagues, league_of

GAP = 2  # blanks after every column …
RULE = 1  # … and one between them
MOST_GAMES = 12  # that have a column each
SEERS = "below, by what they see, stand learners that see more than one loss a round: they are ranked among themselves"


class Column(NamedTuple):
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
    leagues = in_leagues(overall["learner"], result.names.settings)
    shown = {league: names if everyone else names[:FRONT] for league, names in leagues.items()}
    n_left_out = overall.height - sum(map(len, shown.values()))
    columns = [
        Column("mean rank", {row["learner"]: _number(row, "mean_rank", 1) for row in overall.iter_rows(named=True)}),
        Column("ns/round", {row["learner"]: f"{row['ns_per_round']:,.0f}" for row in overall.iter_rows(named=True)}),
    ]
    many = len(result.names.environments) > MOST_GAMES and not everyone
    if not many:
        columns += _regrets(result)
    names = [cell_len(learner) for learners in shown.values() for learner in learners]
    room = width - max(names, default=0)  # the last column needs no gap, the names do
    tables = [_table(shown, some) for some in _fitting(columns, room)]
    return Board([*tables, _winners(result)] if many else tables, n_left_out)


def _winners(result: Result) -> Table:
    """Who had the least regret in each game, among those that see one loss a round."""
    table = plain_table(GAP)
    table.add_column("environment", no_wrap=True)
    table.add_column("least regret", justify="right", no_wrap=True)
    table.add_column("of", overflow="fold")
    for (environment,), board in result.leaderboard().group_by("environment", maintain_order=True):
        bandits = (row for row in board.iter_rows(named=True) if league_of(row["setting"]) == BANDIT)
        best = [row for row in bandits if row["rank"] == 1] or [board.row(0, named=True)]
        others = f" and {len(best) - 1} more" if len(best) > 1 else ""
        table.add_row(str(environment), _number(best[0], "regret", 0), best[0]["learner"] + others)
    return table


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


def _table(shown: dict[str, list[str]], columns: list[Column]) -> Table:
    """The learners, and below a line with their league those that see more."""
    table = plain_table(GAP)
    table.add_column("learner", overflow="fold")  # where there is too little room, names give way
    for column in columns:
        table.add_column(column.head, justify="right", no_wrap=True)
    for league, learners in shown.items():
        if league != BANDIT:
            table.add_section()
            table.add_row(f"{league}:", style="dim")
        for learner in learners:
            table.add_row(learner, *(column.cells.get(learner, "–") for column in columns))
    return table
