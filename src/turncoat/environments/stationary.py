"""Stationary: nothing changes. One arm is best, from the first round to the last.

mean(a) = (1 - gap)/2 for the best arm, drawn at random, and (1 + gap)/2 for all others
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number
from turncoat.environments.layout import even_edges, two_levels
from turncoat.environments.segments import Segments
from turncoat.types import Seed


class Stationary(Segments):
    """`n_arms` arms whose means never change; the best is ahead by `gap`."""

    name = "stationary"
    words = ("gap",)

    def __init__(
        self, n_arms: int, horizon: int, *, gap: float = 0.3, noise: Noise = "bernoulli", seed: Seed = 0
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        best = np.array([self._chance.integers(self.n_arms)])
        self._plant(even_edges(self.horizon, 1), two_levels(self.n_arms, best, self.gap), best)
