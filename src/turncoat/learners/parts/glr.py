"""The Bernoulli GLR test for one change of mean, online, in bounded memory.

n rewards in [0, 1] have been seen. With m(s) the mean of the first s, m'(s) that of the others, m that of all, the
evidence that the mean has changed somewhere is
    max over 0 < s < n of  s kl(m(s), m) + (n - s) kl(m'(s), m)                         (1)

Which splits s can ever attain the maximum? Draw the points (s, sum of the first s rewards). The statistic in (1) is
    s phi(sum/s) + (n - s) phi((total - sum)/(n - s)) - n phi(total/n),    phi(x) = x ln x + (1 - x) ln(1 - x),
and x, y -> x phi(y/x) is convex (the perspective of a convex function), so the statistic is a convex function of the
point, whatever n and total will be. Such a function is largest at a corner of the points' convex hull. So only corners
are kept, in two chains, the lower (changes upwards) and the upper one (downwards); a new point can remove corners
behind it for ever. This is exact. Of n independent rewards about 2 ln n are corners; of a smooth drift, nearly all.

Where a chain is full, an approximation begins: the corner i is dropped whose neighbours are nearest, that is, with the
least (s(i+1) - s(i-1)) / min(s(i), n - s(i)). What stays is spaced geometrically from both ends, so for every split
there is one that differs from it by a bounded factor, and the newest corners are always tried. A maximum over fewer
splits is never larger: thinning can delay an alarm, and cannot raise one (docs/learners/glr-kl-ucb.md measures how
much).

(1) is evaluated only where it may matter: kl(p, q) ≤ (p - q)²/(q (1 - q)), so (1) is at most
    s (n - s)/n (m(s) - m'(s))²/(m (1 - m))                                             (2)

Cost: O(1) amortised to add a reward (O(size of a chain) once it is full), O(corners) to test, nearly all by (2).
References: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient change-point detection for tackling
piecewise-stationary bandits", JMLR 23 (2022), for the test; G. Romano, I. Eckley, P. Fearnhead, G. Rigaill, "Fast
online changepoint detection via functional pruning CUSUM statistics", JMLR 24 (2023), for pruning.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat._compile.jit import jit
from turncoat.types import Vector

LOWER, UPPER = 1.0, -1.0  # which side of the points a chain runs along


@jit
def kl(p: float, q: float) -> float:
    """kl(p, q) = p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)), for 0 ≤ p ≤ 1 and 0 < q < 1; precise also near p = q."""
    d = q - p
    ones = -p * math.log1p(d / p) if p > 0.0 else 0.0
    zeros = -(1.0 - p) * math.log1p(-d / (1.0 - p)) if p < 1.0 else 0.0
    return max(ones + zeros, 0.0)


@jit
def extend(at: Vector, sums: Vector, size: int, side: float) -> int:
    """Put the newest point, which stands behind the `size` corners of a chain, into its place; the chain's new size.

    at[0] = sums[0] = 0 is the corner before the first reward; the last corner is always the newest point.
    """
    s, total = at[size], sums[size]
    while size > 1:
        a, b = size - 2, size - 1
        if side * ((at[b] - at[a]) * (total - sums[a]) - (sums[b] - sums[a]) * (s - at[a])) > 0.0:
            break
        size -= 1
    at[size], sums[size] = s, total
    if size + 2 > at.size:  # no room for another point behind
        size -= 1
        drop_one(at, sums, size + 1)
    return size + 1


@jit
def drop_one(at: Vector, sums: Vector, last: int) -> None:
    """Drop the corner whose neighbours are nearest, of those between the first and the last."""
    n = at[last]
    crowded, least = 1, math.inf
    for i in range(1, last):
        room = (at[i + 1] - at[i - 1]) / min(at[i], n - at[i])
        if room < least:
            crowded, least = i, room
    for i in range(crowded, last):
        at[i], sums[i] = at[i + 1], sums[i + 1]


@jit
def evidence(at: Vector, sums: Vector, size: int, least: float) -> float:
    """The largest statistic of the splits in a chain (1), or `least` if none is larger."""
    n, total = at[size - 1], sums[size - 1]
    m = total / n if n > 0.0 else 0.0
    spread = m * (1.0 - m)
    if spread <= 0.0:
        return least
    for i in range(1, size - 1):
        s = at[i]
        before, after = sums[i] / s, (total - sums[i]) / (n - s)
        if s * (n - s) / n * (before - after) ** 2 > least * spread:  # (2)
            after = min(max(after, 0.0), 1.0)
            least = max(least, s * kl(before, m) + (n - s) * kl(after, m))  # (1)
    return least


def chain_damage(at: Vector, sums: Vector, size: float, n: float, total: float) -> str:
    """What no chain of an arm with n rewards of this total holds; empty if there is nothing. All counts are whole."""
    if not (2 if n > 0 else 1) <= size <= at.size - 1:
        return "sizes are not those of its chains"
    at, sums = at[: int(size)], sums[: int(size)]
    steps, rounding = np.diff(sums), 1e-9 + 1e-11 * n  # which is as large as the sums are, not as their steps
    if np.any(np.diff(at) <= 0) or np.any(steps < 0) or np.any(steps > np.diff(at) + rounding):
        return "at and split_sums are no sums of rewards"
    if at[0] != 0 or sums[0] != 0 or at[-1] != n or sums[-1] != total:
        return "at and split_sums do not run from the first reward to the last"
    return ""
