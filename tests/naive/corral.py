"""Slow, obvious CORRAL: Agarwal, Luo, Neyshabur & Schapire, "Corralling a band of bandit algorithms", COLT 2017.

M bases, p = 1/M, rho = 2M, g = 1/T, b = exp(1/ln T); q = (1 - g) p + g/M. A round: i is drawn from q and its arm costs
`loss`; base j is told loss 1{j = i}/q_i, scaled by how it is fed; p takes a log-barrier step on loss/q_i at i; where
1/q_j > rho_j, rho_j = 2/q_j and eta_j *= b, and a base that is not "kept" is made anew.

fed: "none" divided by rho_j (its losses are then in [0, 1]), "half" and "kept" by sqrt(rho_j) (its rate, in effect).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

from tests.naive.index import IndexRule, exact
from tests.naive.learners import Single
from tests.naive.solve import REAL, Reals, floats, reals

DIGITS = 40
HALVINGS = 160


class Fed(NamedTuple):
    """A base: how it is made, and how it is fed."""

    make: Callable[[], Single]
    how: str


class Indexed(Single):
    """A rule with indices as a base: the arms with the largest index, each alike."""

    def __init__(self, rule: IndexRule) -> None:
        super().__init__(rule.K, rule.T)
        self.rule = rule

    def distribution(self) -> Reals:
        indices = self.rule.indices()
        best = [float(index == max(indices)) for index in indices]
        return reals(best) / REAL(sum(best))

    def update(self, a: int, loss: float, served: float) -> None:
        self.rule.tell(a, loss)


def barrier_root(p: Reals, i: int, loss: REAL, rates: Reals) -> Reals:
    """The log-barrier step on a loss at i: 1/q_j = 1/p_j + rate_j (loss 1{j = i} - z), sum q = 1; z by halving.

    At z = 0 nothing has grown, so the sum is at most 1. At the least pole the sum is infinite. In 40 digits.
    """
    if loss == 0 or len(p) == 1:
        return p.copy()
    with localcontext() as context:
        context.prec = DIGITS
        c = [1 / exact(x) for x in p]
        eta = [exact(rate) for rate in rates]
        c[i] += eta[i] * exact(loss)
        low, high = Decimal(0), min(value / rate for value, rate in zip(c, eta, strict=True))
        for _ in range(HALVINGS):
            z = (low + high) / 2
            total = sum(1 / (value - rate * z) for value, rate in zip(c, eta, strict=True))
            low, high = (z, high) if total < 1 else (low, z)
        return reals([real(1 / (value - rate * low)) for value, rate in zip(c, eta, strict=True)])


def real(x: Decimal) -> REAL:
    """A decimal as a long double."""
    high = float(x)
    return REAL(high) + REAL(float(x - Decimal(high)))


class Corral:
    """The master, and its bases."""

    def __init__(self, bases: list[Fed], T: int, rate: float) -> None:
        T, M = max(T, 2), len(bases)
        self.fed = bases
        self.bases = [base.make() for base in bases]
        self.g = 1 / REAL(T)
        self.b = np.exp(1 / np.log(REAL(T)))
        self.p = np.full(M, 1 / REAL(M))
        self.eta = np.full(M, REAL(rate))
        self.rho = np.full(M, REAL(2 * M))
        self.n_restarts = 0

    def served(self) -> Reals:
        q: Reals = (1 - self.g) * self.p + self.g / len(self.p)
        return q

    def tell(self, i: int, q_i: float, loss: float, played: list[tuple[int, float]]) -> None:
        """Base i had been drawn. `played`: the arm of every base, and the probability it had there."""
        estimate = REAL(loss) / REAL(q_i)
        for j, (a, p_a) in enumerate(played):
            scale = self.rho[j] if self.fed[j].how == "none" else np.sqrt(self.rho[j])
            self.bases[j].tell(a, estimate / scale if j == i else 0.0, p_a)
        self.p = barrier_root(self.p, i, estimate, self.eta)
        for j, q in enumerate(self.served()):
            if 1 / q > self.rho[j]:
                self.rho[j] = 2 / q
                self.eta[j] *= self.b
                if self.fed[j].how != "kept":
                    self.bases[j] = self.fed[j].make()
                    self.n_restarts += 1

    def numbers(self) -> dict[str, list[float] | list[list[float]]]:
        """All that can be compared."""
        distributions = [base.probabilities() for base in self.bases]
        q = self.served()
        return {
            "master": floats(q),
            "rates": floats(self.eta),
            "rho": floats(self.rho),
            "bases": distributions,
            "probabilities": floats(sum(x * reals(p) for x, p in zip(q, distributions, strict=True))),
        }


class StochasticCorral:
    """Pacchiano et al., NeurIPS 2020: bases learn from bare losses in step 1 and replay their past in step 2.

    Every past policy is kept, and beside them which R of them are in the reservoir.
    """

    def __init__(self, bases: list[Single], T: int, R: int, rate: float) -> None:
        idle = [Fed(lambda: Single(1, None), "kept") for _ in bases]
        self.master = Corral(idle, (T + 1) // 2, rate)  # its bases have one arm, where nothing is learned
        self.bases, self.R = bases, R
        self.past: list[list[Single]] = [[] for _ in bases]
        self.held: list[list[int]] = [[] for _ in bases]
        self.paired: int | None = None

    def tell_first(self, j: int, loss: float, a: int, p_a: float, place: int) -> None:
        """Step 1. `place`: where the reservoir puts the policy; R or more is nowhere."""
        self.past[j].append(copy.deepcopy(self.bases[j]))
        if len(self.held[j]) < self.R:
            self.held[j].append(len(self.past[j]) - 1)
        elif place < self.R:
            self.held[j][place] = len(self.past[j]) - 1
        self.bases[j].tell(a, loss, p_a)
        self.paired = j

    def tell_second(self, i: int, q_i: float, loss: float) -> None:
        """Step 2."""
        self.master.tell(i, q_i, loss, [(0, 1.0) for _ in self.bases])
        self.paired = None

    def numbers(self) -> dict[str, list[float] | list[list[float]]]:
        """All that can be compared."""
        q, now = self.master.served(), [base.probabilities() for base in self.bases]
        if self.paired is None:
            served = sum(x * reals(p) for x, p in zip(q, now, strict=True))
        else:
            replayed = [self.past[self.paired][s].probabilities() for s in self.held[self.paired]]
            served = sum(reals(p) for p in replayed) / len(replayed)
        return {
            "master": floats(q),
            "rates": floats(self.master.eta),
            "bases": now,
            "probabilities": floats(served),
        }
