"""The stochastically constrained game of Zimmert & Seldin (2021): the best arm stays, and everything else jumps.

Run: make figures (or python docs/figures/zimmert_seldin.py). Plays for two minutes, writes zimmert_seldin.svg beside
itself and prints the tables of docs/published.md.

J. Zimmert, Y. Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", JMLR 22 (2021). All
losses are 0 or 1. How sure we are of each number is said in docs/published.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import Environment, StochasticallyConstrained
from turncoat.environments.level_jumps import growing_edges
from turncoat.report.figures.axes import Axis
from turncoat.report.figures.panel import FOCUS, ends_of, in_columns, layered, lines, names, over_seeds
from turncoat.report.styles import styles_of
from turncoat.report.write import pictures

T, N_SEEDS = 1_000_000, 20
EARLIER = [10_000, 100_000]
SIZE = (300, 250)
GROWTH = 1.6


def game(horizon: int, seed: np.random.SeedSequence, *, n_arms: int, gap: float) -> Environment:
    """Phases of ⌊1.6^i⌋ rounds."""
    return StochasticallyConstrained(n_arms, horizon, gap=gap, growth=GROWTH, seed=seed)


def anytime_exp3(arms: int, horizon: int, *, seed: Any) -> tc.Exp3:
    """EXP3 that is not told the horizon, as Tsallis-INF is not."""
    return tc.Exp3(arms, seed=seed)


GAMES: dict[str, Callable[..., Environment]] = {
    f"K = {K}, gap {gap}": partial(game, n_arms=K, gap=gap) for K in (2, 8) for gap in (0.1, 0.25)
}
LEARNERS: dict[str, Callable[..., Any]] = {
    "tsallis-inf, rv": partial(tc.TsallisINF, estimator="rv"),
    "tsallis-inf": tc.TsallisINF,
    "exp3, anytime": anytime_exp3,
    "ucb1": tc.UCB1,
    "thompson-sampling": tc.ThompsonSampling,
}


def markdown(rows: list[list[str]]) -> str:
    """A table, its first row the head."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] + ["--:"] * (len(rows[0]) - 1), *rows[1:]])


def at_the_end(traces: pl.DataFrame) -> str:
    """Regret after T rounds in every game: the mean, and where the middle 80 % of the seeds lie."""
    rows = [["learner", *GAMES]]
    for learner in LEARNERS:
        row = [f"`{learner}`"]
        for name in GAMES:
            one = over_seeds(traces.filter(t=T, learner=learner, environment=name), "t", "pseudo_regret")
            mean, low, high = one.select("mean", "low", "high").row(0)
            row.append(f"{mean:,.0f} ({low:,.0f} to {high:,.0f})")
        rows.append(row)
    return markdown(rows)


def on_the_way(traces: pl.DataFrame, name: str) -> str:
    """Mean regret after each power of ten, in one game."""
    rows = [["learner", *(f"T = {t:,}" for t in [*EARLIER, T])]]
    for learner in LEARNERS:
        one = traces.filter(learner=learner, environment=name)
        rows.append([f"`{learner}`", *(f"{fmean(one.filter(t=t)['pseudo_regret']):,.0f}" for t in [*EARLIER, T])])
    return markdown(rows)


def draw(traces: pl.DataFrame, name: str) -> Any:
    """Mean regret over time in one game, in bands that hold the middle 80 % of the seeds; dotted where arms jump."""
    styles = styles_of(list(LEARNERS))
    shown = traces.filter((pl.col("environment") == name) & (pl.col("t") >= 100))
    data = over_seeds(shown, "t", "pseudo_regret")
    across = Axis("round", "log", 100, T)
    up = Axis("regret against the best arm", "log", 2, 200_000)
    jumps = growing_edges(T, GROWTH)[1:-1]
    rule = alt.Chart(pl.DataFrame({"t": jumps[jumps > 100]})).mark_rule(style="mark", strokeDash=[1, 3], opacity=0.5)
    layers = [rule.encode(x=across.x("t:Q")), *lines(data, across, up, styles, "t")[:2]]
    layers += names(ends_of(data, "t", list(LEARNERS)), up, SIZE, styles)
    return layered(layers, width=SIZE[0], height=SIZE[1], title=name)


if __name__ == "__main__":
    traces = tc.race(dict(LEARNERS), dict(GAMES), T, seeds=N_SEEDS, max_switches=0).traces
    chart = in_columns([draw(traces, name) for name in GAMES], 2, spacing=24)
    Path(__file__).with_suffix(".svg").write_bytes(pictures({**chart, **FOCUS})["svg"])
    print(at_the_end(traces), end="\n\n")
    for name in list(GAMES)[::2]:
        print(name, on_the_way(traces, name), sep="\n\n", end="\n\n")
    print("wrote zimmert_seldin.svg")
