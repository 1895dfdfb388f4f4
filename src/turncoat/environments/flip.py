"""Flip: the lead passes back and forth between few arms, at evenly spaced rounds.

    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others
    best arm of segment i: the (i mod n_best)-th of n_best arms drawn at random

A learner that remembers old favourites has an edge here. Without noise and with gap 1 it is a trap for learners that
trust what they have seen.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number, parse_switches, parse_whole
from turncoat.environments.layout import even_edges, two_levels
from turncoat.environments.segments import Segments
from turncoat.types import Seed


class Flip(Segments):
    """`n_best` of the arms take turns in being the best, ahead by `gap`; `n_switches` times the turn passes on."""

    name = "flip"
    words = ("n_switches", "n_best", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        n_best: int = 2,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = parse_switches(n_switches, self.n_arms, self.horizon)
        self.n_best = parse_whole("n_best", n_best, 2, max(self.n_arms, 2))
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self._room_for(S + 1)
        best = self._chance.permutation(self.n_arms)[np.arange(S + 1) % self.n_best]
        self._plant(even_edges(self.horizon, S + 1), two_levels(self.n_arms, best, self.gap), best)
