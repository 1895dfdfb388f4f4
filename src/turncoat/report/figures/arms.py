"""The arms that learners played over time, as maps under the planted path."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from turncoat.report.figures.maps import N_BINS, Map, figure
from turncoat.report.frames import Frames
from turncoat.report.styles import Look

MOST_SEGMENTS = 200  # of a planted path that is still drawn


def arms(frames: Frames, looks: Mapping[str, Look]) -> alt.ConcatChart:
    """The arms that were played in the game of the first seed, and the planted path as a line."""
    return figure(frames, maps_of(frames, looks), "share of rounds", "arm", looks)


def maps_of(frames: Frames, looks: Mapping[str, Look]) -> dict[tuple[str, str], Map]:
    """The map of each environment and learner."""
    assert frames.shares is not None
    first = frames.shares["seed"].min()
    shares = frames.shares.filter(pl.col("seed") == first)
    maps = {
        (str(environment), str(learner)): map_of(one)
        for (environment, learner), one in shares.group_by("environment", "learner", maintain_order=True)
        if learner in looks
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
