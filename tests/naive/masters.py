"""Slow, obvious Algorithms 1 and 2 of Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025.

A master p over H bases, each base h a distribution p_h over K arms. `tell` gets what was served when the arm was drawn:
p(h), p_h(a), and the mixture q(a) = sum_h p(h) p_h(a).

feedback="own"     master's estimate: loss/p(h) at the base played; that base's: loss/(p(h) p_h(a)) at the arm played
feedback="shared"  every base's estimate: loss/q(a) at the arm played; the master's, for every h: p_h(a) loss/q(a), with
                   p_h(a) as it is now
projection="exact" the argmin over the clipped simplex;  "mixing": the paper's remark (see distributions)

With one arm there is nothing to learn and nothing changes. A horizon of 1 is treated as 2.
"""

from __future__ import annotations

import math

import numpy as np

from tests.naive.distributions import ClippedBarrier, ClippedEntropy, Distribution, MixedBarrier, MixedEntropy
from tests.naive.solve import REAL, Reals, floats, reals, zeros


class Master:
    """What the two algorithms share: the bases, the estimates, and how they are read."""

    def __init__(self, K: int, T: int, feedback: str = "own", projection: str = "exact") -> None:
        assert feedback in ("own", "shared") and projection in ("exact", "mixing")
        self.K, self.T = K, max(T, 2)
        self.feedback, self.exact = feedback, projection == "exact"
        n = max(1, math.ceil(math.log(self.T)))
        self.candidates = [REAL(self.T) ** (REAL(i) / n) for i in range(n + 1)]
        self.H = n + 1
        beta = 1 / (REAL(self.K) * self.T)
        kind = ClippedEntropy if self.exact else MixedEntropy
        self.arms: list[Distribution] = [kind(K, beta) for _ in range(self.H)]
        self.top: Distribution  # the master's distribution, over bases

    # what an algorithm fills in

    def eta(self) -> Reals:
        """The master's rates, one a base."""
        raise NotImplementedError

    def xi(self) -> Reals:
        """The bases' rates."""
        raise NotImplementedError

    def master_step(self, loss: Reals) -> None:
        raise NotImplementedError

    # one round

    def tell(self, a: int, loss: float, base: int, p_master: float, p_base: float, q: float) -> None:
        if self.K == 1:
            return
        xi = self.xi()  # before anything changes
        of_bases = zeros(self.H)
        of_arms = zeros(self.K)
        if self.feedback == "own":
            of_bases[base] = REAL(loss) / REAL(p_master)
            of_arms[a] = of_bases[base] / REAL(p_base)
            learning = [base]
        else:
            of_arms[a] = REAL(loss) / REAL(q)
            for h in range(self.H):
                of_bases[h] = self.arms[h].served()[a] * of_arms[a]
            learning = list(range(self.H))
        self.master_step(of_bases)
        for h in learning:
            self.arms[h].step(of_arms, xi[h])

    # reading

    def master(self) -> list[float]:
        return floats(self.top.served())

    def bases(self) -> list[list[float]]:
        return [self.base(h) for h in range(self.H)]

    def base(self, h: int) -> list[float]:
        return floats(self.arms[h].served())

    def probabilities(self) -> list[float]:
        q: Reals = sum(p * arms.served() for p, arms in zip(self.top.served(), self.arms, strict=True))
        return floats(q)

    def propensity(self, a: int) -> float:
        return float(sum(p * arms.served()[a] for p, arms in zip(self.top.served(), self.arms, strict=True)))

    def master_rates(self) -> list[float]:
        return floats(self.eta())

    def base_rates(self) -> list[float]:
        return floats(self.xi())


class MasterBase(Master):
    """Algorithm 1: negative entropy for the master too, all rates fixed."""

    def __init__(self, K: int, T: int, feedback: str = "own", projection: str = "exact") -> None:
        super().__init__(K, T, feedback, projection)
        H, third = self.H, 1 / REAL(3)
        self.alpha = REAL(K) ** third / (REAL(self.T) ** third * np.sqrt(REAL(H)))
        if K**2 * H**3 > self.T**2:  # alpha > 1/H, in whole numbers
            self.alpha = 1 / REAL(2 * H)
        self.top = ClippedEntropy(H, self.alpha) if self.exact else MixedEntropy(H, self.alpha)

    def eta(self) -> Reals:
        return reals([1 / np.sqrt(REAL(self.T) * self.H)] * self.H)

    def xi(self) -> Reals:
        scale = REAL(self.K) ** (1 / REAL(3)) * REAL(self.T) ** (2 / REAL(3))
        return reals([np.sqrt(h) / scale for h in self.candidates])

    def master_step(self, loss: Reals) -> None:
        self.top.step(loss, self.eta()[0])


class AdaptiveMasterBase(Master):
    """Algorithm 2: a log-barrier master whose rates rise, and base rates that fall, as a base becomes rare."""

    def __init__(self, K: int, T: int, feedback: str = "own", projection: str = "exact", rate: str = "paper") -> None:
        super().__init__(K, T, feedback, projection)
        assert rate in ("paper", "theorem")
        H, T = self.H, self.T
        alpha = 1 / REAL(T * H)
        self.top = ClippedBarrier(H, alpha) if self.exact else MixedBarrier(H, alpha)
        self.gamma = np.exp(1 / np.log(REAL(T)))
        eta = np.sqrt(REAL(H) / T) if rate == "paper" else np.sqrt(REAL(H) / (REAL(K) * T))
        self.etas = reals([eta] * H)
        self.rhos = reals([2 * H] * H)

    def eta(self) -> Reals:
        return self.etas

    def xi(self) -> Reals:
        return np.sqrt(reals(self.candidates) / (REAL(self.K) * self.T * self.rhos))

    def rho(self) -> list[float]:
        return floats(self.rhos)

    def master_step(self, loss: Reals) -> None:
        self.top.step(loss, self.etas)
        p = self.top.served()
        for h in range(self.H):
            if 1 / p[h] > self.rhos[h]:
                self.rhos[h] = 2 / p[h]
                self.etas[h] *= self.gamma
