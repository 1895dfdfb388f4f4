"""Segments: the one compiled game behind every family whose means are known in advance.

Time is cut at `edges` into segments. In segment i arm a has the mean loss `means[i, a]`; in a drifting game the means
move in a straight line from row i at its first edge to row i + 1 at its last. A loss scatters around its mean by a
number hashed from (seed, round, arm): no table, whatever the horizon. The planted path is kept as its own few segments.

One type of game for many families, so that a learner is compiled once for all of them. Cost: a bisection and a hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.dispatch import register_environment
from turncoat._compile.jit import jit, jit_rule
from turncoat.environments.environment import MOST_CELLS, Environment
from turncoat.environments.inputs import MOST_ROUNDS, Noise, parse_noise, parse_whole, seed_text
from turncoat.environments.noise import scattered
from turncoat.errors import OptionError
from turncoat.random import seed_words, uniform_at
from turncoat.types import Ints, Matrix, Seed


class SegmentsGame(NamedTuple):
    """Segment i runs from round `edges[i]` to the one before `edges[i + 1]`; the last edge is the horizon."""

    seed: np.uint64
    bernoulli: bool
    spread: float
    drifting: bool
    edges: Ints  # (n + 1,)
    means: Matrix  # (n, K), or (n + 1, K) in a drifting game
    drawn: Matrix  # the means that losses are drawn with: `means` itself, but where the game is corrupted
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
def trace_best(game: SegmentsGame, edges: Ints, arms: Ints) -> int:
    """Find where a drifting game's best arm changes; write as many changes as there is room for, return how many.

    In a segment the means are straight lines, and the least of straight lines is concave: an arm is the best in one
    stretch of rounds, if at all. So its last round there is found by bisection.
    """
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
            while high - low > 1:  # it is the best at low, and not any more at high
                middle = (low + high) // 2
                if best_arm(game, i, middle) == arm:
                    low = middle
                else:
                    high = middle
            t = low + 1
    return n


class Segments(Environment):
    """The parent of the families whose game is made of segments."""

    n_switches: int

    def __init__(self, n_arms: int, horizon: int, noise: Noise, seed: Seed) -> None:
        """Check what all families share. A subclass then calls `_plant` or `_drift`."""
        self.n_arms = parse_whole("n_arms", n_arms, 1, MOST_CELLS)
        self.horizon = parse_whole("horizon", horizon, 1, MOST_ROUNDS)
        self.noise = parse_noise(noise)
        self._words = seed_words(seed)
        self._chance = np.random.default_rng(self._words[1:])

    def _room_for(self, n_segments: int) -> None:
        """Refuse more segments than memory should hold; before they are made."""
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
        n = trace_best(self.game, nothing, nothing)
        starts, arms = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        trace_best(self.game, starts, arms)
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

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that tell this environment from every other one."""
        return {**super().fields(), "noise": self.noise, "seed": seed_text(self._words)}
