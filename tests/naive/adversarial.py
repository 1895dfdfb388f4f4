"""Slow, obvious versions of more adversarial learners, in the manner of `learners.py`: dense, in long doubles."""

from __future__ import annotations

import math

import numpy as np

from tests.naive.learners import Exp3, Single
from tests.naive.solve import REAL, Reals, Sums, falling_softmax


class Exp3IX(Single):
    """Neu, "Explore no more", NIPS 2015: exponential weights on loss/(p + g), with rate 2 g.

    2 g = sqrt(2 ln K/(K T)); without T, 2 g = sqrt(ln K/(K t)) in round t, both for the estimate and for the weights.
    """

    def __init__(self, K: int, T: int | None = None) -> None:
        super().__init__(K, T)
        self.estimates = Sums(K)
        self.t = 1

    def rate(self) -> REAL:
        K = REAL(self.K)
        return REAL(np.sqrt(np.log(K) / (K * self.t) if self.T is None else 2 * np.log(K) / (K * self.T)))

    def distribution(self) -> Reals:
        return falling_softmax(self.rate() * self.estimates.above_least())

    def update(self, a: int, loss: float, served: float) -> None:
        self.estimates.add(a, REAL(loss) / (REAL(served) + self.rate() / 2))
        self.t += 1


class Exp3SIX(Single):
    """The same with fixed share: after each step every arm gets a K-th of the share s of all weight.

    s = S/(T - 1), 2 g = sqrt(2 C/(K T)), C = (S + 1) ln K - (T - 1) (s ln s + (1 - s) ln(1 - s)). S is 1 by default.
    Weights are kept as numbers where they are shared and as exponents where they are not (S = 0).
    """

    def __init__(self, K: int, T: int, n_switches: int | None = None) -> None:
        super().__init__(K, T)
        S = min(1, T - 1) if n_switches is None else n_switches
        self.share = REAL(S) / REAL(max(T - 1, 1))
        coin = -sum(x * np.log(x) for x in (self.share, 1 - self.share) if x > 0)
        self.rate = REAL(np.sqrt(2 * ((S + 1) * np.log(REAL(K)) + (T - 1) * coin) / (REAL(K) * T)))
        self.p = np.full(K, 1 / REAL(K))
        self.exponents = Sums(K)

    def distribution(self) -> Reals:
        return self.p if self.share > 0 else falling_softmax(self.exponents.above_least())

    def update(self, a: int, loss: float, served: float) -> None:
        x = self.rate * REAL(loss) / (REAL(served) + self.rate / 2)
        self.exponents.add(a, x)
        w = self.p.copy()
        w[a] *= np.exp(-x)
        self.p = (1 - self.share) * w / w.sum() + self.share / self.K


class TsallisINF(Single):
    """Zimmert & Seldin, JMLR 22 (2021): w_i = 4/(eta (L_i - x))^2, sum w = 1, eta = 2/sqrt t (iw), 4/sqrt t (rv).

    iw: L_a += loss/w_a. rv: L_i += b_i for all i, and L_a += (loss - b_a)/w_a, where b_i = 1/2 if w_i >= eta^2, else 0.
    """

    def __init__(self, K: int, T: int | None = None, estimator: str = "iw") -> None:
        super().__init__(K, T)
        assert estimator in ("iw", "rv")
        self.estimator = estimator
        self.estimates = Sums(K)
        self.t = 1

    def distribution(self) -> Reals:
        eta = (4 if self.estimator == "rv" else 2) / np.sqrt(REAL(self.t))
        return tsallis_weights(self.estimates.above_least(), eta)

    def update(self, a: int, loss: float, served: float) -> None:
        b = np.zeros(self.K, dtype=REAL)
        if self.estimator == "rv":
            b[self.distribution() >= REAL(16) / self.t] = 0.5
        self.estimates.add(a, (REAL(loss) - b[a]) / REAL(served))
        self.estimates.add(slice(None), b)  # two-sum of nothing is nothing
        self.t += 1


