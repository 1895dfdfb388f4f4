"""Adaptive: an adversary that watches, and makes the arm you have played most often the worst one.

    mean(t, a) = high for the arm played most often before round t, low for all others and in round 0

Of several such arms the one that got there first is meant. Losses are 0 or 1, by a hash of (seed, round, arm), or the
means themselves. There is no planted path and no table in advance: the losses depend on what is played. The bounds of
the paper are for oblivious adversaries; this one shows what learners do beyond them.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.games import register_environment
from turncoat._compile.jit import jit_game, jit_rule
from turncoat.environments.environment import empty_table
from turncoat.environments.segments import Noisy, scattered
from turncoat.random import uniform_at
from turncoat.types import Ints, Matrix, Seed
from turncoat.validation.games import Noise, parse_played
from turncoat.validation.numbers import parse_number


class AdaptiveGame(NamedTuple):
    """What the adversary was told, and what it has seen so far."""

    seed: np.uint64
    bernoulli: bool
    spread: float
    low: float
    high: float
    counts: Ints  # (K,) how often each arm was played
    most: Ints  # (1,) the arm played most often, -1 before the first round


@jit_rule
def mean_of(game: AdaptiveGame, t: int, arm: int) -> float:
    """By what was seen until now."""
    return game.high if arm == game.most[0] else game.low


@jit_rule
def loss_of(game: AdaptiveGame, t: int, arm: int) -> float:
    """The mean and its noise."""
    return scattered(mean_of(game, t, arm), uniform_at(game.seed, t, arm), game.bernoulli, game.spread)


@jit_rule
def see(game: AdaptiveGame, t: int, arm: int) -> None:
    """Count the arm."""
    game.counts[arm] += 1
    if game.most[0] < 0 or game.counts[arm] > game.counts[game.most[0]]:
        game.most[0] = arm


register_environment(AdaptiveGame, loss_of=loss_of, mean_of=mean_of, see=see)


@jit_game
def write_met(fields: Any, arms: Ints, out: Matrix) -> None:
    """The losses of all arms in every round, while these arms are played. `fields`: an AdaptiveGame as a tuple."""
    game = AdaptiveGame(*fields)
    for t in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[t, arm] = loss_of(game, t, arm)
        see(game, t, arms[t])


class Adaptive(Noisy):
    """The arm played most often costs `high` in mean, all others `low`."""

    name = "adaptive"
    words = ("low", "high", "noise")
    oblivious = False
    n_switches = None

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        low: float = 0.3,
        high: float = 0.7,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.low, self.high = parse_number("low", low, 0.0, 1.0), parse_number("high", high, 0.0, 1.0)
        self._start()

    def _start(self) -> None:
        self.game = AdaptiveGame(
            seed=self._words[0],
            bernoulli=self.noise == "bernoulli",
            spread=0.0 if isinstance(self.noise, str) else self.noise,
            low=self.low,
            high=self.high,
            counts=np.zeros(self.n_arms, dtype=np.int64),
            most=np.full(1, -1, dtype=np.int64),
        )

    def fresh(self) -> Self:
        """An equal adversary that has seen nothing yet."""
        other = copy(self)
        other._start()
        return other

    def losses_against(self, played: ArrayLike) -> Matrix:
        """The losses of all arms that a sequence of played arms meets, from the first round on, as a table."""
        arms = parse_played("played", played, self.n_arms, self.horizon)
        table = empty_table(arms.size, self.n_arms, "arms", "losses")
        write_met(tuple(self.fresh().game), arms, table)
        return table
