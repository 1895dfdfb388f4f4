"""Geometric covering intervals: a copy of a learner for every interval {i 2^k, …, (i+1) 2^k - 1}, i ≥ 1, of rounds.

Rounds are t = 1, 2, … Level k has one interval that holds round t as soon as t ≥ 2^k, and none before; so floor(log2 t)
+ 1 copies are live, one per level, and a new one begins at level k whenever 2^k divides t. Any interval of rounds is
made of whole such intervals, at most two of each length (Daniely et al. 2015): a learner with small regret in each of
them has small regret in every interval, and so against every switching path.

Copies are rows of a buffer, one row per level. With a horizon T there are as many levels as it takes to reach it;
without, as many as a clock can ever need.
"""

from __future__ import annotations

from turncoat._compile.jit import jit_rule
from turncoat.mirror.tree import rebuild
from turncoat.types import Matrix, Vector
from turncoat.validation.numbers import MOST_ROUNDS

SUM_TOLERANCE = 1e-6  # far above any rounding of probabilities, far below any real damage


def n_levels(T: int | None) -> int:
    """How many levels are live by round T, or can ever be."""
    return (MOST_ROUNDS if T is None else T).bit_length()


@jit_rule
def n_live(t: int, levels: int) -> int:
    """How many levels have an interval that holds round t."""
    n = 0
    while n < levels and t >> n > 0:
        n += 1
    return n


@jit_rule
def first_round(t: int, k: int) -> int:
    """The first round of level k's interval that holds round t."""
    return t >> k << k


@jit_rule
def expected(weights: Vector, values: Vector, least: float, n: int) -> float:
    """The mean of the first n values above `least`, by these weights.

    Divided by the sum of the weights, though it is 1 but for rounding: so it is exact where all values are 0 or all 1.
    """
    total, mass = 0.0, 0.0
    for i in range(n):
        total += weights[i] * (values[i] - least)
        mass += weights[i]
    return total / mass


@jit_rule
def blend(weights: Vector, copies: Matrix, n: int, tree: Vector, K: int) -> None:
    """Make the leaves of a tree the weighted sum of the first n copies' distributions."""
    for arm in range(K):
        tree[arm] = 0.0
    for k in range(n):
        for arm in range(K):
            tree[arm] += weights[k] * copies[k, arm]
    rebuild(tree, K)


def sum_to_1(shares: Vector | Matrix) -> bool:
    """Does every row sum to 1, but for rounding?"""
    return bool((abs(shares.sum(axis=-1) - 1.0) <= SUM_TOLERANCE).all())