def tsallis_weights(above: Reals, eta: REAL) -> Reals:
    """4/(eta (above_i - x))^2 with sum 1, by bisection: the sum is at least 1 at -2/eta, at most 1 at -2 sqrt(K)/eta.

    (There the weight of the least alone is 1, or each weight is at most 1/K.) Halved until nothing is left to halve.
    """
    low, high = -2 * np.sqrt(REAL(len(above))) / eta, -2 / eta
    while low < (x := (low + high) / 2) < high:
        if (4 / (eta * (above - x)) ** 2).sum() > 1:
            high = x
        else:
            low = x
    w: Reals = 4 / (eta * (above - x)) ** 2
    return w


class RestartedExp3(Single):
    """Besbes, Gur & Zeevi, NIPS 2014, with EXP3 on losses: a new one, tuned for D rounds, after every D tells.

    D = ceil((K ln K)^(1/3) (T/S)^(2/3)), at most T, and T if S = 0; S is 1 by default.
    """

    def __init__(self, K: int, T: int, n_switches: int | None = None) -> None:
        super().__init__(K, T)
        S = 1 if n_switches is None else n_switches
        self.block = T if S == 0 or K == 1 else min(T, math.ceil(math.cbrt(K * math.log(K) * (T / S) ** 2)))
        self.exp3 = Exp3(K, self.block)

    def distribution(self) -> Reals:
        return self.exp3.distribution()

    def update(self, a: int, loss: float, served: float) -> None:
        self.exp3.update(a, loss, served)
        if self.exp3.n_tells == self.block:
            self.exp3 = Exp3(self.K, self.block)


class Exp3P(Single):
    """Bubeck & Cesa-Bianchi 2012, Exp3.P: p = (1 - g) softmax(eta G) + g/K, and G_i += (gain 1{i = a} + b)/p_i.

    eta = 0.95 sqrt(ln K/(K T)), g = 1.05 sqrt(K ln K/T) up to 1, b = sqrt(ln(K/risk)/(K T)), risk 1 by default.
    """

    def __init__(self, K: int, T: int, risk: float | None = None) -> None:
        super().__init__(K, T)
        log = np.log(REAL(K))
        self.eta = REAL("0.95") * np.sqrt(log / (REAL(K) * T))
        self.gamma = min(REAL(1), REAL("1.05") * np.sqrt(K * log / REAL(T)))
        self.bonus = np.sqrt((log - (0 if risk is None else np.log(REAL(risk)))) / (REAL(K) * T))
        self.estimates = Sums(K)

    def distribution(self) -> Reals:
        inner = falling_softmax(self.eta * self.estimates.below_greatest())
        p: Reals = (1 - self.gamma) * inner + self.gamma / self.K
        return p

    def update(self, a: int, loss: float, served: float) -> None:
        self.estimates.add(slice(None), self.bonus / self.distribution())
        self.estimates.add(a, (1 - REAL(loss)) / REAL(served))


class SharingOMD(Single):
    """Herbster & Warmuth, Mach. Learn. 32 (1998), on loss/p: an exponential step, then every arm gives 1/T away to all.

    xi = sqrt(2 (S ln(K T) + ln K)/(K T)); S is 1 by default.
    """

    def __init__(self, K: int, T: int, n_switches: int | None = None, projection: str = "sharing") -> None:
        super().__init__(K, T)
        S = 1 if n_switches is None else n_switches
        KT = REAL(K * T)
        self.xi = np.sqrt(2 * (S * np.log(KT) + np.log(REAL(K))) / KT)
        self.p = np.full(K, 1 / REAL(K))

    def distribution(self) -> Reals:
        return self.p

    def update(self, a: int, loss: float, served: float) -> None:
        w = self.p.copy()
        w[a] *= np.exp(-self.xi * REAL(loss) / REAL(served))
        share = 1 / REAL(self.T)
        self.p = (1 - share) * w / w.sum() + share / self.K
