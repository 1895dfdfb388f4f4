"""A race small enough for a test, and the same with many learners."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, replace

import polars as pl

import turncoat as tc
from turncoat.environments import suite
from turncoat.errors import TuningWarning
from turncoat.learners.entries import ENTRIES
from turncoat.racing.report_frames import frames_of
from turncoat.report import Frames

LEARNERS = (
    "adaptive-master-base, shared",
    "adaptive-master-base",
    "master-base",
    "clipped-omd, told S",
    "exp3.s, told S",
    "exp3",
)


def sample(horizon: int = 2000, n_seeds: int = 3) -> Frames:
    """Six learners on the four environments of the suite `quick`, with everything a report can draw."""
    horizons = [horizon // 16, horizon // 4, horizon]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TuningWarning)
        makers = {name: ENTRIES[name] for name in LEARNERS}
        result = tc.race(makers, suite("quick"), horizons, seeds=n_seeds, max_switches=30, split=True)
    return believing(replace(frames_of(result), title="Turncoat: the sample race"))


def believing(frames: Frames) -> Frames:
    """The same race, as if one of its learners explained itself: it believes the planted path, 20 rounds late."""
    assert frames.planted is not None
    late = frames.planted.filter(seed=0).with_columns(pl.col("start") + 20, learner=pl.lit("master-base"), sure=0.9)
    return replace(frames, beliefs=late)


def crowd(frames: Frames, n: int) -> Frames:
    """The same race with n learners: the ones there are, again and again under further names."""
    learners = frames.learners()
    names = {one: [f"{one} {i}" for i in range(math.ceil(n / len(learners)))] for one in learners}
    kept = [names[one][i] for i in range(math.ceil(n / len(learners))) for one in learners][:n]
    shift = {name: i for i, name in enumerate(kept)}
    many: dict[str, pl.DataFrame] = {}
    for field in fields(frames):
        frame = getattr(frames, field.name)
        if isinstance(frame, pl.DataFrame) and "learner" in frame.columns and field.name != "overall":
            again = frame.with_columns(pl.col("learner").replace_strict(names)).explode("learner")
            again = again.filter(pl.col("learner").is_in(kept))
            if "regret" in again.columns:  # no two the same
                grown = 1 + 0.04 * pl.col("learner").replace_strict(shift)
                again = again.with_columns(pl.col("^(regret|low|high)$") * grown)
            many[field.name] = again
    place = pl.col("regret").rank("ordinal").over("environment").cast(pl.Int64)
    many["leaderboard"] = many["leaderboard"].with_columns(rank=place, rank_low=place, rank_high=place)
    return replace(frames, overall=None, **many)  # type: ignore[arg-type]


def some_games(frames: Frames, *environments: str) -> Frames:
    """The same race in these games only."""
    return replace(frames, games=frames.games.filter(pl.col("environment").is_in(environments)))


def in_games(frames: Frames, n: int) -> Frames:
    """The same race in n games: the first one there is, again and again under further names."""
    first = frames.environments()[0]
    many: dict[str, pl.DataFrame] = {}
    for field in fields(frames):
        frame = getattr(frames, field.name)
        if isinstance(frame, pl.DataFrame) and "environment" in frame.columns:
            again = frame.filter(pl.col("environment") == first).with_columns(
                pl.lit([f"game {i}" for i in range(n)]).alias("environment")
            )
            many[field.name] = again.explode("environment")
    return replace(frames, **many)  # type: ignore[arg-type]


def stating(frames: Frames, settings: dict[str, str]) -> Frames:
    """The same race, with what losses the learners are for; those not named say nothing."""
    stated = pl.col("learner").replace_strict(settings, default="").alias("setting")
    return replace(frames, leaderboard=frames.leaderboard.with_columns(stated), overall=None)
