"""What learners that explain themselves believed, on maps of the arms they played."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import altair as alt
import polars as pl

from turncoat.report.figures.arms import maps_of
from turncoat.report.figures.maps import Map, Mark, figure
from turncoat.report.frames import Frames
from turncoat.report.styles import Look


def beliefs(frames: Frames, looks: Mapping[str, Look]) -> alt.ConcatChart | None:
    """The switches that were believed in the game of the first seed, over the arms played and the planted path."""
    if not frames.has("shares"):
        return None
    assert frames.beliefs is not None
    maps: dict[tuple[str, str], Map] = {}
    played, first = maps_of(frames, looks), frames.beliefs["seed"].min()
    believed = frames.beliefs.filter(pl.col("seed") == first)
    for (environment, learner), one in believed.group_by("environment", "learner", maintain_order=True):
        key = str(environment), str(learner)
        if key in played:
            maps[key] = played[key]._replace(marks=marks_of(one, len(played[key].cells)))
    return figure(frames, maps, "share of rounds", "arm", looks) if maps else None


def marks_of(believed: pl.DataFrame, n_rows: int) -> list[Mark]:
    """A mark where each belief but the first began, on its arm."""
    rows = believed.sort("start").select("start", "arm", "sure").rows()
    return [
        Mark(start, arm, f"from arm {left} to arm {arm} in round {start:,}, {100 * sure:.0f} % sure")
        for (_, left, _), (start, arm, sure) in pairwise(rows)
        if arm < n_rows
    ]
