"""The README's first figure: regret over time in a game whose best arm changes four times.

Run: make figures (or python docs/figures/first_look.py). Writes first_look.svg beside itself.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

import turncoat as tc
from turncoat.environments import Piecewise
from turncoat.learners.entries import ENTRIES
from turncoat.report.figures.axes import Axis
from turncoat.report.figures.panel import FOCUS, ends_of, lines, names
from turncoat.report.styles import styles_of
from turncoat.report.write import pictures
from turncoat.statistics import means

K, T, S, GAP = 5, 100_000, 4, 0.3
GAME = Piecewise(K, T, S, gap=GAP, seed=3)
N_SEEDS = 20  # of the learners; all play this one game
LEARNERS = ["exp3", "adaptive-master-base", "exp3.s, told S", "clipped-omd, told S", "glr-kl-ucb", "turncoat"]
SIZE = (560, 320)


def regrets() -> pl.DataFrame:
    """learner, t: mean regret against the planted path over the seeds, with a 95 % interval from low to high."""
    result = tc.race({name: ENTRIES[name] for name in LEARNERS}, GAME, T, seeds=N_SEEDS, max_switches=0)
    rows = [
        (learner, t, *(float(part) for part in means(seeds["pseudo_regret"].to_numpy())))
        for (learner, t), seeds in result.traces.group_by("learner", "t", maintain_order=True)
    ]
    return pl.DataFrame(rows, ["learner", "t", "mean", "low", "high"], orient="row")


def picture(data: pl.DataFrame) -> bytes:
    """The figure, as SVG."""
    styles = styles_of(LEARNERS)
    across = Axis("round", "linear", 0, T)
    up = Axis("regret against the planted path", "linear", min(0.0, *data["low"]), max(data["high"]))
    switches = alt.Chart(pl.DataFrame({"t": GAME.game.path_edges[1:-1]}))
    layers = [switches.mark_rule(style="mark", strokeDash=[3, 3]).encode(x=across.x("t:Q"))]
    layers += lines(data, across, up, styles, "t")[:2]
    layers += names(ends_of(data, "t", LEARNERS), up, SIZE, styles)
    title = f"One game, {K} arms, the best one changes at the dashed lines; mean of {N_SEEDS} seeds with 95 % bands"
    chart = alt.layer(*layers).properties(width=SIZE[0], height=SIZE[1], title=title)
    return pictures({**chart.to_dict(), **FOCUS})["svg"]


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_bytes(picture(regrets()))
    print("wrote first_look.svg")
