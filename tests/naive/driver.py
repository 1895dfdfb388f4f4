"""Play an oracle, write down every round, and play the rounds back to anything.

    rounds = record(AdaptiveMasterBase(10, 5000), bernoulli(5000, 10, seed=1), seed=2)
    oracle = AdaptiveMasterBase(10, 5000)
    for one in rounds:
        tell(oracle, one)            # then compare oracle.probabilities() with what was told the same round

A rule's state changes with tells alone, so the rounds are listed in the order of their tells; with `delay` that is
another order than that of the draws, and what was served is older than the state it meets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.naive.learners import Single
from tests.naive.masters import Master

Oracle = Single | Master
Row = Sequence[float] | NDArray[np.float64]
Rows = Iterator[Row]


class Round(NamedTuple):
    """One round: what was drawn, with which probabilities, and what it cost. q is the marginal over arms."""

    a: int
    base: int | None
    p_master: float | None
    p_base: float | None
    q: float
    loss: float


def record(oracle: Oracle, losses: Iterable[Row], seed: int, delay: int = 0) -> list[Round]:
    """Let the oracle play against the rows of losses; the rounds, in the order in which they were told.

    With a delay, up to that many rounds are outstanding, and each round any one of them is told.
    """
    chance = random.Random(seed)
    outstanding: list[Round] = []
    told: list[Round] = []
    for row in losses:
        outstanding.append(ask(oracle, row, chance))
        if len(outstanding) > delay:
            told.append(outstanding.pop(chance.randrange(len(outstanding))))
            tell(oracle, told[-1])
    chance.shuffle(outstanding)
    for one in outstanding:
        told.append(one)
        tell(oracle, one)
    return told


def ask(oracle: Oracle, row: Row, chance: random.Random) -> Round:
    """Draw one round from what the oracle serves now."""
    if isinstance(oracle, Single):
        p = oracle.probabilities()
        a = draw(p, chance)
        return Round(a, None, None, None, p[a], float(row[a]))
    p_master = oracle.master()
    base = draw(p_master, chance)
    p_base = oracle.base(base)
    a = draw(p_base, chance)
    return Round(a, base, p_master[base], p_base[a], oracle.propensity(a), float(row[a]))


def tell(oracle: Oracle, one: Round) -> None:
    """Tell the oracle one round."""
    if isinstance(oracle, Single):
        oracle.tell(one.a, one.loss, one.q)
        return
    assert one.base is not None and one.p_master is not None and one.p_base is not None
    oracle.tell(one.a, one.loss, one.base, one.p_master, one.p_base, one.q)


def draw(p: list[float], chance: random.Random) -> int:
    """An index drawn with these probabilities."""
    sums = list(accumulate(p))
    u = chance.random() * sums[-1]
    return next((i for i, total in enumerate(sums) if u < total), len(p) - 1)


# Losses: rows of K numbers in [0, 1], one a round, made as they are read.


def bernoulli(T: int, K: int, seed: int = 0) -> Rows:
    """0/1 losses with a mean for each arm, drawn once."""
    rng = np.random.default_rng(seed)
    means = rng.random(K)
    for _ in range(T):
        yield (rng.random(K) < means).astype(float)


def real_valued(T: int, K: int, seed: int = 0) -> Rows:
    """Losses anywhere in [0, 1], arms with different means."""
    rng = np.random.default_rng(seed)
    powers = 4 * rng.random(K)
    for _ in range(T):
        yield rng.random(K) ** powers


def alternating(T: int, K: int, seed: int = 0) -> Rows:
    """Each arm's loss is 0 and 1 in turn, neighbours opposite."""
    for t in range(T):
        yield [float((t + a) % 2) for a in range(K)]


def one_then_another(T: int, K: int, seed: int = 0) -> Rows:
    """The first arm costs nothing in the first half, the last arm in the second; all others always 1."""
    for t in range(T):
        best = 0 if 2 * t < T else K - 1
        yield [float(a != best) for a in range(K)]


def all_ones(T: int, K: int, seed: int = 0) -> Rows:
    """Every arm costs 1: what drives importance-weighted estimates hardest."""
    for _ in range(T):
        yield [1.0] * K


def all_zeros(T: int, K: int, seed: int = 0) -> Rows:
    """Nothing costs anything."""
    for _ in range(T):
        yield [0.0] * K


PATTERNS: dict[str, Callable[..., Rows]] = {
    "bernoulli": bernoulli,
    "real_valued": real_valued,
    "alternating": alternating,
    "one_then_another": one_then_another,
    "all_ones": all_ones,
    "all_zeros": all_zeros,
}
