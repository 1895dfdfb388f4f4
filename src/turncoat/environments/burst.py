"""Burst: long calm, then all the switches at once.

    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others

All S switches fall, at random, into one window of fraction · T rounds, which lies anywhere in the game.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number, parse_switches
from turncoat.environments.layout import random_rounds, two_levels, wandering
from turncoat.environments.segments import Segments
from turncoat.types import Seed


class Burst(Segments):
    """The best arm, ahead by `gap`, changes `n_switches` times, all within a `fraction` of the game."""

    name = "burst"
    words = ("n_switches", "fraction", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        fraction: float = 0.2,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = parse_switches(n_switches, self.n_arms, self.horizon)
        self.fraction = parse_number("fraction", fraction, 0.0, 1.0)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self._room_for(S + 1)
        window = min(max(round(self.fraction * self.horizon), S), self.horizon - 1)  # a switch needs a round of its own
        first = 1 + int(self._chance.integers(self.horizon - window))
        switches = random_rounds(self._chance, first, first + window, S)
        best = wandering(self._chance, self.n_arms, S)
        edges = np.concatenate([[0], switches, [self.horizon]])
        self._plant(edges, two_levels(self.n_arms, best, self.gap), best)
