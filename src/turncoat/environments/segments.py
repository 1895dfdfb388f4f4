"""Segments: the compiled game of every environment whose means are piecewise constant or piecewise linear.

`edges` divide time into segments. In segment i arm a has the mean loss `means[i, a]`; in a drifting game the means are
interpolated linearly from row i at its first edge to row i + 1 at its last. The noise of a loss is hashed from (seed,
round, arm), so that no horizon needs a table. The planted path is stored as a few segments of its own.

All these environments share one type of game, whose kernels are compiled once. Cost of a loss: a bisection and a hash.

The noise has mean 0, and each loss is made from one uniform number.

| `noise`       | loss                                               |                          |
|---------------|----------------------------------------------------|--------------------------|
| "bernoulli"   | 1 with probability mean, else 0                    |                          |
| w in (0, 0.5] | uniform on mean ± min(w, mean, 1 - mean)           | in [0, 1], mean unmoved  |
| 0             | the mean                                           | no randomness at all     |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.games import register_environment
from turncoat._compile.jit import jit, jit_rule
from turncoat.environments.environment import MOST_CELLS, Environment
from turncoat.errors import OptionError
from turncoat.random import seed_text, seed_words, uniform_at
from turncoat.types import Ints, Matrix, Seed
from turncoat.validation.games import Noise, parse_noise, parse_planted_switches
from turncoat.validation.numbers import MOST_ROUNDS, parse_whole


def even_edges(horizon: int, n_segments: int) -> Ints:
    """Edges of segments of equal length, to within one round: floor(i T / n), in integer arithmetic."""
    whole, rest = divmod(horizon, n_segments)
    i = np.arange(n_segments + 1, dtype=np.int64)
    return i * whole + i * rest // n_segments


def random_rounds(chance: np.random.Generator, low: int, high: int, n: int) -> Ints:
    """n different rounds from low … high - 1, in order."""
    return np.sort(chance.choice(high - low, n, replace=False)).astype(np.int64) + low if n else np.empty(0, np.int64)


def random_edges(chance: np.random.Generator, horizon: int, n_switches: int) -> Ints:
    """Edges of segments that end at random rounds."""
    return np.concatenate([[0], random_rounds(chance, 1, horizon, n_switches), [horizon]]).astype(np.int64)


def wandering(chance: np.random.Generator, n_arms: int, n_switches: int) -> Ints:
    """Best arms drawn at random, each different from the one before."""
    steps = chance.integers(1, max(n_arms, 2), n_switches)
    arms: Ints = (chance.integers(n_arms) + np.concatenate([[0], np.cumsum(steps)])).astype(np.int64) % n_arms
    return arms


def two_levels(n_arms: int, best: Ints, gap: float) -> Matrix:
    """A row for each best arm: its mean is (1 - gap)/2, that of all others (1 + gap)/2."""
    means = np.full((best.size, n_arms), 0.5 * (1.0 + gap))
    means[np.arange(best.size), best] = 0.5 * (1.0 - gap)
    return means


@jit_rule
def scattered(mean: float, u: float, bernoulli: bool, spread: float) -> float:
    """The loss with this mean, from a uniform number u in [0, 1)."""
    if bernoulli:
        return 1.0 if u < mean else 0.0
    return mean + (2.0 * u - 1.0) * min(spread, mean, 1.0 - mean)


class SegmentsGame(NamedTuple):
    """Segment i runs from round `edges[i]` to the one before `edges[i + 1]`; the last edge is the horizon."""

    seed: np.uint64
    bernoulli: bool
    spread: float
    drifting: bool
    edges: Ints  # (n + 1,)
    means: Matrix  # (n, K), or (n + 1, K) in a drifting game
    drawn: Matrix  # the means that losses are drawn with: `means`, except in a corrupted game
    path_edges: Ints  # (m + 1,)
    path_arms: Ints  # (m,) the best arm between two of them


@jit_rule
def segment_of(edges: Ints, t: int) -> int:
    """The segment that round t lies in, by bisection."""
    low, high = 0, edges.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@jit_rule
def mean_in(game: SegmentsGame, i: int, rows: Matrix, t: int, arm: int) -> float:
    """The mean of an arm in round t, which lies in segment i, by these rows."""
    mean = float(rows[i, arm])
    if game.drifting:
        begin, end = game.edges[i], game.edges[i + 1]
        mean += (rows[i + 1, arm] - mean) * ((t - begin) / (end - begin))
    return mean


@jit_rule
def loss_of(game: SegmentsGame, t: int, arm: int) -> float:
    """The mean and its noise."""
    mean = mean_in(game, segment_of(game.edges, t), game.drawn, t, arm)
    return scattered(mean, uniform_at(game.seed, t, arm), game.bernoulli, game.spread)


@jit_rule
def mean_of(game: SegmentsGame, t: int, arm: int) -> float:
    """The mean alone."""
    return mean_in(game, segment_of(game.edges, t), game.means, t, arm)


@jit_rule
def planted_of(game: SegmentsGame, t: int) -> int:
    """The best arm in mean."""
    return int(game.path_arms[segment_of(game.path_edges, t)])


register_environment(SegmentsGame, loss_of=loss_of, mean_of=mean_of, planted_of=planted_of)


@jit_rule
def best_arm(game: SegmentsGame, i: int, t: int) -> int:
    """The first arm of least mean in round t, which lies in segment i."""
    best, least = 0, mean_in(game, i, game.means, t, 0)
    for arm in range(1, game.means.shape[1]):
        mean = mean_in(game, i, game.means, t, arm)
        if mean < least:
            best, least = arm, mean
    return best


@jit
def trace_best(fields: Any, edges: Ints, arms: Ints) -> int:
    """Find where the best arm of a drifting game changes; write as many changes as fit, and return their number.

    Within a segment the means are linear, and the minimum of linear functions is concave: each arm is best in at most
    one interval of rounds, whose end is found by bisection.
    """
    game = SegmentsGame(*fields)
    n, current = 0, -1
    for i in range(game.edges.size - 1):
        t, last = game.edges[i], game.edges[i + 1] - 1
        while t <= last:
            arm = best_arm(game, i, t)
            if arm != current:
                if n < arms.size:
                    edges[n], arms[n] = t, arm
                n, current = n + 1, arm
            low, high = t, last
            if best_arm(game, i, last) == arm:
                low = last
            while high - low > 1:  # the arm is best at low and no longer at high
                middle = (low + high) // 2
                if best_arm(game, i, middle) == arm:
                    low = middle
                else:
                    high = middle
            t = low + 1
    return n


class Noisy(Environment):
    """Base class of the environments whose losses scatter around means."""

    def __init__(self, n_arms: int, horizon: int, noise: Noise, seed: Seed) -> None:
        """Check the common arguments."""
        self.n_arms = parse_whole("n_arms", n_arms, 1, MOST_CELLS)
        self.horizon = parse_whole("horizon", horizon, 1, MOST_ROUNDS)
        self.noise = parse_noise(noise)
        self._words = seed_words(seed)

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that identify this environment."""
        return {**super().fields(), "noise": self.noise, "seed": seed_text(self._words)}


