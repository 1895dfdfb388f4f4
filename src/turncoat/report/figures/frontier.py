"""The frontier: the regret of one game against the best path with S switches, for all S at once, under the theory.

The learner is the same along its line; only what it is compared with changes. Where the line is below 0 the learner
beat every path with so few switches. The theorems bound the expectation of what is drawn: 1 and 2 for the algorithms of
those numbers, W for Turncoat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from turncoat.bounds import theorem_1, theorem_2, turncoat_bound
from turncoat.report.figures.axes import Axis, symlog_axis
from turncoat.report.figures.over_time import thinned
from turncoat.report.figures.panel import (
    End,
    Spec,
    ends_of,
    hover,
    in_columns,
    lines,
    over_seeds,
    planted_mark,
    with_names,
)
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

SIZE = (330, 330)
THEOREMS = {"Theorem 1": theorem_1, "Theorem 2": theorem_2, "Theorem W": turncoat_bound}
DASHES = {"Theorem 1": [1, 0], "Theorem 2": [5, 3], "Theorem W": [2, 2]}


def frontier(frames: Frames, styles: Mapping[str, Style]) -> Spec:
    """A panel for each environment."""
    panels: list[Spec] = []
    for game, data in frames.by_game("frontier", styles):
        switches = thinned(data["S"].to_list())
        kept = data.filter(pl.col("S").is_in(switches))
        panels.append(_panel(game, over_seeds(kept, "S", "regret"), _bounds(game, switches), styles))
    return in_columns(panels, 2)


def _bounds(game: dict[str, Any], switches: list[int]) -> pl.DataFrame:
    """What the theorems allow in a game at every S: curve, S, bound. They speak of oblivious adversaries only."""
    T, K = game["horizon"], game["n_arms"]
    theorems = THEOREMS if game["oblivious"] else {}
    rows = [(curve, S, theorem(T, K, S).total) for curve, theorem in theorems.items() for S in switches]
    return pl.DataFrame(rows, {"curve": pl.String, "S": pl.Int64, "bound": pl.Float64}, orient="row")


def _panel(game: dict[str, Any], data: pl.DataFrame, theory: pl.DataFrame, styles: Mapping[str, Style]) -> Spec:
    T, S = game["horizon"], game["n_switches"]
    measured = [*data["mean"], *data["low"], *data["high"]]
    largest = data.group_by("learner").agg(pl.col("mean").abs().max())["mean"].to_list()
    constant = 10.0 ** max(0, math.floor(math.log10(max(1.0, min(largest)))) - 1)
    across = Axis("switches S of the path compared with", "symlog", 0.0, max(1.0, *data["S"].to_list()))
    up = symlog_axis("regret", [*measured, *theory["bound"], T], constant)
    last = theory.filter(pl.col("S") == pl.col("S").max())
    ends = ends_of(data, "S", list(styles))
    ends += [End("", curve, bound) for curve, bound in last.select("curve", "bound").iter_rows()]
    ends.append(End("", "T: no regret is larger", T))
    layers = [*_marks(T, S, across, up), *_theory(theory, across, up), *lines(data, across, up, styles, "S")]
    return with_names(layers, ends, up, SIZE, styles, game["environment"])


def _theory(theory: pl.DataFrame, across: Axis, up: Axis) -> list[alt.Chart]:
    """The theorem curves."""
    tips = [alt.Tooltip("curve:N"), alt.Tooltip("S:Q"), alt.Tooltip("bound:Q", format=",.4~g")]
    where = {"x": across.x("S:Q"), "y": up.y("bound:Q")}
    rounded = theory.with_columns(pl.col("bound").round_sig_figs(5))
    layers = [
        alt.Chart(rounded.filter(pl.col("curve") == curve))
        .mark_line(style="theory", strokeWidth=1.4, strokeDash=dash)
        .encode(**where)
        for curve, dash in DASHES.items()
    ]
    return [*layers, hover(alt.Chart(rounded)).encode(**where, tooltip=tips)]


def _marks(T: int, S: int | None, across: Axis, up: Axis) -> list[alt.Chart]:
    """The horizon, which no regret exceeds; 0, below which the path was beaten; and the planted number of switches."""
    level = alt.Chart(pl.DataFrame({"y": [float(T), 0.0]}))
    layers = [level.mark_rule(style="mark", strokeDash=[1, 3]).encode(y=up.y("y:Q")), *planted_mark(S, across)]
    if up.pixel(0.0, 1.0) > 0.06:  # of the panel's height
        note = alt.Chart(pl.DataFrame({"y": [0.0], "text": ["below 0: beaten"]}))
        right = note.mark_text(style="note", align="right", baseline="top", dx=-4, dy=3)
        layers.append(right.encode(x=alt.value(SIZE[0]), y=up.y("y:Q"), text=alt.Text("text:N")))
    return layers
