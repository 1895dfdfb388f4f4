"""Who did best: the leaderboard of a race."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from turncoat.race.packages import needed
from turncoat.race.statistics import means

if TYPE_CHECKING:
    import polars as pl


def leaderboard(traces: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """For each environment, best first: mean regret with a 95 % interval over seeds, rank, the fastest time a round.

    `regret` is that against the planted path, in mean, and `exact_regret` that against L*(S). Where nothing is planted
    both are the latter. With one seed there is no interval.
    """
    pl = needed("polars", "a leaderboard")
    by = ["environment", "learner"]
    last = traces.filter(pl.col("t") == pl.col("t").max().over(*by, "seed"))
    scored = last.with_columns(score=pl.coalesce("pseudo_regret", "regret"))
    board = scored.group_by(by, maintain_order=True).agg(
        pl.col("score"),
        exact_regret=pl.col("regret").mean(),
        loss=pl.col("loss").mean(),
        seeds=pl.len().cast(pl.Int64),
    )
    found = [means([math.nan if score is None else score for score in scores]) for scores in board["score"].to_list()]
    board = board.with_columns(
        regret=pl.Series([_finite(mean.value) for mean in found], dtype=pl.Float64),
        low=pl.Series([_finite(mean.low) for mean in found], dtype=pl.Float64),
        high=pl.Series([_finite(mean.high) for mean in found], dtype=pl.Float64),
    )
    speeds = times.group_by(by, maintain_order=True).agg(pl.col("ns_per_round").min())
    places = {name: i for i, name in enumerate(board["environment"].unique(maintain_order=True))}
    order = pl.col("environment").replace_strict(places, return_dtype=pl.Int64)
    ranked = board.join(speeds, on=by, how="left", maintain_order="left").with_columns(
        rank=pl.coalesce("regret", "loss").rank("min").over("environment").cast(pl.Int64)
    )
    columns = [*by, "rank", "regret", "low", "high", "exact_regret", "loss", "seeds", "ns_per_round"]
    return ranked.sort(order, "rank", maintain_order=True).select(columns)


def _finite(bound: Any) -> float | None:
    """A mean, or an end of its interval; none where there is none."""
    return float(bound) if math.isfinite(bound) else None
