"""Slow, obvious Beta posteriors of Thompson sampling: the whole history is kept, and added up anew when asked for."""

from __future__ import annotations

import numpy as np

from tests.naive.solve import REAL


class Thompson:
    """Beta(prior + sum of rewards, prior + sum of losses), each weighted by gamma^(its age).

    Agrawal & Goyal 2012 with parts of rewards counted as parts; gamma < 1: Raj & Kalyani 2017. With T and S,
    gamma = 1 - sqrt(S/T)/4.
    """

    def __init__(
        self,
        K: int,
        T: int | None = None,
        n_switches: int | None = None,
        discount: float | None = None,
        prior: float = 1.0,
    ) -> None:
        self.K = K
        self.prior = REAL(prior)
        S = 1 if n_switches is None else n_switches
        self.gamma = REAL(discount) if discount is not None else 1 - np.sqrt(REAL(S) / REAL(T or 1)) / 4
        self.rounds: list[tuple[int, float]] = []

    def tell(self, a: int, loss: float) -> None:
        self.rounds.append((a, loss))

    def posteriors(self) -> list[list[float]]:
        shapes = np.full((self.K, 2), self.prior)
        for age, (a, loss) in enumerate(reversed(self.rounds)):
            shapes[a] += self.gamma**age * np.array([1 - REAL(loss), REAL(loss)])
        numbers: list[list[float]] = shapes.astype(np.float64).tolist()
        return numbers
