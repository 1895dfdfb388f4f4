"""Exponential weights without a floor: scores are stored, and the weights are a cache of exp(-score).

Without a floor a single importance-weighted loss can push a weight below anything a float can hold, and a product of
factors would then stay at zero for ever. So the cumulative score of each arm is kept, one weight is recomputed from it
when it changes, and when the total leaves [1e-150, 1e150] all weights are recomputed from scores measured against the
smallest one. An arm whose weight underflowed to 0 comes back when its score is near the smallest again.

A score is a long sum of often equal numbers, whose rounding errors all point the same way (5e-12 after 20,000 rounds of
EXP3). So what rounding takes away is kept: `scores` holds K sums, then K remainders, each below half a unit in the last
place of its sum.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit
from turncoat.mirror.entropy import LARGEST_TOTAL, SMALLEST_TOTAL
from turncoat.mirror.log_barrier import exact_sum
from turncoat.mirror.tree import rebuild, set_leaf, total
from turncoat.types import Vector

_LARGEST_EXPONENT = 300.0


@jit
def charge(scores: Vector, tree: Vector, K: int, a: int, x: float) -> None:
    """Add x, of any sign, to the score of arm a; its weight becomes exp(-score)."""
    add(scores, K, a, x)
    if scores[a] < -_LARGEST_EXPONENT:
        recentre(scores, tree, K)
        return
    set_leaf(tree, K, a, math.exp(-scores[a]))
    weight = total(tree, K)
    if weight < SMALLEST_TOTAL or weight > LARGEST_TOTAL:
        recentre(scores, tree, K)


@jit
def add(scores: Vector, K: int, a: int, x: float) -> None:
    """Add x to the score of arm a, and what rounding takes away to its remainder."""
    high, low = exact_sum(scores[a], x)
    scores[a], scores[K + a] = exact_sum(high, scores[K + a] + low)


@jit
def smallest(scores: Vector, K: int) -> int:
    """The arm with the smallest score."""
    best = 0
    for arm in range(1, K):
        if scores[arm] < scores[best] or (scores[arm] == scores[best] and scores[K + arm] < scores[K + best]):
            best = arm
    return best


@jit
def recentre(scores: Vector, tree: Vector, K: int) -> None:
    """Measure every score against the smallest and recompute all weights: the distribution stays what it is."""
    best = smallest(scores, K)
    lowest, remainder = scores[best], scores[K + best]
    for arm in range(K):
        add(scores, K, arm, -lowest)
        add(scores, K, arm, -remainder)
        tree[arm] = math.exp(-scores[arm])
    rebuild(tree, K)


@jit
def weigh(scores: Vector, rate: float, tree: Vector, K: int) -> None:
    """Set every weight to exp(-rate · (score - smallest score)): for rates that change from round to round."""
    best = smallest(scores, K)
    lowest, remainder = scores[best], scores[K + best]
    for arm in range(K):
        above = (scores[arm] - lowest) + (scores[K + arm] - remainder)
        tree[arm] = math.exp(-rate * max(above, 0.0))
    rebuild(tree, K)


@jit
def softmax(scores: Vector, p: Vector) -> None:
    """p = exp(-score), normalised: the distribution itself, for the few coordinates of a master."""
    H = p.size
    best = smallest(scores, H)
    weight = 0.0
    for h in range(H):
        p[h] = math.exp(-((scores[h] - scores[best]) + (scores[H + h] - scores[H + best])))
        weight += p[h]
    for h in range(H):
        p[h] /= weight
