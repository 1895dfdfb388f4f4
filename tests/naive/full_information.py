"""Slow, obvious learners with full information. `probabilities()` is what round t is drawn from; `tell` is one update.

Hedge: Freund & Schapire, J. Comput. Syst. Sci. 55 (1997). Fixed share: Herbster & Warmuth, Mach. Learn. 32 (1998).
SAOL: Daniely, Gonen & Shalev-Shwartz, ICML 2015. CBCE: Jun, Orabona, Wright & Willett, AISTATS 2017.

SAOL and CBCE keep a learner for every interval {i 2^k, …, (i + 1) 2^k - 1}, i ≥ 1, that holds round t = 1, 2, …: made
when it begins, dropped when it ends, kept in a dict by its first and its last round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.naive.solve import REAL, Reals, Sums, falling_softmax, floats, reals

WON_NOTHING = 1e-12  # a coin that has won no more has won nothing: what is exactly 0 on paper is so here


class SeesAll:
    """What they share: K, T, the number t of the round to come, and how they are read."""

    def __init__(self, K: int, T: int | None) -> None:
        self.K, self.T, self.t = K, T, 1

    def distribution(self) -> Reals:
        raise NotImplementedError

    def update(self, losses: Reals) -> None:
        raise NotImplementedError

    def probabilities(self) -> list[float]:
        return floats(self.distribution())

    def tell(self, losses: Sequence[float]) -> None:
        self.update(reals(losses))
        self.t += 1


class Hedge(SeesAll):
    """p prop. exp(-eta L): eta = sqrt(8 ln K/T), or 2 sqrt(ln K/t) in round t."""

    def __init__(self, K: int, T: int | None = None) -> None:
        super().__init__(K, T)
        self.sums = Sums(K)

    def distribution(self) -> Reals:
        log = np.log(REAL(self.K))
        eta = 2 * np.sqrt(log / self.t) if self.T is None else np.sqrt(8 * log / self.T)
        return falling_softmax(eta * self.sums.above_least())

    def update(self, losses: Reals) -> None:
        for arm, loss in enumerate(losses):
            self.sums.add(arm, loss)
