"""The leaderboard of `turncoat replay`, as wide as the terminal and no wider."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from turncoat.cli.console import plain_table, screen
from turncoat.cli.leaderboard import SEERS
from turncoat.cli.numbers import counted, writer
from turncoat.racing import BANDIT, league_of

if TYPE_CHECKING:
    from turncoat.cli.replay import Outcome
    from turncoat.cli.table_commands import TableOptions


def print_board(outcome: Outcome, beliefs: list[str]) -> None:
    """Print what was raced over, how the learners did, and how the best paths did."""
    console = screen()
    values = outcome.values
    console.print(values.describe())
    low, high = (f"{end:,.10g}" for end in outcome.scale)
    if outcome.options.scale is not None:
        console.print(f"scale: {low} to {high}, as given")
    else:
        console.print(
            f"scale: {low} to {high}, the least and the largest value of the table. Learners were told this in "
            "hindsight, a small cheat that nobody online can do; --range LO HI sets a scale that is known beforehand."
        )
    console.print()
    console.print(fitting_board(outcome, console))
    console.print()
    if any(league_of(standing.setting) != BANDIT for standing in outcome.standings):
        console.print(SEERS)
    better, beyond = ("more", "below") if values.rewards else ("less", "above")
    interval = ", with a 95 % interval over seeds (the learners' own luck)" if outcome.seeds > 1 else ""
    console.print(f"total {values.kind}: in the table's units, {better} is better{interval}")
    console.print(
        f"S=…: regret, the total {beyond} that of the best path with at most S switches in hindsight; less is better, "
        "and negative is better than that path"
    )
    for note in outcome.notes:
        console.print(f"note: {note}", style="yellow")
    for belief in beliefs:
        console.print(belief)
    console.print(f"what the best paths look like:  {path_command(outcome.options)}", soft_wrap=True)


def path_command(options: TableOptions) -> str:
    """How to see the best path of the same rows and columns."""
    words = ["turncoat", "regret", str(options.path)]
    for option, names in (("--columns", options.columns), ("--drop", options.drop)):
        if names:
            words += [option, ",".join(f'"{name}"' if "," in name else name for name in names)]
    words += ["--rewards"] * options.rewards + ["--no-header"] * (not options.header)
    words += [] if options.horizon is None else ["--horizon", str(options.horizon)]
    return shlex.join([*words, "--path", "2"])


def fitting_board(outcome: Outcome, console: Console) -> Table:
    """The board with as many numbers of switches as there is room for; the first and the last stay longest."""
    shown = some_switches(len(outcome.best) - 1)
    unlimited = console.options.update_width(10_000)
    while True:
        table = board(outcome, shown)
        if len(shown) <= 1 or console.measure(table, options=unlimited).maximum <= console.width:
            return table
        shown = shown[:-2] + shown[-1:] if len(shown) > 2 else shown[:1]


def some_switches(most: int) -> list[int]:
    """0, 1, 2, 4, … and the most."""
    return sorted({0, *(1 << i for i in range(most.bit_length())), most})  # the last power of two is at most the most


def board(outcome: Outcome, shown: list[int]) -> Table:
    """One row a learner, those that see more below a line with their league; then one for each of the best paths."""
    best, standings = outcome.best, outcome.standings
    sign = -1.0 if outcome.values.rewards else 1.0
    between = {S: [sign * (best[S] - best[other]) for other in shown] for S in some_switches(len(best) - 1)}
    total = writer([*(standing.total for standing in standings), *best])
    regret = writer(
        [*(standing.regret[S] for standing in standings for S in shown), *(r for row in between.values() for r in row)]
    )
    table = plain_table(gap=1)
    table.add_column("#", justify="right")
    table.add_column("learner", overflow="fold")
    table.add_column(f"total {outcome.values.kind}", justify="right")
    for S in shown:
        table.add_column(f"S={S}", justify="right")
    league = BANDIT
    for rank, learner, setting, mean, half, regrets in standings:
        if league_of(setting) != league:
            league = league_of(setting)
            table.add_section()
            table.add_row("", f"{league}:", style="dim")
        figure = total(mean) if half is None else f"{total(mean)} ± {total(half)}"
        table.add_row(str(rank), learner, figure, *(regret(regrets[S]) for S in shown))
    table.add_section()
    for S, regrets in between.items():
        name = f"best path, {counted(S, 'switch', 'switches')}" if S else f"best single arm: {outcome.best_arm}"
        table.add_row("", name, total(best[S]), *map(regret, regrets))
    return table
