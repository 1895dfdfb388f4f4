"""RandomWalk: every arm's mean wanders about in [0, 1], reflected at both ends.

    mean at knot j + 1 = mean at knot j + step · N(0, 1), reflected; at knot 0 uniform on [0, 1]

The knots are evenly spaced, at most one a round; between two of them the means move in a straight line. So any round is
random access, and the horizon may be as long as one likes.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number, parse_whole
from turncoat.environments.layout import even_edges
from turncoat.environments.segments import Segments
from turncoat.types import Seed


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
