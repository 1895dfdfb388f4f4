"""Slow, obvious bands: a master over bases that all learn from every round. From the formulas alone.

H bases with distributions P_h, a master's distribution p, q = sum_h p_h P_h. After arm a, drawn from q, cost `loss`:
    d_h = P_h(a) (loss - b [q(a) >= eta b])/q(a) + b sum over arms k with q(k) >= eta b of P_h(k)
    p <- entropy step on d at rate eta, every coordinate at least f;  every base is told (a, loss, q(a))
    eta = min(2/sqrt N, 1/2), f = min(1/(N H), 1/(2 H)); N = T, or the least of 16, 32, 64, … not below the round
A bold master has eta = 10/sqrt N and takes max(-1, eta P_h(a) (loss - 0.8 b)/q(a)) for eta d_h.
A round that is told late is divided by the q it was served with; all else is as it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.naive.learners import Single
from tests.naive.solve import REAL, Reals, entropy_step, floats, reals


class Baseline:
    """The slow mean of all losses, and the fast one, which counts where it is more than 0.2 away."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.fast = 0.5

    def slow(self) -> float:
        return (0.5 + sum(self.losses)) / (1 + len(self.losses))

    def value(self) -> float:
        slow = self.slow()
        if self.fast > slow + 0.2:
            return self.fast - 0.2
        if self.fast < slow - 0.2:
            return self.fast + 0.2
        return slow

    def see(self, loss: float) -> None:
        rounds = min(64, len(self.losses) + 2)
        self.fast = (1 - 1 / rounds) * self.fast + loss / rounds
        self.losses.append(loss)


class Leaders(Single):
    """A rule with indices as a base: the arms with the largest index, each alike."""

    def __init__(self, rule: Any) -> None:
        super().__init__(rule.K, None)
        self.rule = rule

    def distribution(self) -> Reals:
        indices = self.rule.indices()
        best = [float(index == max(indices)) for index in indices]
        return reals(best) / REAL(sum(best))

    def update(self, a: int, loss: float, served: float) -> None:
        self.rule.tell(a, loss)


class Band:
    """The master, and its bases."""

    def __init__(
        self, bases: list[Single], T: int | None, prior: list[float] | None = None, bold: bool = False
    ) -> None:
        H = len(bases)
        self.bases, self.T, self.bold = bases, T, bold
        self.baseline = Baseline()
        self.known = -1, reals([])
        weights = reals(prior or [1.0] * H)
        self.p = entropy_step(weights / weights.sum(), reals([0.0] * H), REAL(1), self.floor())

    def rounds(self) -> int:
        """N, for the next round."""
        N = 16
        while len(self.baseline.losses) + 1 > N:
            N *= 2
        return self.T or N

    def eta(self) -> REAL:
        root = np.sqrt(REAL(self.rounds()))
        return REAL(10 / root) if self.bold else min(2 / root, REAL(0.5))

    def floor(self) -> REAL:
        H = len(self.bases)
        return min(1 / (REAL(self.rounds()) * H), 1 / REAL(2 * H))

    def distributions(self) -> Reals:
        """P. Computed once a round: an index rule takes its time."""
        n = len(self.baseline.losses)
        if self.known[0] != n:
            self.known = n, np.array([reals(base.probabilities()) for base in self.bases])
        return self.known[1]

    def mixture(self) -> Reals:
        mixture: Reals = self.p @ self.distributions()
        return mixture

    def charges(self, a: int, q: float, loss: float) -> Reals:
        """eta d."""
        eta, b, P, served = self.eta(), REAL(self.baseline.value()), self.distributions(), self.mixture()
        served[a] = REAL(q)
        if self.bold:
            charges: Reals = np.maximum(-1, eta * P[:, a] * (REAL(loss) - REAL(0.8) * b) / served[a])
            return charges
        high = served >= eta * b
        d: Reals = P[:, a] * (REAL(loss) - b * high[a]) / served[a] + b * P[:, high].sum(axis=1)
        return eta * d

    def tell(self, a: int, q: float, loss: float) -> None:
        self.p = entropy_step(self.p, self.charges(a, q, loss), REAL(1), self.floor())
        self.baseline.see(loss)
        for base in self.bases:
            base.tell(a, loss, q)

    def numbers(self) -> dict[str, Any]:
        """All that can be compared."""
        return {
            "master": floats(self.p),
            "bases": [floats(row) for row in self.distributions()],
            "probabilities": floats(self.mixture()),
        }
