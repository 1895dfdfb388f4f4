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


def gain_over_stream(
    strata: list[tuple[list[float], list[float]]], low: float, high: float, factor: float = 1.0
) -> Found:
    """Of each stratum the rewards of the learn stream, and of the rival."""
    value, centre, square = 0.0, 0.0, 0.0
    total = sum(len(ours) for ours, _ in strata)
    for ours, theirs in strata:
        n, more = len(ours), 4.0 * len(ours) / total  # the four extra decisions, shared out
        value += sum(ours) - n * sum(theirs) / len(theirs)
        count = len(theirs) + more
        mean = (sum(theirs) + more * (low + high) / 2.0) / count
        centre += sum(ours) - n * mean
        spread = sum((r - mean) ** 2 for r in theirs) + more * ((low - mean) ** 2 + (high - mean) ** 2) / 2.0
        square += n * n * (1.0 / count + 1.0 / n) * spread / count
    return around(value, centre, Z * math.sqrt(factor * square))


def gain_over_arm(arm: str, rows: list[Row], chances: list[float], low: float, high: float) -> Found:
    """Of rows in which the arm had these chances."""
    n, total = len(rows), sum(r for _, _, r in rows)
    own = [row for row in rows if row[0] == arm]
    more = with_four(own, low, high)
    extra = 1.0 / more[-1][1] - 1.0  # the four stand for what was not seen only
    known = sum(1.0 / p for _, p, _ in own)
    sought = sum(r / p for _, p, r in own) + extra * (2.0 * low + 2.0 * high)
    mean = weighted(more)
    seen = (n / known) ** 2 * sum((1.0 / p) * (1.0 / p - 1.0) * (r - mean) ** 2 for _, p, r in more)
    spread = sum((r - mean) ** 2 / p for _, p, r in more) / sum(1.0 / p for _, p, _ in more)
    expected = spread * sum(1.0 / p - 1.0 for p in chances)
    half = Z * math.sqrt(math.sqrt(seen * expected))
    return around(total - n * weighted(own), total - n * sought / (known + 4.0 * extra), half)


def clustering(decisions: list[tuple[int, int, float]], n_learn: list[int]) -> float:
    """Of the rival's decisions (stratum, group of units, reward): their variance by group over that one by one."""
    weights, means = [], []
    for stratum, n in enumerate(n_learn):
        rewards = [r for i, _, r in decisions if i == stratum]
        weights.append(n * math.sqrt(1.0 / len(rewards) ** 2 + 1.0 / (len(rewards) * n)))
        means.append(sum(rewards) / len(rewards))
    groups = {group for _, group, _ in decisions}
    sums = [sum(weights[i] * (r - means[i]) for i, one, r in decisions if one == group) for group in groups]
    alone = sum((weights[i] * (r - means[i])) ** 2 for i, _, r in decisions)
    return max(sum(one * one for one in sums) * len(groups) / (len(groups) - 1.0) / alone, 1.0)


def worth(n: float, to: list[Row], left: list[Row], low: float, high: float) -> Found:
    value = n * (weighted(to) - weighted(left))
    more, less = with_four(to, low, high), with_four(left, low, high)
    centre = n * (weighted(more) - weighted(less))
    return around(value, centre, Z * n * math.sqrt(variance(more) + variance(less)))
