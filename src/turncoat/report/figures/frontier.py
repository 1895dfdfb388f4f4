"""The frontier: the regret of one game against the best path with S switches, for all S at once, under the theory.

The learner is the same along its line; only what it is compared with changes. Where the line is below 0 the learner
beat every path with so few switches. The theorems bound the expectation of what is drawn, for Algorithms 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from turncoat.bounds import theorem_1, theorem_2
from turncoat.report.figures.axes import Axis, symlog_axis
from turncoat.report.figures.over_time import thinned
from turncoat.report.figures.panel import (
    End,
    Panel,
    ends_of,
    hover,
    in_columns,
    lines,
    names,
    over_seeds,
    planted_mark,
    room_for,
    upright,
)
from turncoat.report.frames import Frames
from turncoat.report.styles import Look

SIZE = (330, 330)
THEOREMS = {"Theorem 1": theorem_1, "Theorem 2": theorem_2}
DASHES = {"Theorem 1": [1, 0], "Theorem 2": [5, 3]}


def frontier(frames: Frames, looks: Mapping[str, Look]) -> alt.ConcatChart:
    """A panel for each environment."""
    assert frames.frontier is not None
    panels: list[Panel] = []
    for game in frames.games.iter_rows(named=True):
        here = (pl.col("environment") == game["environment"]) & pl.col("learner").is_in(list(looks))
        data = frames.frontier.filter(here)
        if not data.is_empty():
            switches = thinned(data["S"].to_list())
            kept = data.filter(pl.col("S").is_in(switches))
            panels.append(_panel(game, over_seeds(kept, "S", "regret"), _bounds(game, switches), looks))
    return in_columns(panels, 2)


def _bounds(game: dict[str, Any], switches: list[int]) -> pl.DataFrame:
    """What the theorems allow in a game at every S: curve, S, bound. They speak of oblivious adversaries only."""
    T, K = game["horizon"], game["n_arms"]
    theorems = THEOREMS if game["oblivious"] else {}
    rows = [(curve, S, theorem(T, K, S).total) for curve, theorem in theorems.items() for S in switches]
    return pl.DataFrame(rows, {"curve": pl.String, "S": pl.Int64, "bound": pl.Float64}, orient="row")


def _panel(game: dict[str, Any], data: pl.DataFrame, theory: pl.DataFrame, looks: Mapping[str, Look]) -> Panel:
    T, S = game["horizon"], game["n_switches"]
    measured = [*data["mean"], *data["low"], *data["high"]]
    largest = data.group_by("learner").agg(pl.col("mean").abs().max())["mean"].to_list()
    constant = 10.0 ** max(0, math.floor(math.log10(max(1.0, min(largest)))) - 1)
    across = Axis("switches S of the path compared with", "symlog", 0.0, max(1.0, *data["S"].to_list()))
    up = symlog_axis("regret", [*measured, *theory["bound"], T], constant)
    last = theory.filter(pl.col("S") == pl.col("S").max())
    ends = ends_of(data, "S", list(looks))
    ends += [End("", curve, bound) for curve, bound in last.select("curve", "bound").iter_rows()]
    ends.append(End("", "T: no regret is larger", T))
    size = room_for(len(ends), SIZE)
    layers = [*_marks(T, S, across, up, size), *_theory(theory, across, up), *lines(data, across, up, looks, "S")]
    layers += names(ends, up, size, looks)
    return alt.layer(*layers).properties(width=size[0], height=size[1], title=upright(game["environment"]))


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


def _marks(T: int, S: int | None, across: Axis, up: Axis, size: tuple[int, int]) -> list[alt.Chart]:
    """The horizon, which no regret exceeds; 0, below which the path was beaten; and the planted number of switches."""
    level = alt.Chart(pl.DataFrame({"y": [float(T), 0.0]}))
    layers = [level.mark_rule(style="mark", strokeDash=[1, 3]).encode(y=up.y("y:Q")), *planted_mark(S, across)]
    if up.pixel(0.0, size[1]) > 20:
        note = alt.Chart(pl.DataFrame({"y": [0.0], "text": ["below 0: beaten"]}))
        right = note.mark_text(style="note", align="right", baseline="top", dx=-4, dy=3)
        layers.append(right.encode(x=alt.value(size[0]), y=up.y("y:Q"), text="text:N"))
    return layers
