"""Estimates from logged decisions, in plain Python: one loop over the raw rows a sum, no bucket anywhere.

A row is (arm, propensity, reward). The four extra decisions of the variances are appended as rows.
"""

from __future__ import annotations

import math

Row = tuple[str, float, float]
Found = tuple[float, float, float]

Z = 1.959963984540054


def with_four(rows: list[Row], low: float, high: float) -> list[Row]:
    weights = [1.0 / p for _, p, _ in rows]
    weight = sum(w * w for w in weights) / sum(weights)
    return [*rows, *[(rows[0][0], 1.0 / weight, reward) for reward in (low, low, high, high)]]


def weighted(rows: list[Row]) -> float:
    return sum(r / p for _, p, r in rows) / sum(1.0 / p for _, p, _ in rows)


def variance(rows: list[Row]) -> float:
    mean = weighted(rows)
    return sum(((r - mean) / p) ** 2 for _, p, r in rows) / sum(1.0 / p for _, p, _ in rows) ** 2


def around(value: float, centre: float, half: float) -> Found:
    return value, min(value, centre - half), max(value, centre + half)


def mean_reward(rows: list[Row], low: float, high: float) -> Found:
    more = with_four(rows, low, high)
    value, start, end = around(weighted(rows), weighted(more), Z * math.sqrt(variance(more)))
    return value, max(low, start), min(high, end)


def evenly(rows: list[Row]) -> list[Row]:
    return [(arm, 1.0, reward) for arm, _, reward in rows]


def gain_over_control(learn: list[Row], control: list[Row], low: float, high: float) -> Found:
    n, total = len(learn), sum(r for _, _, r in learn)
    ours, theirs = (with_four(evenly(rows), low, high) for rows in (learn, control))
    half = Z * n * math.sqrt(variance(ours) + variance(theirs))
    return around(total - n * weighted(evenly(control)), total - n * weighted(theirs), half)


def gain_over_path(segments: list[tuple[str, list[Row]]], low: float, high: float) -> Found:
    value, centre, spread = 0.0, 0.0, 0.0
    for arm, rows in segments:
        n, total = len(rows), sum(r for _, _, r in rows)
        own = [row for row in rows if row[0] == arm]
        value += total - n * weighted(own)
        more = with_four(own, low, high)
        extra = 1.0 / more[-1][1] - 1.0  # the four stand for what was not seen only
        known = sum(1.0 / p for _, p, _ in own)
        sought = sum(r / p for _, p, r in own) + extra * (2.0 * low + 2.0 * high)
        centre += total - n * sought / (known + 4.0 * extra)
        mean = weighted(more)
        spread += (n / known) ** 2 * sum((1.0 / p) * (1.0 / p - 1.0) * (r - mean) ** 2 for _, p, r in more)
    return around(value, centre, Z * math.sqrt(spread))


def worth(n: float, to: list[Row], left: list[Row], low: float, high: float) -> Found:
    value = n * (weighted(to) - weighted(left))
    more, less = with_four(to, low, high), with_four(left, low, high)
    centre = n * (weighted(more) - weighted(less))
    return around(value, centre, Z * n * math.sqrt(variance(more) + variance(less)))
