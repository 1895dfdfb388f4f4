"""The two Bernoulli games of Garivier & Moulines (2011): one arm jumps up and down again, one arm swings.

Run: make figures (or python docs/figures/garivier_moulines.py). Plays for half a minute, writes garivier_moulines.svg
beside itself and prints the tables of docs/published.md.

A. Garivier, E. Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011 (arXiv
0805.3415). All rewards are 0 or 1. How sure we are of each number is said in docs/published.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import Environment, Piecewise
from turncoat.report.figures.axes import Axis
from turncoat.report.figures.panel import FOCUS, ends_of, in_columns, layered, lines, names
from turncoat.report.styles import styles_of
from turncoat.report.write import pictures
from turncoat.statistics import means

T, N_SEEDS = 10_000, 200
BREAKS = [3_000, 5_000]
STEP = 10  # rounds for which the swinging arm stands still: it never moves by more than 0.025 at once
SIZE = (330, 280)
GAMMA = 1 - 1 / (4 * math.sqrt(T))
TAU = round(4 * math.sqrt(T * math.log(T)))

Maker = Callable[..., Any]
LEARNERS: dict[str, Maker] = {
    "sw-ucb": partial(tc.SlidingWindowUCB, window=TAU, exploration=0.5),
    "d-ucb": partial(tc.DiscountedUCB, discount=GAMMA, exploration=0.5),
    "d-ucb, half the padding": partial(tc.DiscountedUCB, discount=GAMMA, exploration=0.125),
    "exp3.s, told S": tc.told(tc.Exp3S),
    "ucb1": tc.UCB1,
    "ucb1, half the padding": partial(tc.UCB1, exploration=0.5),
}


def abrupt(horizon: int, seed: np.random.SeedSequence) -> Environment:
    """Arm 3 is the best between the breaks."""
    rewards = [(0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4)]
    return Piecewise.from_means(horizon, BREAKS, 1.0 - np.array(rewards), seed=seed)


def periodic(horizon: int, seed: np.random.SeedSequence, *, n_periods: int) -> Environment:
    """Arm 2 swings by 0.4 around arm 1, which stays; it begins at the top."""
    starts = np.arange(0, horizon, STEP)
    swing = 0.4 * np.cos(2 * math.pi * n_periods * (starts + STEP / 2) / horizon)
    rewards = np.stack([np.full(starts.size, 0.5), 0.5 + swing], axis=1)
    return Piecewise.from_means(horizon, starts[1:].tolist(), 1.0 - rewards, seed=seed)


GAMES: dict[str, Callable[..., Environment]] = {
    "abrupt": abrupt,
    "periodic, 3 periods": partial(periodic, n_periods=3),
    "periodic, 1 period": partial(periodic, n_periods=1),
    "periodic, 10 periods": partial(periodic, n_periods=10),
}
DRAWN = list(GAMES)[:2]


def markdown(rows: list[list[str]]) -> str:
    """A table, its first row the head."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] + ["--:"] * (len(rows[0]) - 1), *rows[1:]])


def cell(regrets: pl.Series) -> str:
    """The mean over the seeds, with its 95 % interval."""
    mean, _, high = means(regrets.to_numpy())
    return f"{mean:.0f} ± {high - mean:.0f}"


def at_the_end(traces: pl.DataFrame) -> str:
    """Regret after T rounds, in every game."""
    rows = [["learner", *GAMES]]
    for learner in LEARNERS:
        one = traces.filter((pl.col("learner") == learner) & (pl.col("t") == T))
        rows.append([f"`{learner}`", *(cell(one.filter(environment=game)["pseudo_regret"]) for game in GAMES)])
    return markdown(rows)


def by_segment(traces: pl.DataFrame) -> str:
    """Regret before, between and after the breaks of the abrupt game."""
    edges = [0, *BREAKS, T]
    rows = [["learner", *(f"{a:,} to {b:,}" for a, b in pairwise(edges))]]
    for learner in LEARNERS:
        one = traces.filter((pl.col("learner") == learner) & (pl.col("environment") == "abrupt")).sort("seed")
        upto = [one.filter(t=edge)["pseudo_regret"] for edge in edges[1:]]
        parts = [upto[0], *(b - a for a, b in pairwise(upto))]
        rows.append([f"`{learner}`", *(cell(part) for part in parts)])
    return markdown(rows)


def draw(traces: pl.DataFrame, game: str) -> Any:
    """Mean regret over time in one game, with 95 % bands of the mean; dashed lines where the best arm changes."""
    styles = styles_of(list(LEARNERS))
    rows = [
        (learner, t, *(float(part) for part in means(seeds["pseudo_regret"].to_numpy())))
        for (learner, t), seeds in traces.filter(environment=game).group_by("learner", "t", maintain_order=True)
    ]
    data = pl.DataFrame(rows, ["learner", "t", "mean", "low", "high"], orient="row")
    across = Axis("round", "linear", 0, T)
    up = Axis("regret against the planted path", "linear", min(0.0, *data["low"]), max(data["high"]))
    changes = 1 + np.flatnonzero(np.diff(GAMES[game](T, np.random.SeedSequence(0)).planted_path()))
    rule = alt.Chart(pl.DataFrame({"t": changes})).mark_rule(style="mark", strokeDash=[3, 3])
    layers = [rule.encode(x=across.x("t:Q")), *lines(data, across, up, styles, "t")[:2]]
    layers += names(ends_of(data, "t", list(LEARNERS)), up, SIZE, styles)
    return layered(layers, width=SIZE[0], height=SIZE[1], title=game)


if __name__ == "__main__":
    traces = tc.race(dict(LEARNERS), dict(GAMES), T, seeds=N_SEEDS, max_switches=0).traces
    chart = in_columns([draw(traces, game) for game in DRAWN], 2, spacing=24)
    Path(__file__).with_suffix(".svg").write_bytes(pictures({**chart, **FOCUS})["svg"])
    print(at_the_end(traces), end="\n\n")
    print(by_segment(traces))
    print("wrote garivier_moulines.svg")
