"""Slow, obvious UCB rules: the whole history is kept, and every index is computed from it anew.

`indices()` is what the next round compares; `tell` appends a round. Rewards are 1 - loss. An arm without samples has
index infinity.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from tests.naive.solve import REAL

DIGITS = 40
HALVINGS = 120


def kl(p: Decimal, q: Decimal) -> Decimal:
    """kl of two Bernoulli means, 0 < q < 1."""
    first = p * (p / q).ln() if p > 0 else Decimal(0)
    second = (1 - p) * ((1 - p) / (1 - q)).ln() if p < 1 else Decimal(0)
    return first + second


def kl_upper(p: float | REAL, level: float | REAL) -> float:
    """The largest q in [p, 1] with kl(p, q) <= level, by halving, in 40 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        mean, most = exact(p), exact(level)
        low, high = mean, Decimal(1)
        for _ in range(HALVINGS):
            q = (low + high) / 2
            if q <= 0 or (q < 1 and kl(mean, q) <= most):
                low = q
            else:
                high = q
        return float(low)


def exact(x: float | REAL) -> Decimal:
    """All digits of a long double."""
    high = float(x)
    return Decimal(high) + Decimal(float(REAL(x) - REAL(high)))


class IndexRule:
    """What they share: the history, and an index from weighted samples."""

    def __init__(self, K: int, T: int | None = None) -> None:
        self.K = K
        self.T = T
        self.rounds: list[tuple[int, float]] = []

    def tell(self, a: int, loss: float) -> None:
        self.rounds.append((a, loss))

    def weights(self) -> list[REAL]:
        """What each round of the history counts."""
        return [REAL(1)] * len(self.rounds)

    def confidence(self, n: REAL) -> REAL:
        """c of an index, given the total weight."""
        raise NotImplementedError

    def kind(self) -> str:
        """ "ucb" or "kl"."""
        raise NotImplementedError

    def indices(self) -> list[float]:
        counts = np.zeros(self.K, dtype=REAL)
        sums = np.zeros(self.K, dtype=REAL)
        for (a, loss), w in zip(self.rounds, self.weights(), strict=True):
            counts[a] += w
            sums[a] += w * (1 - REAL(loss))
        c = max(self.confidence(counts.sum()), REAL(0)) if self.rounds else REAL(0)
        return [self.index(counts[a], sums[a], c) for a in range(self.K)]

    def index(self, n: REAL, total: REAL, c: REAL) -> float:
        if n == 0:
            return math.inf
        if self.kind() == "kl":
            return kl_upper(total / n, c / n)
        return float(total / n + np.sqrt(c / n))


class UCB1(IndexRule):
    """Auer, Cesa-Bianchi & Fischer 2002: mean + sqrt(2 ln t/n), t the number of plays so far."""

    def __init__(self, K: int, T: int | None = None, exploration: float = 2.0) -> None:
        super().__init__(K, T)
        self.exploration = REAL(exploration)

    def confidence(self, n: REAL) -> REAL:
        return REAL(self.exploration * np.log(n))

    def kind(self) -> str:
        return "ucb"


class KLUCB(IndexRule):
    """Garivier & Cappé 2011: the largest q with n kl(mean, q) <= ln t + c ln ln t."""

    def __init__(self, K: int, T: int | None = None, extra: float = 0.0) -> None:
        super().__init__(K, T)
        self.extra = REAL(extra)

    def confidence(self, n: REAL) -> REAL:
        return REAL(np.log(n) + self.extra * np.log(max(np.log(n), REAL(1))))

    def kind(self) -> str:
        return "kl"
