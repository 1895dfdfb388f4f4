"""The shares of the next m pulls, slow and obvious: one level, found by halving, at which all arms want m pulls.

An index falls with pulls: that of kl-UCB is the level L above the mean where n kl(mean, L) = c, that of UCB is
L = mean + sqrt(c/n). Pulled until its index is L, an arm has c/kl(mean, L) pulls, or c/(L - mean)²; it wants what it
lacks of them. Levels are halved on a scale on which those close to their limits keep their digits: the log odds of L,
or the logarithm of its distance from the largest mean. Arithmetic is numpy's long double.

An arm without a reward is planned at most max(1, ceil(m/K)) pulls, of K living arms. kl-UCB knows nothing of it, and
plans these pulls first; if they are m or more, these arms alone are planned, evenly. UCB has a mean for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tests.naive.solve import REAL, Reals, reals

HALVINGS = 150
TINY = np.finfo(REAL).tiny


class Known(NamedTuple):
    """What a base knows of its arms: their mean rewards, pulls, the c of each index, and who has had a reward."""

    means: Reals
    pulls: Reals
    c: Reals
    tried: Sequence[bool]


def shares(known: Known, m: int, K: int, *, with_kl: bool) -> Reals:
    """Of m pulls, K arms living."""
    tried, limit = np.array(known.tried), REAL(max(1, math.ceil(m / K)))
    left = m - limit * (~tried).sum() if with_kl else REAL(m)
    if not tried.any() or left <= 0:
        pulls = np.where(tried, REAL(0), REAL(1))
    elif with_kl:
        pulls = np.where(tried, REAL(0), limit)
        pulls[tried] = pulls_by_kl(known.means[tried], known.pulls[tried], known.c[tried], left)
    else:
        pulls = pulls_by_root(known, limit, left)
    out: Reals = pulls / pulls.sum()
    return out


def pulls_by_kl(means: Reals, pulls: Reals, c: Reals, m: REAL) -> Reals:
    """An index of an arm whose mean is 1 is 1 for ever: such arms get all."""
    if means.max() >= 1:
        sure: Reals = (means >= 1) * (m / (means >= 1).sum())
        return sure

    def wanted(odds: REAL) -> Reals:
        short = np.log1p(np.exp(-abs(odds)))
        ln_level, ln_rest = -max(-odds, REAL(0)) - short, -max(odds, REAL(0)) - short  # ln L and ln(1 - L)
        ones = np.where(means > 0, means * (np.log(np.maximum(means, TINY)) - ln_level), 0)
        far = ones + (1 - means) * (np.log1p(-means) - ln_rest)
        room: Reals = np.maximum(c / np.maximum(far, TINY) - pulls, 0)
        return room

    best = means.max()
    return halved(wanted, np.log(best) - np.log1p(-best) if best > 0 else REAL(-5000), REAL(1e25), m)


def pulls_by_root(known: Known, limit: REAL, m: REAL) -> Reals:
    tried = np.array(known.tried)
    best, most = known.means[tried].max(), np.where(tried, m, limit)

    def wanted(distance: REAL) -> Reals:
        far = (best - known.means) + np.exp(distance)
        room = np.maximum(known.c / np.where(far > 0, far, 1) ** 2 - known.pulls, 0)
        at_most: Reals = np.minimum(np.where(far > 0, room, most), most)
        return at_most

    return halved(wanted, REAL(-100), REAL(100), m)


def halved(wanted: Callable[[REAL], Reals], low: REAL, high: REAL, m: REAL) -> Reals:
    """What is wanted where it is m in all; it falls from `low` to `high`."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if wanted(middle).sum() > m else (low, middle)
    return wanted(high)


def largest(indices: Sequence[float], living: Sequence[int], m: int, every: int, most: int) -> list[int]:
    """Which arms are planned: all up to `every`, of more those with the largest indices, the first of equals."""
    size = len(living) if len(living) <= every else max(min(m, most), every)
    return sorted(living, key=lambda k: (-indices[k], k))[:size]


def spread(known: Known, arms: Sequence[int], m: int, K: int, n: int, *, with_kl: bool) -> Reals:
    """The shares of all n arms there ever were: these are planned, K are living."""
    row = reals([0.0] * n)
    row[list(arms)] = shares(known, m, K, with_kl=with_kl)
    return row
