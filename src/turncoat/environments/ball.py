"""BallSwitching: linear losses on the unit ball, whose vectors are piecewise constant plus noise.

    l(t) = m(i) + noise, in segment i;  the loss of a point x is <x, l(t)>, in [-1, 1]

The means m(i) have norm `size` and directions drawn at random; the S switches fall at random rounds. The noise has
independent coordinates, uniform within `noise`/√d, hashed from (seed, round, coordinate): so |l| ≤ size + noise ≤ 1.

The best point of segment i in expectation is -m(i)/|m(i)|, and the planted path plays it: pseudo-regret is measured
against that path, and regret against the exact comparator of the losses (`regret.best_point_losses`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.jit import jit_game, jit_rule
from turncoat.environments.environment import empty_table
from turncoat.environments.linear import MOST_DIMENSIONS, unit_rows
from turncoat.environments.segments import random_edges, segment_of
from turncoat.errors import OptionError
from turncoat.random import seed_text, seed_words, uniform_at
from turncoat.types import Ints, Matrix, Seed, Vector
from turncoat.validation.numbers import MOST_ROUNDS, parse_number, parse_whole


class BallGame(NamedTuple):
    """Segment i runs from round `edges[i]` on and has the mean `means[i]`."""

    seed: np.uint64
    spread: float  # half width of a coordinate's noise
    edges: Ints  # (n + 1,)
    means: Matrix  # (n, d)


@jit_rule
def write_vector(game: BallGame, t: int, out: Vector) -> None:
    """The loss vector of round t."""
    i = segment_of(game.edges, t)
    for j in range(out.size):
        out[j] = game.means[i, j] + game.spread * (2.0 * uniform_at(game.seed, t, j) - 1.0)


@jit_game
def write_vectors(fields: Any, start: int, out: Matrix) -> None:
    """The loss vectors of the rounds from `start` on, a row of `out` each. `fields`: a BallGame as a plain tuple."""
    game = BallGame(*fields)
    for i in range(out.shape[0]):
        write_vector(game, start + i, out[i])


class BallSwitching:
    """A game of `horizon` rounds over the unit ball in `dimension` dimensions, whose best point changes S times."""

    name = "ball-switching"

    def __init__(
        self,
        dimension: int,
        horizon: int,
        n_switches: int,
        *,
        size: float = 0.5,
        noise: float = 0.5,
        seed: Seed = 0,
    ) -> None:
        self.dimension = parse_whole("dimension", dimension, 1, MOST_DIMENSIONS)
        self.horizon = parse_whole("horizon", horizon, 1, MOST_ROUNDS)
        self.n_switches = parse_whole("n_switches", n_switches, 0, self.horizon - 1)
        self.size, self.noise = parse_number("size", size, 0.0, 1.0), parse_number("noise", noise, 0.0, 1.0)
        if self.size + self.noise > 1.0:
            raise OptionError(f"size is {size!r} and noise {noise!r}; accepted are numbers that sum to at most 1")
        self._words = seed_words(seed)
        chance = np.random.default_rng(self._words[1:])
        means = self.size * unit_rows(chance, self.n_switches + 1, self.dimension)
        edges = random_edges(chance, self.horizon, self.n_switches)
        self.game = BallGame(self._words[0], self.noise / math.sqrt(self.dimension), edges, means)

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that identify this game."""
        words = ("dimension", "horizon", "n_switches", "size", "noise")
        own = {word: getattr(self, word) for word in words}
        return {"environment": self.name, **own, "seed": seed_text(self._words)}

    def losses(self) -> Matrix:
        """The loss vectors of the whole game, (rounds, dimension)."""
        table = empty_table(self.horizon, self.dimension, "dimensions", "numbers")
        write_vectors(tuple(self.game), 0, table)
        return table

    def means(self) -> Matrix:
        """The mean loss vector of every round, (rounds, dimension)."""
        rounds: Matrix = np.repeat(self.game.means, np.diff(self.game.edges), axis=0)
        return rounds

    def planted_path(self) -> Matrix:
        """The best point of every round, in mean, (rounds, dimension)."""
        means = self.means()
        return -means / max(self.size, np.finfo(np.float64).tiny)

    def __repr__(self) -> str:
        words = "; ".join(
            f"{word} {value}" for word, value in self.fields().items() if word not in ("environment", "seed")
        )
        return f"<{type(self).__name__}: {words}>"
