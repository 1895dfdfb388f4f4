"""The arms that learners played over time, as maps under the planted path; and what learners that explain themselves
believed, marked on those maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from turncoat.report.figures.maps import N_BINS, Map, Mark, figure
from turncoat.report.figures.panel import Spec
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

MOST_SEGMENTS = 200  # of a planted path that is still drawn


def arms(frames: Frames, styles: Mapping[str, Style]) -> Spec:
    """The arms that were played in the game of the first seed, and the planted path as a line."""
    return figure(frames, maps_of(frames, styles), "share of rounds", "arm", styles)


def maps_of(frames: Frames, styles: Mapping[str, Style]) -> dict[tuple[str, str], Map]:
    """The map of each environment and learner."""
    assert frames.shares is not None
    first = frames.shares["seed"].min()
    shares = frames.shares.filter(pl.col("seed") == first)
    maps = {
        (str(environment), str(learner)): map_of(one)
        for (environment, learner), one in shares.group_by("environment", "learner", maintain_order=True)
        if learner in styles
    }
    if frames.has("planted"):
        assert frames.planted is not None
        for environment, T in frames.games.select("environment", "horizon").iter_rows():
            path = frames.planted.filter((pl.col("seed") == first) & (pl.col("environment") == environment))
            overlay = _steps(path.sort("start"), T)
            for key in [key for key in maps if key[0] == environment]:
                maps[key] = maps[key]._replace(overlay=overlay)
    return maps


def map_of(one: pl.DataFrame) -> Map:
    """How often each arm was played in each bin of time: differences of rounds played so far."""
    wide = one.sort("t").pivot(on="arm", index="t", values="share", maintain_order=True).fill_null(0.0)
    t = wide["t"].to_numpy().astype(float)
    edges = np.linspace(0.0, t[-1], N_BINS + 1)
    columns = sorted((name for name in wide.columns if name != "t"), key=int)
    cells = np.zeros((int(columns[-1]) + 1, N_BINS))
    for name in columns:
        played = np.concatenate([[0.0], wide[name].to_numpy() * t])
        cells[int(name)] = np.diff(np.interp(edges, np.concatenate([[0.0], t]), played)) / np.diff(edges)
    return Map(cells, [str(arm) for arm in range(len(cells))], [])


def _steps(path: pl.DataFrame, T: int) -> list[dict[str, float]]:
    """The planted path as level lines; nothing where it would be a blur."""
    if path.height > MOST_SEGMENTS:
        return []
    return path.select(x="start", x2=pl.col("start").shift(-1, fill_value=T), y="arm").to_dicts()


def beliefs(frames: Frames, styles: Mapping[str, Style]) -> Spec | None:
    """The switches that were believed in the game of the first seed, over the arms played and the planted path."""
    if not frames.has("shares"):
        return None
    assert frames.beliefs is not None
    maps: dict[tuple[str, str], Map] = {}
    played, first = maps_of(frames, styles), frames.beliefs["seed"].min()
    believed = frames.beliefs.filter(pl.col("seed") == first)
    for (environment, learner), one in believed.group_by("environment", "learner", maintain_order=True):
        key = str(environment), str(learner)
        if key in played:
            maps[key] = played[key]._replace(marks=marks_of(one, len(played[key].cells)))
    return figure(frames, maps, "share of rounds", "arm", styles) if maps else None


def marks_of(believed: pl.DataFrame, n_rows: int) -> list[Mark]:
    """A mark where each belief but the first began, on its arm."""
    rows = believed.sort("start").select("start", "arm", "sure").rows()
    return [
        Mark(start, arm, f"from arm {left} to arm {arm} in round {start:,}, {100 * sure:.0f} % sure")
        for (_, left, _), (start, arm, sure) in pairwise(rows)
        if arm < n_rows
    ]