class Segments(Noisy):
    """Base class of the environments whose game is a SegmentsGame. A subclass calls `_plant` or `_drift`."""

    n_switches: int

    def __init__(self, n_arms: int, horizon: int, noise: Noise, seed: Seed) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self._chance = np.random.default_rng(self._words[1:])

    def _parse_switches(self, n_switches: int) -> int:
        """S, the number of switches of the best arm; S + 1 segments must fit in memory."""
        S = parse_planted_switches(n_switches, self.n_arms, self.horizon)
        self._room_for(S + 1)
        return S

    def _room_for(self, n_segments: int) -> None:
        """Refuse too many segments, before they are allocated."""
        if n_segments * self.n_arms > MOST_CELLS:
            raise OptionError(
                f"{n_segments} segments of {self.n_arms} arms are too many; accepted are at most {MOST_CELLS} means"
            )

    def _plant(self, edges: Ints, means: Matrix, best: Ints, drawn: Matrix | None = None) -> None:
        """Make the game from its segments, their means, and the best arm of each."""
        changes = np.flatnonzero(np.diff(best)) + 1
        starts = np.concatenate([[0], changes]).astype(np.int64)
        self._make(False, edges, means, means if drawn is None else drawn, edges[starts], best[starts])

    def _drift(self, edges: Ints, means: Matrix) -> None:
        """Make the game from its edges and the means at each of them; find its best arms."""
        nothing = np.empty(0, dtype=np.int64)
        self._make(True, edges, means, means, nothing, nothing)
        n = trace_best(tuple(self.game), nothing, nothing)
        starts, arms = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        trace_best(tuple(self.game), starts, arms)
        self._make(True, edges, means, means, starts, arms)

    def _make(
        self, drifting: bool, edges: Ints, means: Matrix, drawn: Matrix, path_starts: Ints, path_arms: Ints
    ) -> None:
        rows = np.ascontiguousarray(means, dtype=np.float64)
        self.game = SegmentsGame(
            seed=self._words[0],
            bernoulli=self.noise == "bernoulli",
            spread=0.0 if isinstance(self.noise, str) else self.noise,
            drifting=drifting,
            edges=edges.astype(np.int64),
            means=rows,
            drawn=rows if drawn is means else np.ascontiguousarray(drawn, dtype=np.float64),
            path_edges=np.append(path_starts, self.horizon).astype(np.int64),
            path_arms=path_arms.astype(np.int64),
        )
        self.n_switches = path_arms.size - 1
