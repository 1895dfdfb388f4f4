"""Slow, obvious versions of learners that begin anew: at fixed times, or when a test says so.

What they do at random beside drawing arms, they are told: which tuning a block has, which rounds were exploration.
"""

from __future__ import annotations

import math

import numpy as np

from tests.naive.learners import Exp3, Exp3S, Single
from tests.naive.solve import REAL, Reals, Sums, falling_softmax


class BanditOverBandit(Single):
    """A new EXP3.S in every block of B = ceil(sqrt(K T)) tells, and over its tunings EXP3 on gains, one round a block.

    Tunings are those for e^i - 1 switches in B rounds, i = 0, 1, ... ceil(ln B), without repetition of g = 1. The gain
    of a tuning is the sum of its block's rewards, divided by B. `begin(i)` is to be called at every start of a block.
    """

    def __init__(self, K: int, T: int, block: int | None = None) -> None:
        super().__init__(K, T)
        self.block = min(T, math.ceil(math.sqrt(K * T))) if block is None else block
        self.switches: list[float] = []
        for i in range(math.ceil(math.log(self.block)) + 1):
            if not self.switches or Exp3S(K, self.block, self.switches[-1]).gamma < 1:
                self.switches.append(math.exp(i) - 1)
        self.top = Exp3(len(self.switches), math.ceil(T / self.block), form="gain")
        self.begin(0)

    def begin(self, i: int) -> None:
        self.i = i
        self.served = self.top.probabilities()[i]
        self.exp3s = Exp3S(self.K, self.block, self.switches[i])
        self.rewards: list[float] = []

    def distribution(self) -> Reals:
        return self.exp3s.distribution()

    def tell(self, a: int, loss: float, served: float) -> None:
        self.exp3s.tell(a, loss, served)
        self.rewards.append(1 - loss)
        if len(self.rewards) == self.block:
            self.top.tell(self.i, 1 - math.fsum(self.rewards) / self.block, self.served)


class Exp3R(Single):
    """Allesiardo & Feraud, DSAA 2015: EXP3 on gains, g = min(1, sqrt(K ln K ln T/T)), and a test of what it explored.

    Whether a round was explored is told. When each arm has m = ceil(2 ln(1/delta)/gap^2) explored rewards, it starts
    again if an arm's mean of them is above that of the arm with the largest estimate by the gap; then they are cleared.
    """

    def __init__(self, K: int, T: int, gap: float = 0.3, delta: float = 0.1, exploration: float = 1.0) -> None:
        super().__init__(K, T)
        T = max(T, 2)
        self.gamma = min(REAL(1), exploration * np.sqrt(K * np.log(REAL(K)) * np.log(REAL(T)) / T))
        self.gap = gap
        self.m = max(1, math.ceil(2 * math.log(1 / delta) / gap**2))
        self.n_tests = self.n_restarts = 0
        self.estimates = Sums(K)
        self.explored: list[list[float]] = [[] for _ in range(K)]

    def distribution(self) -> Reals:
        inner = falling_softmax(self.gamma / self.K * self.estimates.below_greatest())
        p: Reals = (1 - self.gamma) * inner + self.gamma / self.K
        return p

    def update(self, a: int, loss: float, served: float) -> None:
        self.estimates.add(a, (1 - REAL(loss)) / REAL(served))

    def explore(self, a: int, loss: float) -> None:
        """To be called after `tell`, where the round was explored."""
        self.explored[a].append(1 - loss)
        if min(len(rewards) for rewards in self.explored) < self.m:
            return
        means = [math.fsum(rewards) / len(rewards) for rewards in self.explored]
        leader = int(np.argmin(self.estimates.below_greatest()))
        self.n_tests += 1
        self.explored = [[] for _ in range(self.K)]
        if any(mean >= means[leader] + self.gap for mean in means):
            self.n_restarts += 1
            self.estimates = Sums(self.K)
