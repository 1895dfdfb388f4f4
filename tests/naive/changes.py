"""Slow, obvious rules that look for changes: the whole history is kept, and every split of it is tried.

Rewards are 1 - loss. `indices()` is what the next round compares, `forced()` the arm that is explored instead, if any.
"""

from __future__ import annotations

import math

import numpy as np

from tests.naive.index import kl_upper
from tests.naive.solve import REAL, Reals, reals


def kl(p: Reals, q: REAL) -> Reals:
    """kl of Bernoulli means p and q, 0 < q < 1, with 0 ln 0 = 0."""
    heads = p * np.log(np.where(p > 0, p, 1) / q)
    tails = (1 - p) * np.log(np.where(p < 1, 1 - p, 1) / (1 - q))
    divergence: Reals = heads + tails
    return divergence


def glr(rewards: list[float]) -> float:
    """The Bernoulli GLR statistic: the largest s kl(m1, m) + (n - s) kl(m2, m) over all splits s."""
    sums = np.cumsum(reals(rewards))
    n = len(rewards)
    m = sums[-1] / n if n else REAL(0)
    if n < 2 or not 0 < m < 1:
        return 0.0
    s = np.arange(1, n)
    before, after = sums[:-1] / s, (sums[-1] - sums[:-1]) / (n - s)
    return float(np.max(s * kl(before, m) + (n - s) * kl(np.clip(after, 0, 1), m)))


class GLRklUCB:
    """Besson, Kaufmann, Maillard & Seznec, JMLR 2022, with exploration at the end of each period.

    `n_splits` is taken and ignored: every split is tried.
    """

    def __init__(
        self,
        K: int,
        T: int,
        *,
        restart: str = "global",
        threshold: str = "practical",
        delta: float | None = None,
        exploration: float = 1.0,
        n_splits: int = 0,
        every: int = 1,
        n_switches: int | None = None,
    ) -> None:
        self.K = K
        self.restart, self.threshold, self.every = restart, threshold, every
        self.delta = 1 / math.sqrt(max(T, 2)) if delta is None else delta
        S = 1 if n_switches is None else max(n_switches, 1)
        self.alpha = exploration * math.sqrt(S * K * math.log(T) / T)
        self.grows = n_switches is None
        self.t = 0
        self.n_restarts = 0
        self.rewards: list[list[float]] = [[] for _ in range(K)]
        self.since = [0] * K

    def forced(self) -> int | None:
        alpha = self.alpha * math.sqrt(self.n_restarts + 1) if self.grows else self.alpha
        if alpha == 0:
            return None
        period = math.floor(self.K / min(alpha, 1.0))
        place = self.t % period
        return place - (period - self.K) if place >= period - self.K else None

    def beta(self, n: int) -> float:
        if self.threshold == "experiments":
            return math.log(n**1.5 / self.delta)
        beta = math.log(3 * n**1.5 / self.delta)
        if self.threshold == "practical":
            return beta
        x = max(beta / 2, 5)
        return 2 * (x + 4 * math.log(1 + x + math.sqrt(2 * x))) + 6 * math.log(1 + math.log(n))

    def tell(self, a: int, loss: float) -> None:
        self.t += 1
        self.rewards[a].append(1 - loss)
        n = len(self.rewards[a])
        if n % self.every == 0 and glr(self.rewards[a]) > self.beta(n):
            self.n_restarts += 1
            for arm in range(self.K) if self.restart == "global" else [a]:
                self.rewards[arm] = []
                self.since[arm] = self.t

    def indices(self) -> list[float]:
        found = []
        for rewards, since in zip(self.rewards, self.since, strict=True):
            n = len(rewards)
            c = np.log(REAL(max(self.t - since, 1)))
            found.append(kl_upper(reals(rewards).sum() / n, c / n) if n else math.inf)
        return found

    def evidence(self) -> list[float]:
        return [glr(rewards) for rewards in self.rewards]


class MonitoredUCB:
    """Cao, Wen, Kveton & Xie, AISTATS 2019, with exploration at the end of each period."""

    def __init__(
        self,
        K: int,
        T: int,
        *,
        n_switches: int | None = None,
        window: int = 200,
        tolerance: float = 1.0,
        exploration: float = 1.0,
        index: str = "ucb",
    ) -> None:
        self.K, self.w, self.index = K, window, index
        b = math.sqrt(window * math.log(2 * K * T**2) / 2)
        self.b = tolerance * b
        S = 1 if n_switches is None else max(n_switches, 1)
        self.gamma = exploration * math.sqrt(S * K * (2 * b + 3 * math.sqrt(window)) / (2 * T))
        self.t = self.since = self.n_restarts = 0
        self.rewards: list[list[float]] = [[] for _ in range(K)]

    def forced(self) -> int | None:
        if self.gamma == 0:
            return None
        period = math.floor(self.K / min(self.gamma, 1.0))
        place = (self.t - self.since) % period
        return place - (period - self.K) if place >= period - self.K else None

    def halves(self, a: int) -> float:
        """How far the sums of the two halves of an arm's window are apart; 0 before it is full."""
        latest = self.rewards[a][-self.w :]
        if len(latest) < self.w:
            return 0.0
        half = self.w // 2
        return abs(math.fsum(latest[half:]) - math.fsum(latest[:half]))

    def tell(self, a: int, loss: float) -> None:
        self.t += 1
        self.rewards[a].append(1 - loss)
        if self.halves(a) > self.b:
            self.n_restarts += 1
            self.rewards = [[] for _ in range(self.K)]
            self.since = self.t

    def indices(self) -> list[float]:
        found = []
        c = np.log(REAL(max(self.t - self.since, 1)))
        for rewards in self.rewards:
            n = len(rewards)
            if n == 0:
                found.append(math.inf)
            elif self.index == "kl":
                found.append(kl_upper(reals(rewards).sum() / n, c / n))
            else:
                found.append(float(reals(rewards).sum() / n + np.sqrt(2 * c / n)))
        return found
