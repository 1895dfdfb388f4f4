"""`turncoat replay`: a race over a table of the user's own, and a leaderboard in the table's units.

The race is run on losses in [0, 1]. Back in the table's units, over T rounds and with the scale lo to hi:

    total  = lo·T + (hi - lo)·loss, or hi·T - (hi - lo)·loss of rewards
    regret = (hi - lo)·(loss - L*(S))
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from turncoat.cli.console import screen
from turncoat.cli.progress import watched_race
from turncoat.cli.replay_board import print_board
from turncoat.cli.table_input import Values, read_values
from turncoat.environments import Table
from turncoat.errors import TableError
from turncoat.racing import FEW, Result, entry
from turncoat.racing.entries import Told
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
    """All there is to tell."""

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
    compared = next(iter(result.grounds.values())).best[-1]  # the table's, so that of every seed
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
