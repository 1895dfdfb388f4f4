"""The leaderboard of a race, per environment and over all of them.

Both are made from the finals: environment, learner, seed, score, regret, loss, ns_per_round, a row for each cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from turncoat.learners.entries import by_feedback_group
from turncoat.optional_imports import require
from turncoat.statistics import Estimate, mean_ranks, means, ranks
from turncoat.types import Floats

if TYPE_CHECKING:
    import polars as pl


def leaderboard(finals: pl.DataFrame, settings: Mapping[str, str]) -> pl.DataFrame:
    """For each environment, best first: mean regret and rank with 95 % intervals over seeds, least time per round.

    `regret` is that against the planted path, in mean, and `exact_regret` that against L*(S). Where nothing is planted
    both are the latter. With one seed there is no interval. Ranks are among learners of a group, which stand together.
    """
    pl = require("polars", "a leaderboard")
    kinds = {"environment": pl.String, "learner": pl.String, "setting": pl.String, "rank": pl.Int64}
    kinds |= {"rank_low": pl.Int64, "rank_high": pl.Int64, "regret": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    kinds |= {"exact_regret": pl.Float64, "loss": pl.Float64, "seeds": pl.Int64, "ns_per_round": pl.Float64}
    rows = []
    for _, here in finals.group_by("environment", maintain_order=True):
        for group in by_feedback_group(here["learner"].unique(maintain_order=True), settings).values():
            standings = _standings(here.filter(pl.col("learner").is_in(group)))
            rows += sorted(standings, key=lambda row: float(row["regret"]))
    return pl.DataFrame([row | {"setting": settings.get(row["learner"], "")} for row in rows], kinds)  # type: ignore[no-any-return]


def _standings(here: pl.DataFrame) -> list[dict[str, Any]]:
    """The learners of one environment and group."""
    rows = []
    for (learner,), mine in here.group_by("learner", maintain_order=True):
        mean = means(mine["score"])
        rows.append(
            {
                "environment": mine["environment"][0],
                "learner": learner,
                "regret": float(mean.value),
                "low": _finite(mean.low),
                "high": _finite(mean.high),
                "exact_regret": mine["regret"].mean(),
                "loss": mine["loss"].mean(),
                "seeds": mine.height,
                "ns_per_round": mine["ns_per_round"].min(),
            }
        )
    found = ranks(_scores(here)[1][0])
    for row, low, high in zip(rows, found.low.tolist(), found.high.tolist(), strict=True):
        better = sum(other["regret"] < row["regret"] for other in rows)
        row |= {"rank": 1 + better, "rank_low": low, "rank_high": high}
    return rows


def overall(finals: pl.DataFrame, settings: Mapping[str, str]) -> pl.DataFrame:
    """The learners, best first: the rank each takes in a single game, averaged over environments and seeds.

    Ranks are among learners of a group, which stand together. The 95 % interval is over seeds, for these environments.
    Seeds that not everybody of a group has finished everywhere are left out: without any there is no rank, and with a
    single one no interval.
    """
    pl = require("polars", "standings")
    groups = by_feedback_group(finals["learner"].unique(maintain_order=True), settings).values()
    parts = [_mean_ranks(finals.filter(pl.col("learner").is_in(group))) for group in groups]
    frame = pl.concat(parts or [_mean_ranks(finals)])
    stated = pl.Series("setting", [settings.get(learner, "") for learner in frame["learner"]], pl.String)
    return frame.insert_column(1, stated)  # type: ignore[no-any-return]


def _mean_ranks(finals: pl.DataFrame) -> pl.DataFrame:
    """The learners of one group, best first."""
    pl = require("polars", "standings")
    learners, scores = _scores(finals)
    found = mean_ranks(scores) if learners else Estimate(*np.empty((3, 0)))
    if scores.shape[-1] < 2:
        found = found._replace(low=found.low * math.nan, high=found.high * math.nan)
    columns = [[_finite(x) for x in part.tolist()] for part in found]
    kinds = {"learner": pl.String, "mean_rank": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    frame = pl.DataFrame([learners, *columns], kinds)
    times = finals.group_by("learner").agg(pl.col("ns_per_round").median())
    return frame.join(times, on="learner", maintain_order="left").sort("mean_rank", nulls_last=True)  # type: ignore[no-any-return]


def _scores(finals: pl.DataFrame) -> tuple[list[str], Floats]:
    """The learners, and scores over (environments, learners, seeds), of the seeds that all have finished everywhere."""
    names = [finals[column].unique(maintain_order=True).to_list() for column in ("environment", "learner", "seed")]
    places = [{name: i for i, name in enumerate(known)} for known in names]
    scores = np.full([len(known) for known in names], math.nan)
    for *at, score in finals.select("environment", "learner", "seed", "score").iter_rows():
        scores[tuple(place[name] for place, name in zip(places, at, strict=True))] = score
    return names[1], scores[..., ~np.isnan(scores).any(axis=(0, 1))]


def _finite(bound: Any) -> float | None:
    """A mean, or an end of its interval; none where there is none."""
    return float(bound) if math.isfinite(bound) else None
