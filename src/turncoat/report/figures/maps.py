"""Maps over time: dark is much, light is little, in grey as in colour. A column for a game, a row for a learner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl

from turncoat.report.figures.axes import SHORT, Axis
from turncoat.report.figures.panel import Spec, blank, faded, in_columns, layered, upright
from turncoat.report.frames import Frames
from turncoat.report.styles import BELIEVED, EDGE, EMPTY, FULL, PLANTED, Style
from turncoat.types import Matrix

N_BINS = 60
MOST_MAPS = 120  # in one figure
WIDTH, HEIGHT = 190, 66
SHADE = 0.025  # values are rounded to multiples of it: finer shades cannot be seen


class Mark(NamedTuple):
    """A mark on a map, and what it says when pointed at."""

    x: float
    y: float
    text: str


class Map(NamedTuple):
    """One map: what is in its cells, the words on its side, and where lines go over it."""

    cells: Matrix  # (rows, bins), between 0 and 1
    labels: list[str]  # of the rows, from the bottom
    overlay: list[dict[str, float]]  # from x to x2 at height y
    marks: Sequence[Mark] = ()


NOTHING = Map(np.zeros((1, N_BINS)), [""], [])


class Grid(NamedTuple):
    """What all maps of a figure share."""

    horizon: int
    most: float  # the darkest value
    value: str  # what a cell holds, in words
    side: str  # what a row is
    styles: Mapping[str, Style]


def shown_learners(learners: list[str], n_environments: int) -> list[str]:
    """As many of the best as there is room for."""
    return learners[: max(2, MOST_MAPS // max(1, n_environments))]


def figure(
    frames: Frames, maps: dict[tuple[str, str], Map], value: str, side: str, styles: Mapping[str, Style]
) -> Spec:
    """The maps of these (environment, learner), side by side; `value` and `side` say what a cell and a row are."""
    environments = [one for one in frames.environments() if any(key[0] == one for key in maps)]
    raced = [one for one in styles if any(key[1] == one for key in maps)]
    learners = shown_learners(raced, len(environments))
    T = max(frames.games["horizon"].to_list())
    most = max(float(maps[key].cells.max()) for key in maps)
    grid = Grid(T, math.ceil(most * 10 - 1e-9) / 10, value, side, styles)
    columns = min(4, len(environments))
    panels: list[Spec] = []
    for start in range(0, len(environments), columns):
        block = environments[start : start + columns]
        for learner in learners:
            for environment in block:
                drawn = maps.get((environment, learner), NOTHING)
                axes = learner == learners[-1], environment == block[0]
                name = learner if environment == block[-1] else ""
                panels.append(_map(drawn, grid, axes, name, environment if learner == learners[0] else ""))
            panels += [blank()] * (columns - len(block))
    whole = in_columns(panels, columns, spacing=12)
    if len(learners) < len(raced):
        whole["title"] = f"the best {len(learners)} of these {len(raced)} learners"
    return whole


def _map(drawn: Map, grid: Grid, axes: tuple[bool, bool], learner: str, title: str) -> Spec:
    """One map, with axes below and to the left if it is at these edges; named to the right and above, if at all."""
    across = Axis("round", "linear", 0.0, float(grid.horizon))
    below, left = axes
    axis = alt.Axis(labelExpr=SHORT, tickCount=3, grid=False, labels=below, ticks=below, domain=False)
    x = alt.X("x:Q", title=across.title if below else None, scale=across.scale(), axis=axis)
    y = _side(drawn.labels, grid.side if left else None)
    cells = pl.DataFrame(_boxes(drawn, grid.horizon), ["x", "x2", "y", "y2", "row", "value"])
    legend = alt.Legend(title=grid.value, orient="bottom", format="~%", gradientLength=120, tickCount=2)
    scale = alt.Scale(domain=[0, grid.most], range=[EMPTY, FULL])
    box = alt.Chart(cells).mark_rect()
    tips = [alt.Tooltip("row:N", title=grid.side), alt.Tooltip("x:Q", title="from round", format=",.0f")]
    tips.append(alt.Tooltip("value:Q", title=grid.value, format=".1%"))
    where = {"x": x, "x2": alt.X2("x2:Q"), "y": y}
    colour = alt.Color("value:Q", scale=scale, legend=legend)
    layers = [box.encode(**where, y2=alt.Y2("y2:Q"), color=colour, tooltip=tips)]
    if drawn.overlay:
        line = alt.Chart(pl.DataFrame(drawn.overlay)).mark_rule(strokeWidth=2, color=PLANTED)
        layers.append(line.encode(**where))
    if drawn.marks:
        layers.append(_marked(drawn.marks, x, y))
    if learner:
        layers += _name(learner, grid.styles)
    above = {**upright(title), "offset": 6}
    return layered(layers, view={"fill": EMPTY}, width=WIDTH, height=HEIGHT, title=above)


def _marked(marks: Sequence[Mark], x: alt.X, y: alt.Y) -> alt.Chart:
    rows = pl.DataFrame(marks, ["x", "y", "text"], orient="row")
    chart = alt.Chart(rows).mark_point(
        shape="triangle-right", size=44, fill=BELIEVED, stroke=EDGE, strokeWidth=1, opacity=1
    )
    marked: alt.Chart = chart.encode(x=x, y=y, tooltip=alt.Tooltip("text:N", title="believed"))
    return marked


def _side(labels: list[str], title: str | None) -> alt.Y:
    """The rows, three of them named."""
    n = max(1, len(labels))
    axis = alt.Axis(
        values=sorted({0, (n - 1) // 2, n - 1}),
        labelExpr=f"{labels!r}[datum.value]",
        grid=False,
        domain=False,
        ticks=False,
        labelFlush=True,
    )
    return alt.Y("y:Q", title=title, scale=alt.Scale(domain=[-0.5, n - 0.5], nice=False, zero=False), axis=axis)


def _name(learner: str, styles: Mapping[str, Style]) -> list[alt.Chart]:
    """The learner's name and marker, to the right of its row."""
    base, style = alt.Chart(pl.DataFrame({"learner": [learner]})), styles[learner]
    y = alt.value(HEIGHT / 2)
    marker = base.mark_point(filled=True, size=34, color=style.colour, shape=style.shape)
    text = base.mark_text(align="left", baseline="middle").encode(x=alt.value(WIDTH + 20), text=alt.Text("learner:N"))
    return [one.encode(y=y, **faded()) for one in (marker.encode(x=alt.value(WIDTH + 12)), text)]


def _boxes(drawn: Map, horizon: int) -> list[dict[str, Any]]:
    """What is to be drawn: neighbours of the same shade are one box, and a box reaches a little under the next one."""
    step = horizon / drawn.cells.shape[1]
    boxes: list[dict[str, Any]] = []
    for h, row in enumerate(np.round(drawn.cells / SHADE) * SHADE):
        edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for start, stop in pairwise(edges):
            if row[start] > 0:
                wide = {"x": round(start * step, 3), "x2": round(min(stop + 0.2, len(row)) * step, 3)}
                what = {"row": drawn.labels[h], "value": round(float(row[start]), 3)}
                boxes.append({**wide, "y": h - 0.5, "y2": min(h + 0.52, len(drawn.cells) - 0.5), **what})
    return boxes
