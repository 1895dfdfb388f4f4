"""Slow, obvious versions of learners that begin anew: at fixed times, or when a test says so.

What they do at random beside drawing arms, they are told: which tuning a block has, which rounds were exploration.
"""

from __future__ import annotations

import math

from tests.naive.learners import Exp3, Exp3S, Single
from tests.naive.solve import Reals


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
