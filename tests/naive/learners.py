"""Slow, obvious single learners. `probabilities()` is what the next round is drawn from; `tell` is one update.

Every `tell` divides by `served`, the probability the arm had when it was drawn, and acts on the state as it is now.
With one arm there is nothing to learn and nothing changes.
"""

from __future__ import annotations

import math

import numpy as np

from tests.naive.distributions import ClippedEntropy
from tests.naive.solve import REAL, Reals, Sums, falling_softmax, floats, zeros


class Single:
    """What single learners share: K, T, and how they are read."""

    def __init__(self, K: int, T: int | None) -> None:
        self.K = K
        self.T = T

    def distribution(self) -> Reals:
        raise NotImplementedError

    def update(self, a: int, loss: float, served: float) -> None:
        raise NotImplementedError

    def probabilities(self) -> list[float]:
        return [1.0] if self.K == 1 else floats(self.distribution())

    def propensity(self, a: int) -> float:
        return self.probabilities()[a]

    def tell(self, a: int, loss: float, served: float) -> None:
        if self.K > 1:
            self.update(a, loss, served)


class Uniform(Single):
    """Every arm alike, for ever."""

    def distribution(self) -> Reals:
        return np.full(self.K, 1 / REAL(self.K))

    def update(self, a: int, loss: float, served: float) -> None:
        pass


class Exp3(Single):
    """Exponential weights on importance-weighted losses, or in the original form on gains.

    loss: p prop. exp(-eta sum of loss/p), eta = sqrt(2 ln K/(K T)); without T, round t has eta = sqrt(ln K/(K t)).
    gain: Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Comput. 32 (2002), Exp3: p = (1 - g) w/W + g/K with
    w = exp((g/K) sum of gain/p), g = min(1, sqrt(K ln K/((e - 1) T))).
    """

    def __init__(self, K: int, T: int | None = None, form: str = "loss") -> None:
        super().__init__(K, T)
        assert form in ("loss", "gain") and (form == "loss" or T is not None)
        self.form = form
        self.estimates = Sums(K)
        self.n_tells = 0

    def rate(self) -> REAL:
        """eta, or for gains g."""
        K = REAL(self.K)
        if self.form == "gain":
            return min(REAL(1), np.sqrt(K * np.log(K) / (np.expm1(REAL(1)) * REAL(self.T))))
        if self.T is None:
            return REAL(np.sqrt(np.log(K) / (K * (self.n_tells + 1))))
        return REAL(np.sqrt(2 * np.log(K) / (K * self.T)))

    def distribution(self) -> Reals:
        rate = self.rate()
        if self.form == "loss":
            return falling_softmax(rate * self.estimates.above_least())
        return (1 - rate) * falling_softmax(rate / self.K * self.estimates.below_greatest()) + rate / self.K

    def update(self, a: int, loss: float, served: float) -> None:
        value = REAL(loss) if self.form == "loss" else 1 - REAL(loss)
        self.estimates.add(a, value / REAL(served))
        self.n_tells += 1


class Exp3S(Single):
    """Auer et al. 2002, Exp3.S: exponential weights on gains, and every arm gets a share of the total.

    s = 1/T. With S switches g = min(1, sqrt(K ((S + 1) ln(K T) + e)/((e - 1) T))), without S min(1, sqrt(K ln(K T)/T)).
    """

    def __init__(self, K: int, T: int, n_switches: float | None = None) -> None:
        super().__init__(K, T)
        e = np.exp(REAL(1))
        self.share = 1 / REAL(T)
        if n_switches is None:
            gamma = np.sqrt(K * np.log(REAL(K * T)) / T)
        else:
            gamma = np.sqrt(K * ((n_switches + 1) * np.log(REAL(K * T)) + e) / ((e - 1) * T))
        self.gamma = min(REAL(1), gamma)
        self.w = np.ones(K, dtype=REAL)

    def distribution(self) -> Reals:
        p: Reals = (1 - self.gamma) * self.w / self.w.sum() + self.gamma / self.K
        return p

    def update(self, a: int, loss: float, served: float) -> None:
        W = self.w.sum()
        gain = (1 - REAL(loss)) / REAL(served)
        self.w[a] *= np.exp(self.gamma * gain / self.K)
        self.w += np.exp(REAL(1)) * self.share / self.K * W
        exponent = math.frexp(float(self.w.max()))[1]
        if abs(exponent) > 100:  # a power of two: no digit is lost
            self.w = np.ldexp(self.w, -exponent)


class ClippedOMD(Single):
    """Mirror descent with negative entropy and floor 1/(K T): the paper's base, alone, with S known.

    xi = sqrt(2 (S ln(K T) + ln K)/(K T)); S is 1 where it is not given.
    """

    def __init__(self, K: int, T: int, n_switches: int | None = None) -> None:
        super().__init__(K, T)
        S = 1 if n_switches is None else n_switches
        KT = REAL(K * T)
        self.xi = np.sqrt(2 * (S * np.log(KT) + np.log(REAL(K))) / KT)
        self.arms = ClippedEntropy(K, 1 / KT)

    def distribution(self) -> Reals:
        return self.arms.served()

    def update(self, a: int, loss: float, served: float) -> None:
        estimate = zeros(self.K)
        estimate[a] = REAL(loss) / REAL(served)
        self.arms.step(estimate, self.xi)
