"""Piecewise: one arm is best, then another. 0/1 losses whose means stand still between a few switches.

In every segment one arm has mean loss (1 - gap)/2 and all others (1 + gap)/2. The S switches fall at random rounds,
and each moves the best arm to another one, so the planted path switches exactly S times. Losses are Bernoulli, by a
hash of (seed, round, arm): no table, whatever the horizon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from turncoat._jit import jit_rule, register_environment
from turncoat.environments.hashing import uniform_at
from turncoat.errors import OptionError
from turncoat.rng import seed_words
from turncoat.types import Ints, Matrix, Seed, Vector


class PiecewiseGame(NamedTuple):
    """Segment i runs from `starts[i]` on, and `best[i]` is its best arm."""

    seed: np.uint64
    gap: float
    starts: Ints
    best: Ints


@jit_rule
def segment_of(game: PiecewiseGame, t: int) -> int:
    """The segment round t lies in, by bisection."""
    low, high = 0, game.starts.size
    while high - low > 1:
        middle = (low + high) // 2
        if game.starts[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@jit_rule
def loss_of(game: PiecewiseGame, t: int, arm: int) -> float:
    """0 or 1, with the segment's mean."""
    sign = -1.0 if game.best[segment_of(game, t)] == arm else 1.0
    return 1.0 if uniform_at(game.seed, t, arm) < 0.5 * (1.0 + sign * game.gap) else 0.0


@jit_rule
def write_out(game: PiecewiseGame, table: Matrix) -> None:
    """Every loss of the first rounds, as a table."""
    for t in range(table.shape[0]):
        for arm in range(table.shape[1]):
            table[t, arm] = loss_of(game, t, arm)


register_environment(PiecewiseGame, loss_of=loss_of)


class Piecewise:
    """A game of `horizon` rounds whose best of `n_arms` arms changes `n_switches` times, by a `gap` in mean loss."""

    def __init__(self, n_arms: int, horizon: int, n_switches: int, *, gap: float = 0.3, seed: Seed = 0) -> None:
        whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in (n_arms, horizon, n_switches))
        if not whole or n_arms < 1 or not 0 <= n_switches < horizon <= 2**53 or (n_arms == 1 and n_switches):
            raise OptionError(
                f"n_arms={n_arms!r}, horizon={horizon!r}, n_switches={n_switches!r}; accepted are at least 1 arm, "
                "from 1 to 2**53 rounds, and from 0 to horizon - 1 switches (0 with a single arm)"
            )
        if not isinstance(gap, int | float | np.floating) or not 0.0 <= gap <= 1.0:
            raise OptionError(f"gap is {gap!r}; accepted are numbers from 0 to 1")
        self.n_arms, self.horizon, self.n_switches, self.gap = int(n_arms), int(horizon), int(n_switches), float(gap)
        words = seed_words(seed)
        chance = np.random.default_rng(words[1:])
        switches = np.sort(chance.choice(max(self.horizon - 1, 1), self.n_switches, replace=False)) + 1
        steps = chance.integers(1, max(self.n_arms, 2), self.n_switches)
        best = (chance.integers(self.n_arms) + np.concatenate([[0], np.cumsum(steps)])) % self.n_arms
        starts = np.concatenate([[0], switches]).astype(np.int64)
        self.game = PiecewiseGame(words[0], self.gap, starts, best.astype(np.int64))

    def planted_path(self) -> Ints:
        """The best arm of every round, in mean."""
        lengths = np.diff(np.append(self.game.starts, self.horizon))
        return np.repeat(self.game.best, lengths)

    def mean_losses(self, arms: Ints) -> Vector:
        """The mean loss of playing these arms, one a round from the first on."""
        on_path = self.planted_path()[: len(arms)] == arms
        return np.where(on_path, 0.5 * (1.0 - self.gap), 0.5 * (1.0 + self.gap))

    def losses(self) -> Matrix:
        """The whole game as a (rounds, arms) table."""
        table = np.empty((self.horizon, self.n_arms))
        write_out(self.game, table)
        return table
