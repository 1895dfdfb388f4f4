"""The commands `replay` and `regret`, which read a table from a file, and their options. Light to import."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from turncoat.cli import options
from turncoat.cli.options import whole_number


class TableOptions(NamedTuple):
    """Which columns and rows of a file to read, and what its numbers are."""

    path: Path
    rewards: bool
    scale: tuple[float, float] | None  # the least and the largest value there can be
    columns: list[str] | None  # all
    drop: list[str] | None  # none
    header: bool
    horizon: int | None  # the first rows only


def _names(context: click.Context, option: click.Parameter, typed: tuple[str, ...]) -> list[str] | None:
    """Comma-separated names, over one or more options; a name that contains a comma is in double quotes."""
    found = []
    for words in typed:
        names = [name.strip() for name in next(csv.reader([words], skipinitialspace=True), [])]
        if not names or not all(names):
            raise click.BadParameter(f"{words!r} is not a list of columns; accepted are names with commas between them")
        found += names
    return found or None


def _scale(context: click.Context, option: click.Parameter, typed: tuple[float, float] | None) -> Any:
    """Two finite numbers, the lower one first."""
    if typed is not None and not (typed[0] < typed[1] and math.isfinite(typed[1] - typed[0])):
        raise click.BadParameter(
            f"{typed[0]:g} {typed[1]:g} is no range; accepted are two numbers, the lower one first"
        )
    return typed


_TABLE_OPTIONS = [
    click.argument("path", metavar="FILE", type=click.Path(path_type=Path)),
    click.option("--rewards", is_flag=True, help="The columns hold rewards (higher is better), not losses."),
    click.option(
        "--range",
        "scale",
        type=float,
        nargs=2,
        metavar="LO HI",
        callback=_scale,
        help="Smallest and largest possible value; values outside are refused.",
    ),
    click.option(
        "--columns", multiple=True, metavar="A,B,…", callback=_names, help="Columns that are arms; by default all."
    ),
    click.option(
        "--drop", multiple=True, metavar="A,B,…", callback=_names, help="Columns that are not arms: times, ids, …"
    ),
    click.option("--no-header", "header", flag_value=False, default=True, help="The CSV file has no header line."),
    click.option(
        "--horizon", callback=whole_number, metavar="ROUNDS", show_default="all", help="Use only the first ROUNDS rows."
    ),
]

_max_switches = options.number("--max-switches", "Compare with paths of at most N switches.", default=8)


def takes_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the FILE argument and its options, as one TableOptions."""

    @functools.wraps(command)
    def with_table(**words: Any) -> None:
        table = TableOptions(**{field: words.pop(field) for field in TableOptions._fields})
        command(table, **words)

    for option in reversed(_TABLE_OPTIONS):
        with_table = option(with_table)
    return with_table


@click.command()
@takes_table
@options.learners("six")
@options.seeds
@options.seed
@_max_switches
@click.option("--folder", type=click.Path(path_type=Path), help="Save games here; resume from those saved.")
@options.engine
@options.workers
@options.as_json
def replay(table: TableOptions, learners: tuple[str, ...], as_json: bool, **racing: Any) -> None:
    """Run learners over your own losses or rewards.

    FILE is a table in a CSV or Parquet file: one column per arm, one row per round, numbers on any scale. In each round
    a learner picks a column and sees that number alone; those whose name says "sees all" see the whole row. The
    leaderboard is in the table's own units: the total of each learner, and its regret, which is how much better the
    best path with S switches did in hindsight (S = 0 is the best single arm).

    Learners need the range of the values. Without --range it is taken from the table: a small cheat, as an online
    learner could not know it.

    \b
    Examples:
      turncoat replay latency.csv --drop time
      turncoat replay revenue.parquet --rewards --range 0 100 --columns a,b,c
      turncoat replay latency.csv -l turncoat -l exp3.s -l exp3
    """
    from turncoat.cli.replay import run_replay

    run_replay(table, learners, as_json, **racing)


@click.command()
@takes_table
@click.option("--choice", metavar="COLUMN", help="The column that holds the arm chosen in each round.")
@_max_switches
@click.option("--path", "n_switches", type=click.IntRange(0), metavar="S", help="Show the best path with S switches.")
@options.as_json
def regret(table: TableOptions, choice: str | None, max_switches: int, n_switches: int | None, as_json: bool) -> None:
    """Measure the exact S-switch regret of choices you recorded.

    FILE is a table in a CSV or Parquet file: one column per arm, one row per round, numbers on any scale, and one
    more column, COLUMN, with the chosen arms: names of columns, or 0 for the first arm, 1 for the second, … The regret
    against S is how much better the best path with at most S switches did in hindsight. It is exact, for every S up to
    --max-switches.

    Every arm's number is needed in every row, not only the chosen arm's. Without --choice, only the best paths are
    shown.

    \b
    Examples:
      turncoat regret log.csv --choice picked --drop time
      turncoat regret log.csv --choice picked --rewards --path 3
    """
    from turncoat.cli.regret import show_regret

    show_regret(table, choice, max_switches, n_switches, as_json)
