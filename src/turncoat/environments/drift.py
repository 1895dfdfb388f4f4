"""Drift: every arm goes up and down like a tide, each with its own phase, so the best arm goes round.

    mean(t, a) = 1/2 + amplitude · sin(2π (n_periods · t/T + phase(a)))

The phases are evenly spaced, in an order drawn at random. The curve is drawn with 64 straight lines a period (off by
at most 0.0013 · amplitude), never more lines than rounds: so any round is random access, and where two arms cross is
found by bisection, not by looking at every round.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat.environments.inputs import MOST_ROUNDS, Noise, parse_number
from turncoat.environments.layout import even_edges
from turncoat.environments.segments import Segments
from turncoat.types import Seed

LINES_PER_PERIOD = 64


class Drift(Segments):
    """The arms' means swing by `amplitude` around 1/2, `n_periods` times up and down over the whole game."""

    name = "drift"
    words = ("n_periods", "amplitude")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        n_periods: float = 2.0,
        amplitude: float = 0.4,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.n_periods = parse_number("n_periods", n_periods, 0.0, float(MOST_ROUNDS))
        self.amplitude = parse_number("amplitude", amplitude, 0.0, 0.5)
        n_lines = min(max(math.ceil(LINES_PER_PERIOD * self.n_periods), 1), self.horizon)
        self._room_for(n_lines + 1)
        edges = even_edges(self.horizon, n_lines)
        phases = (self._chance.permutation(self.n_arms) + self._chance.random()) / self.n_arms
        turns = self.n_periods * edges[:, None] / self.horizon + phases
        self._drift(edges, 0.5 + self.amplitude * np.sin(2.0 * math.pi * turns))
