"""The README's first figure: regret over time in a game whose best arm changes four times.

Run: make figures (or python docs/figures/first_look.py). Writes first_look.svg beside itself.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import Piecewise
from turncoat.race.statistics import means

K, T, S, GAP = 5, 100_000, 4, 0.3
N_SEEDS = 20
GAME = Piecewise(K, T, S, gap=GAP, seed=3)
CHECKPOINTS = np.linspace(0, T - 1, 201).astype(int)

LEARNERS = {
    "exp3": lambda seed: tc.Exp3(K, T, seed=seed),
    "master-base": lambda seed: tc.MasterBase(K, T, seed=seed),
    "adaptive-master-base": lambda seed: tc.AdaptiveMasterBase(K, T, seed=seed),
    "exp3.s, told S": lambda seed: tc.Exp3S(K, T, n_switches=S, seed=seed),
    "adaptive-master-base, shared": lambda seed: tc.AdaptiveMasterBase(K, T, feedback="shared", seed=seed),
    "clipped-omd, told S": lambda seed: tc.ClippedOMD(K, T, n_switches=S, seed=seed),
}
COLOURS = ["#999999", "#E69F00", "#D55E00", "#56B4E9", "#009E73", "#0072B2"]  # Okabe & Ito: safe for the colour-blind
HEIGHT = "regret against the planted path"
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 0], [4, 2]]


def regrets(make: object) -> pl.DataFrame:
    """Mean regret against the planted path at every checkpoint, over the seeds, with a 95 % interval."""
    best = GAME.mean_losses(GAME.planted_path())
    runs = []
    for seed in range(N_SEEDS):
        played = tc.play(make(seed), GAME)  # type: ignore[operator]
        runs.append(np.cumsum(GAME.mean_losses(played) - best)[CHECKPOINTS])
    table = np.array(runs)
    mean = means(table.T)
    return pl.DataFrame({"round": CHECKPOINTS + 1, "regret": mean.value, "low": mean.low, "high": mean.high})


def spread(heights: list[float], gap: float) -> list[float]:
    """Heights for the labels at the line ends: in the same order, at least a gap apart."""
    order = np.argsort(heights)
    placed = np.array(heights, dtype=float)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + gap)
    return placed.tolist()


def chart() -> alt.LayerChart:
    """The picture."""
    frames = {name: regrets(make) for name, make in LEARNERS.items()}
    data = pl.concat([frame.with_columns(learner=pl.lit(name)) for name, frame in frames.items()])
    ends = [frame["regret"][-1] for frame in frames.values()]
    labels = pl.DataFrame({"learner": list(frames), "round": [T] * len(ends), "regret": spread(ends, 620)})
    colour = alt.Color("learner:N", scale=alt.Scale(domain=list(frames), range=COLOURS), legend=None)
    dash = alt.StrokeDash("learner:N", scale=alt.Scale(domain=list(frames), range=DASHES), legend=None)
    axis = alt.Axis(format=",d", tickCount=5)
    x = alt.X("round:Q", title="round", axis=axis, scale=alt.Scale(domain=[0, T], nice=False))
    y = alt.Y("regret:Q", title=HEIGHT)
    switches = pl.DataFrame({"round": GAME.game.path_edges[1:-1]})
    rules = alt.Chart(switches).mark_rule(color="#bbbbbb", strokeDash=[3, 3]).encode(x="round:Q")
    bands = (
        alt.Chart(data).mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q", title=HEIGHT), y2="high:Q", color=colour)
    )
    lines = alt.Chart(data).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    names = (
        alt.Chart(labels).mark_text(align="left", dx=6, fontSize=12).encode(x=x, y=y, text="learner:N", color=colour)
    )
    title = f"One game, {K} arms, the best one changes at the dashed lines; mean of {N_SEEDS} seeds with 95 % bands"
    return (rules + bands + lines + names).properties(width=560, height=320, title=title)


if __name__ == "__main__":
    picture = chart().configure_view(stroke=None).configure_axis(grid=False).configure_title(fontWeight="normal")
    here = Path(__file__).with_suffix("")
    picture.save(f"{here}.svg")
    print(f"wrote {here.name}.svg")
