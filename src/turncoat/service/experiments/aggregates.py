"""Aggregates: sums over closed decisions in buckets of time, enough for the charts and estimates of long logs.

w = 1 / propensity. Three widths: fine buckets are kept for hours, coarse ones for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import NamedTuple

from turncoat.service.store.interface import Row

FINE, MIDDLE, COARSE = 10, 300, 10_800
WIDTHS = {FINE: 7_200.0, MIDDLE: 691_200.0, COARSE: float("inf")}  # width: retention, in seconds
MOST = 60  # windows that a life is divided into
SMALLEST = 1e-30  # propensity: with it sums of w² r² stay finite
KEYS = ("experiment", "width", "start", "arm", "stream")
SUMS = ("n", "n_rewarded", "n_defaulted", "n_expired", "r", "r2", "w", "w2", "wr", "w2r", "w2r2")


class Closed(NamedTuple):
    """The fields of a closed decision that are summed."""

    decided_at: float
    arm: str
    stream: str
    outcome: str
    reward: float | None
    propensity: float


def bucket_rows(experiment: int, closed: Iterable[Closed]) -> list[Row]:
    """The sums to add to each bucket, sorted by key. Each width is a multiple of the one before."""
    sums: dict[tuple[int, str, str], list[float]] = {}
    finest = min(WIDTHS)
    for one in closed:
        _add(sums, (int(one.decided_at // finest) * finest, one.arm, one.stream), terms(one))
    rows: list[Row] = []
    for width in WIDTHS:
        wide: dict[tuple[int, str, str], list[float]] = {}
        for (start, arm, stream), held in sums.items():
            _add(wide, (start // width * width, arm, stream), held)
        rows += [(experiment, width, *key, *map(int, held[:4]), *held[4:]) for key, held in sorted(wide.items())]
    return rows


def _add(sums: dict[tuple[int, str, str], list[float]], key: tuple[int, str, str], more: Sequence[float]) -> None:
    held = sums.get(key)
    sums[key] = list(more) if held is None else list(map(add, held, more))


def terms(one: Closed) -> tuple[float, ...]:
    """What one decision adds to SUMS."""
    counts = (1.0, *(float(one.outcome == outcome) for outcome in ("rewarded", "defaulted", "expired")))
    if one.reward is None:
        return (*counts, *[0.0] * (len(SUMS) - len(counts)))
    r, w = one.reward, 1.0 / max(one.propensity, SMALLEST)
    return (*counts, r, r * r, w, w * w, w * r, w * w * r, w * w * r * r)


def width_for(age: float) -> int:
    """The narrowest buckets that are retained for this age, unless there would be too many."""
    return FINE if age <= 7_000.0 else MIDDLE if age <= 345_600.0 else COARSE


def step_for(age: float) -> int:
    """The length of a window in seconds: a multiple of the buckets' width."""
    width = width_for(age)
    return width * max(-(-int(age) // (width * MOST)), 1)
