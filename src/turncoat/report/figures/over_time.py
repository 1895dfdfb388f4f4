"""Over time: the regret of learners, and how much masters trust each of their bases.

Regret is drawn log-log: a straight line of slope 1/2 is a regret that grows as the root of t. Trust is drawn as maps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from turncoat.report.figures.axes import Axis, log_axis
from turncoat.report.figures.maps import N_BINS, Map, figure
from turncoat.report.figures.panel import Spec, ends_of, in_columns, lines, over_seeds, with_names
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

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


def regret_over_time(frames: Frames, styles: Mapping[str, Style], column: str = "regret") -> Spec | None:
    """A panel for each environment; `column` is regret or pseudo_regret. None where there is nothing to show."""
    panels: list[Spec] = []
    for game, here in frames.by_game("traces", styles, known=column):
        kept = here.filter(pl.col("t").is_in(thinned(here["t"].to_list())))
        panels.append(_panel(game["environment"], over_seeds(kept, "t", column), styles, column.replace("_", "-")))
    return in_columns(panels, 2) if panels else None


def _panel(environment: str, data: pl.DataFrame, styles: Mapping[str, Style], what: str) -> Spec:
    rounds = data["t"].to_list()
    across = Axis("round", "log", min(rounds), max(rounds))
    up = log_axis(what, [*data["mean"], *data["high"]], floor=1.0)
    ends = ends_of(data, "t", list(styles))
    return with_names(lines(data, across, up, styles, "t"), ends, up, SIZE, styles, environment)


def trust(frames: Frames, styles: Mapping[str, Style]) -> Spec | None:
    """How likely a master is to follow each base, mean over the seeds. A line at the planted number of switches."""
    assert frames.trust is not None
    switches = dict(frames.games.select("environment", "n_switches").iter_rows())
    maps = {
        (str(environment), str(learner)): map_of(one, switches.get(environment))
        for (environment, learner), one in frames.trust.group_by("environment", "learner", maintain_order=True)
        if learner in styles
    }
    return figure(frames, maps, "probability of following", "base's S", styles) if maps else None


def map_of(one: pl.DataFrame, S: int | None) -> Map:
    """One row per base, in increasing order of switches."""
    means = one.group_by("base", "candidate", "t").agg(pl.col("probability").mean()).sort("base", "t")
    T = float(max(one["t"].to_list()))
    middles = (np.arange(N_BINS) + 0.5) * T / N_BINS
    candidates, rows = [], []
    for (_, candidate), base in means.group_by("base", "candidate", maintain_order=True):
        rows.append(np.interp(middles, base["t"].to_numpy(), base["probability"].to_numpy()))
        candidates.append(float(candidate))
    overlay = []
    if S is not None and candidates[0] <= S <= candidates[-1]:
        height = float(np.interp(math.log(S), np.log(candidates), np.arange(len(candidates))))
        overlay = [{"x": 0.0, "x2": T, "y": height}]
    return Map(np.array(rows), [_round(candidate) for candidate in candidates], overlay)


def _round(candidate: float) -> str:
    return f"{candidate:.0f}" if candidate < 1000 else f"{candidate / 1000:.0f}k"
