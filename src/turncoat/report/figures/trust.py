"""How much masters trust each of their bases over time, as maps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from turncoat.report.figures.maps import N_BINS, Map, figure
from turncoat.report.frames import Frames
from turncoat.report.styles import Look


def trust(frames: Frames, looks: Mapping[str, Look]) -> alt.ConcatChart | None:
    """How likely a master is to follow each base, mean over the seeds. A line at the planted number of switches."""
    assert frames.trust is not None
    switches = dict(frames.games.select("environment", "n_switches").iter_rows())
    maps = {
        (str(environment), str(learner)): map_of(one, switches.get(environment))
        for (environment, learner), one in frames.trust.group_by("environment", "learner", maintain_order=True)
        if learner in looks
    }
    return figure(frames, maps, "probability of following", "base's S", looks) if maps else None


def map_of(one: pl.DataFrame, S: int | None) -> Map:
    """A row a base, from the fewest switches up."""
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
