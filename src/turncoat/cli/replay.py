"""`turncoat replay`: a race over a user's table of losses or rewards, with a leaderboard in the table's units.

The race is run on losses in [0, 1]. Back in the table's units, over T rounds and with the scale lo to hi:

    total  = lo·T + (hi - lo)·loss, or hi·T - (hi - lo)·loss of rewards
    regret = (hi - lo)·(loss - L*(S))
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from turncoat.cli.console import counted, plain_table, right, screen, text, writer
from turncoat.cli.leaderboard import SEERS
from turncoat.cli.progress import watched_race
from turncoat.cli.table_input import Values, read_values
from turncoat.environments import Table
from turncoat.errors import TableError
from turncoat.learners.entries import BANDIT, FEW, Told, entry, feedback_group
from turncoat.racing import Result
from turncoat.regret import best_switching_losses
from turncoat.types import Vector

if TYPE_CHECKING:
    from turncoat.cli.table_commands import TableOptions

MOST_TOLD = 6  # switches that a learner is said to have believed in


class Standing(NamedTuple):
    """How a learner did, in the table's units."""

    rank: int
    learner: str
    setting: str  # what it sees: ranks are among those that see the same
    total: float  # in mean over the seeds
    margin: float | None  # half of its 95 % interval
    regret: list[float]  # against the best paths with 0, 1, … switches


class Outcome(NamedTuple):
    """All that is printed."""

    options: TableOptions
    values: Values
    scale: tuple[float, float]
    seeds: int
    seed: int
    best: list[float]  # totals of the best paths with 0, 1, … switches
    best_arm: str
    standings: list[Standing]
    notes: list[str]


def run_replay(options: TableOptions, learners: Iterable[str], as_json: bool, **racing: Any) -> None:
    """Race the learners over the table and print how they did."""
    makers = {name: entry(name) for name in learners or FEW}
    values = read_values(options)
    scale = options.scale or _own_scale(values)
    table = Table(values.table, arms=values.arms, loss_range=scale, rewards=values.rewards)
    name = values.file.path.name
    result, notes = watched_race(screen(stderr=True), makers, {name: table}, table.horizon, **racing)
    if any(isinstance(maker, Told) for maker in makers.values()):
        notes.append("a table has no planted switches, so learners that are told S are told nothing here")
    compared = next(iter(result.references.values())).best[-1]  # the table's, so that of every seed
    standings = _standings(result, values, scale, compared)
    losses = values.losses
    best = [values.total(loss) for loss in best_switching_losses(losses, compared.size - 1)]
    best_arm = values.arms[int(losses.sum(axis=0).argmin())]
    counts = racing["seeds"], racing["seed"]
    outcome = Outcome(options, values, scale, *counts, best, best_arm, standings, notes)
    if as_json:
        print(json.dumps(as_object(outcome), allow_nan=False))
    else:
        print_board(outcome, believed(result, values.arms))
        if racing["folder"] is not None:
            print(f"saved in {racing['folder']}: the same command goes on from there")
            print(f"turncoat report {racing['folder']} draws it, with losses from 0 to 1")


def believed(result: Result, arms: list[str]) -> list[str]:
    """What each learner that explains itself believed in the game of the first seed, the last few switches."""
    lines = []
    for (learner,), beliefs in result.beliefs.filter(seed=0).group_by("learner", maintain_order=True):
        rows = beliefs.sort("start").rows(named=True)
        last = [f"{arms[row['arm']]} from round {row['start']:,} ({100 * row['sure']:.0f} % sure)" for row in rows[1:]]
        first = [f"{arms[rows[0]['arm']]} at first"] if len(rows) <= MOST_TOLD else ["…"]
        lines.append(f"{learner} believed, in its first game, that the best was {', '.join(first + last[-MOST_TOLD:])}")
    return lines


def _own_scale(values: Values) -> tuple[float, float]:
    """The least and the largest value of the table."""
    low, high = float(values.table.min()), float(values.table.max())
    if low == high:
        raise TableError(
            f"every value in {values.file.path} is {low:g}, which makes no scale; accepted are different values, or "
            "--range LO HI"
        )
    return low, high


def _standings(result: Result, values: Values, scale: tuple[float, float], best: Vector) -> list[Standing]:
    """The leaderboard in the table's units; `best` are the losses of the best paths, on the scale of the race."""
    low, high = scale
    width, n_rounds = high - low, len(values.table)
    standings = []
    for row in result.leaderboard().iter_rows(named=True):
        loss, end = row["loss"], row["high"]
        total = high * n_rounds - width * loss if values.rewards else low * n_rounds + width * loss
        margin = None if end is None else width * (end - row["regret"])
        who = row["rank"], row["learner"], row["setting"]
        standings.append(Standing(*who, total, margin, (width * (loss - best)).tolist()))
    return standings


def as_object(outcome: Outcome) -> dict[str, Any]:
    """What --json prints; docs/replay.md explains the keys."""
    values = outcome.values
    return {
        "file": str(values.file.path),
        "rounds": len(values.table),
        "arms": values.arms,
        "rewards": values.rewards,
        "range": list(outcome.scale),
        "range_from": "table" if outcome.options.scale is None else "option",
        "seeds": outcome.seeds,
        "seed": outcome.seed,
        "switches": list(range(len(outcome.best))),
        "best": outcome.best,
        "best_arm": outcome.best_arm,
        "learners": [standing._asdict() for standing in outcome.standings],
        "notes": outcome.notes,
    }


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
            "hindsight, a small cheat: online it is unknown. --range LO HI sets a scale that is known beforehand."
        )
    console.print()
    console.print(fitting_board(outcome, console))
    console.print()
    if any(feedback_group(standing.setting) != BANDIT for standing in outcome.standings):
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


def fitting_board(outcome: Outcome, console: Console) -> RichTable:
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


def board(outcome: Outcome, shown: list[int]) -> RichTable:
    """One row per learner, other feedback groups below a line with their name; then one row per best path."""
    best, standings = outcome.best, outcome.standings
    sign = -1.0 if outcome.values.rewards else 1.0
    between = {S: [sign * (best[S] - best[other]) for other in shown] for S in some_switches(len(best) - 1)}
    total = writer([*(standing.total for standing in standings), *best])
    regret = writer(
        [*(standing.regret[S] for standing in standings for S in shown), *(r for row in between.values() for r in row)]
    )
    numbers = right(f"total {outcome.values.kind}", *(f"S={S}" for S in shown))
    table = plain_table(*right("#"), text("learner"), *numbers, gap=1)
    group = BANDIT
    for rank, learner, setting, mean, half, regrets in standings:
        if feedback_group(setting) != group:
            group = feedback_group(setting)
            table.add_section()
            table.add_row("", f"{group}:", style="dim")
        figure = total(mean) if half is None else f"{total(mean)} ± {total(half)}"
        table.add_row(str(rank), learner, figure, *(regret(regrets[S]) for S in shown))
    table.add_section()
    for S, regrets in between.items():
        name = f"best path, {counted(S, 'switch', 'switches')}" if S else f"best single arm: {outcome.best_arm}"
        table.add_row("", name, total(best[S]), *map(regret, regrets))
    return table
