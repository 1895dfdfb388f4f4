"""Linear games: arms have feature vectors, and one vector theta, which moves, says what all of them are worth.

An arm's features are a direction u(a) in d - 1 dimensions, drawn once, and a constant for the intercept; theta holds a
direction v, which moves:

    x(a) = (1, u(a))/√2,  theta(t) = (1, amplitude · v(t))/√2,  |u| = |v| = 1
    mean(t, a) = 1 - <x(a), theta(t)> = 1/2 - amplitude/2 · <u(a), v(t)>

So |x| = 1, |theta| ≤ 1, and every mean lies in [0, 1]: the best arm is the one that points most nearly where v does.

* `LinearSwitching`: v points at one arm, then, from a random round on, at another; S times.
* `LinearDrift`: v goes round in a plane drawn at random, on 64 straight lines per turn (|v| falls to 0.9988 between).

The means are those of a game of segments (segments.py), so learners that do not see features play these games too.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat.environments.drift import LINES_PER_PERIOD
from turncoat.environments.segments import Segments, even_edges, random_edges, wandering
from turncoat.types import Matrix, Seed
from turncoat.validation.games import Noise
from turncoat.validation.numbers import MOST_ROUNDS, parse_number, parse_whole

MOST_DIMENSIONS = 256


class Linear(Segments):
    """The parent of the linear games: `features` (K, d), and `parameters`, theta at the edges of its segments."""

    features: Matrix
    parameters: Matrix

    def _describe(self, dimension: int, amplitude: float) -> Matrix:
        """Draw the arms' features; their directions."""
        self.dimension = parse_whole("dimension", dimension, 3, MOST_DIMENSIONS)
        self.amplitude = parse_number("amplitude", amplitude, 0.0, 1.0)
        self._room_for(self.dimension)
        directions = unit_rows(self._chance, self.n_arms, self.dimension - 1)
        self.features = _with_intercept(directions)
        return directions

    def _means(self, towards: Matrix) -> Matrix:
        """Remember theta for each of these v, and what all arms then cost in mean."""
        self.parameters = _with_intercept(self.amplitude * towards)
        means: Matrix = np.clip(1.0 - self.parameters @ self.features.T, 0.0, 1.0)
        return means


class LinearSwitching(Linear):
    """What makes an arm good changes at `n_switches` random rounds; arms are points in `dimension` dimensions."""

    name = "linear-switching"
    words = ("n_switches", "dimension", "amplitude")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        dimension: int = 8,
        amplitude: float = 0.8,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        directions = self._describe(dimension, amplitude)
        edges = random_edges(self._chance, self.horizon, S)
        best = wandering(self._chance, self.n_arms, S)
        self._plant(edges, self._means(directions[best]), best)


class LinearDrift(Linear):
    """What makes an arm good turns slowly, `n_periods` times round; arms are points in `dimension` dimensions."""

    name = "linear-drift"
    words = ("n_periods", "dimension", "amplitude")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        n_periods: float = 2.0,
        dimension: int = 8,
        amplitude: float = 0.8,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.n_periods = parse_number("n_periods", n_periods, 0.0, float(MOST_ROUNDS))
        n_lines = min(max(math.ceil(LINES_PER_PERIOD * self.n_periods), 1), self.horizon)
        self._room_for(n_lines + 1)
        self._describe(dimension, amplitude)
        first, second = np.linalg.qr(self._chance.standard_normal((self.dimension - 1, 2)))[0].T
        edges = even_edges(self.horizon, n_lines)
        angles = 2.0 * math.pi * (self.n_periods * edges[:, None] / self.horizon + self._chance.random())
        self._drift(edges, self._means(np.cos(angles) * first + np.sin(angles) * second))


def unit_rows(chance: np.random.Generator, n: int, d: int) -> Matrix:
    """n directions in d dimensions, uniform on the sphere."""
    rows = chance.standard_normal((n, d))
    directions: Matrix = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return directions


def _with_intercept(rows: Matrix) -> Matrix:
    return np.ascontiguousarray(np.column_stack([np.ones(len(rows)), rows]) / math.sqrt(2.0))
