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
HAIR = Decimal("1e-13")


def kl(p: Decimal, q: Decimal) -> Decimal:
    """kl of two Bernoulli means, 0 < q < 1."""
    first = p * (p / q).ln() if p > 0 else Decimal(0)
    second = (1 - p) * ((1 - p) / (1 - q)).ln() if p < 1 else Decimal(0)
    return first + second


def kl_upper(p: float | REAL, level: float | REAL) -> float:
    """The largest q in [p, 1] with kl(p, q) <= level: halved in 40 digits until both ends are the same float.

    The first two places to look at are a hair off where halving in floats ends; that saves a hundred logarithms.
    """
    if level <= 0:
        return float(p)
    with localcontext() as context:
        context.prec = DIGITS
        mean, most = exact(p), exact(level)
        low, high = mean, Decimal(1)
        near = Decimal(halved(float(p), float(level)))
        places = [near - HAIR, near + HAIR]
        while float(low) < float(high):
            q = places.pop() if places else (low + high) / 2
            if not low < q < high:
                continue
            if q <= 0 or (q < 1 and kl(mean, q) <= most):
                low = q
            else:
                high = q
        return float(low)


def halved(p: float, level: float) -> float:
    """About the same, in floats."""
    low, high = p, 1.0
    while low < (q := (low + high) / 2) < high:
        divergence = (p * math.log(p / q) if p > 0 else 0.0) + (1 - p) * math.log((1 - p) / (1 - q))
        low, high = (q, high) if divergence <= level else (low, q)
    return low


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


class DiscountedUCB(IndexRule):
    """Garivier & Moulines 2011: a round counts gamma^(its age); mean + 2 sqrt(xi ln n/N), n the total weight.

    gamma = 1 - sqrt(S/T)/4. With the kl index: the largest q with N kl(mean, q) <= xi ln n.
    """

    def __init__(
        self,
        K: int,
        T: int | None = None,
        n_switches: int | None = None,
        discount: float | None = None,
        index: str = "ucb",
        exploration: float | None = None,
    ) -> None:
        super().__init__(K, T)
        S = 1 if n_switches is None else n_switches
        self.gamma = REAL(discount) if discount is not None else 1 - np.sqrt(REAL(S) / REAL(T or 1)) / 4
        self.word = index
        self.xi = REAL((0.6 if index == "ucb" else 1.0) if exploration is None else exploration)

    def weights(self) -> list[REAL]:
        n = len(self.rounds)
        return list(self.gamma ** (n - 1 - np.arange(n)).astype(REAL))

    def confidence(self, n: REAL) -> REAL:
        return REAL((4 if self.word == "ucb" else 1) * self.xi * np.log(n))

    def kind(self) -> str:
        return self.word


class SlidingWindowUCB(IndexRule):
    """Garivier & Moulines 2011: only the last tau rounds count; mean + sqrt(xi ln(min(t, tau))/N).

    tau = 2 sqrt(T ln T/S), rounded up, and at least 2 K; no end for S = 0. With the kl index as above.
    """

    def __init__(
        self,
        K: int,
        T: int | None = None,
        n_switches: int | None = None,
        window: int | None = None,
        index: str = "ucb",
        exploration: float | None = None,
    ) -> None:
        super().__init__(K, T)
        S = 1 if n_switches is None else n_switches
        self.tau: float = math.inf
        if window is not None:
            self.tau = window
        elif S > 0:
            assert T is not None
            self.tau = max(math.ceil(2 * math.sqrt(T * math.log(T) / S)), 2 * K)
        self.word = index
        self.xi = REAL((0.6 if index == "ucb" else 1.0) if exploration is None else exploration)

    def weights(self) -> list[REAL]:
        n = len(self.rounds)
        return [REAL(n - i <= self.tau) for i in range(n)]

    def confidence(self, n: REAL) -> REAL:
        return REAL(self.xi * np.log(n))  # the rounds that count are min(t, tau)

    def kind(self) -> str:
        return self.word
