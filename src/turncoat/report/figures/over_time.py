"""Regret over time, log-log: a straight line of slope 1/2 is a regret that grows as the root of t."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from turncoat.report.figures.axes import Axis, log_axis
from turncoat.report.figures.panel import Panel, ends_of, in_columns, lines, names, over_seeds, room_for, upright
from turncoat.report.frames import Frames
from turncoat.report.styles import Look

SIZE = (330, 250)
MOST_POINTS = 70  # on a line: more cannot be seen


def thinned(rounds: list[int]) -> list[int]:
    """At most MOST_POINTS of these numbers, which begin at 0 or later: evenly spaced in log(1 + t), both ends kept."""
    every = np.array(sorted(set(rounds)))
    if len(every) <= MOST_POINTS:
        return [int(t) for t in every]
    places = np.log1p(every)
    wanted = np.linspace(places[0], places[-1], MOST_POINTS)
    nearest = np.abs(places[None, :] - wanted[:, None]).argmin(axis=1)
    return [int(t) for t in every[np.unique(nearest)]]


def regret_over_time(frames: Frames, looks: Mapping[str, Look], column: str = "regret") -> alt.ConcatChart | None:
    """A panel for each environment; `column` is regret or pseudo_regret. None where there is nothing to show."""
    assert frames.traces is not None
    traces = frames.traces.filter(pl.col("learner").is_in(list(looks)) & pl.col(column).is_not_null())
    panels: list[Panel] = []
    for environment in frames.environments():
        here = traces.filter(pl.col("environment") == environment)
        if not here.is_empty():
            kept = here.filter(pl.col("t").is_in(thinned(here["t"].to_list())))
            panels.append(_panel(environment, over_seeds(kept, "t", column), looks, column.replace("_", "-")))
    return in_columns(panels, 2) if panels else None


def _panel(environment: str, data: pl.DataFrame, looks: Mapping[str, Look], what: str) -> Panel:
    rounds = data["t"].to_list()
    across = Axis("round", "log", min(rounds), max(rounds))
    up = log_axis(what, [*data["mean"], *data["high"]], floor=1.0)
    ends = ends_of(data, "t", list(looks))
    size = room_for(len(ends), SIZE)
    layers = [*lines(data, across, up, looks, "t"), *names(ends, up, size, looks)]
    return alt.layer(*layers).properties(width=size[0], height=size[1], title=upright(environment))
