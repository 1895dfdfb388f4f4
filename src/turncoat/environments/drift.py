"""Families whose means drift: they move in straight lines between knots.

Drift: every arm goes up and down like a tide, each with its own phase, so the best arm goes round.

    mean(t, a) = 1/2 + amplitude · sin(2π (n_periods · t/T + phase(a)))

The phases are evenly spaced, in an order drawn at random. The curve is drawn with 64 straight lines per period (off by
at most 0.0013 · amplitude), never more lines than rounds: so any round can be computed directly, and where two arms
cross is found by bisection, not by looking at every round.

RandomWalk: every arm's mean wanders about in [0, 1], reflected at both ends.

    mean at knot j + 1 = mean at knot j + step · N(0, 1), reflected; at knot 0 uniform on [0, 1]

The knots are evenly spaced, at most one per round; between two of them the means are linear. So any round can be
computed directly, and the horizon may be as long as one likes.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat.environments.segments import Segments, even_edges
from turncoat.types import Seed
from turncoat.validation.games import Noise
from turncoat.validation.numbers import MOST_ROUNDS, parse_number, parse_whole

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


class RandomWalk(Segments):
    """The arms' means take `n_steps` random steps, of size `step`, over the whole game."""

    name = "random-walk"
    words = ("n_steps", "step")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        n_steps: int = 400,
        step: float = 0.05,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.n_steps = parse_whole("n_steps", n_steps, 1, self.horizon)
        self.step = parse_number("step", step, 0.0, 1.0)
        self._room_for(self.n_steps + 1)
        first = self._chance.random((1, self.n_arms))
        moves = self.step * self._chance.standard_normal((self.n_steps, self.n_arms))
        folded = np.cumsum(np.concatenate([first, moves]), axis=0) % 2.0
        self._drift(even_edges(self.horizon, self.n_steps), np.minimum(folded, 2.0 - folded))
