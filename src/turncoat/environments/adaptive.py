"""Adaptive: an adversary that watches, and makes the arm you have played most often the worst one.

    mean(t, a) = high for the arm played most often before round t, low for all others and in round 0

Of several such arms the one that got there first is meant. Losses are 0 or 1, by a hash of (seed, round, arm), or the
means themselves. There is no planted path and no table in advance: the losses depend on what is played. The bounds of
the paper are for oblivious adversaries; this one shows what learners do beyond them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.dispatch import register_environment
from turncoat._compile.jit import jit_game, jit_rule
from turncoat.environments.environment import MOST_CELLS, Environment
from turncoat.environments.inputs import (
    MOST_ROUNDS,
    Noise,
    parse_noise,
    parse_number,
    parse_played,
    parse_whole,
    seed_text,
)
from turncoat.environments.noise import scattered
from turncoat.errors import OptionError
from turncoat.random import seed_words, uniform_at
from turncoat.types import Ints, Matrix, Seed


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
def write_met(game: AdaptiveGame, arms: Ints, out: Matrix) -> None:
    """The losses of all arms in every round, while these arms are played."""
    for t in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[t, arm] = loss_of(game, t, arm)
        see(game, t, arms[t])


class Adaptive(Environment):
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
        self.n_arms = parse_whole("n_arms", n_arms, 1, MOST_CELLS)
        self.horizon = parse_whole("horizon", horizon, 1, MOST_ROUNDS)
        self.low, self.high = parse_number("low", low, 0.0, 1.0), parse_number("high", high, 0.0, 1.0)
        self.noise = parse_noise(noise)
        self._words = seed_words(seed)
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
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._start()
        return other

    def losses_against(self, played: ArrayLike) -> Matrix:
        """The losses of all arms that a sequence of played arms meets, from the first round on, as a table."""
        arms = parse_played("played", played, self.n_arms, self.horizon)
        if arms.size * self.n_arms > MOST_CELLS:
            raise OptionError(
                f"a table of {arms.size} rounds and {self.n_arms} arms is too large; accepted are at most {MOST_CELLS} "
                "losses"
            )
        table = np.empty((arms.size, self.n_arms))
        write_met(self.fresh().game, arms, table)
        return table

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that tell this environment from every other one."""
        return {**super().fields(), "seed": seed_text(self._words)}
