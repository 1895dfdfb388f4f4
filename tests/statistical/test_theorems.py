"""The theorems on games: mean S-switch regret lies under the bound where the bound says something.

"Says something" means less than half of Uniform's regret, which is asserted. The losses of a game are drawn once and
then stand still, as for an oblivious adversary; regret is exact, against the best path with S switches in hindsight;
what varies from run to run is the learner's seed alone.

Calibration, n = 6 runs a test, T = 1e6, all in units of the bound:
    null            the learners as they are: mean regret at most 0.09, standard deviation at most 0.003 (measured over
                    40 runs of each learner in each game below, other seeds)
    false alarm     the mean of 6 runs exceeds 1: at most 2e-5 a test, by Cantelli's inequality, even were the standard
                    deviation 0.01
    power           99 % against a mean regret of 1.05 with a standard deviation of up to 0.05 (as 2.33 · 0.05/sqrt(6)
                    is below 0.05); Uniform, at 2.2 or more, is a test of its own
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import turncoat as tc
from tests.cases import some
from turncoat.environments import Piecewise
from turncoat.types import Matrix

T = 10**6
N_RUNS = 6

pytestmark = pytest.mark.slow


class Game(NamedTuple):
    """A planted game: K arms, S switches, a gap in mean loss."""

    K: int
    S: int
    gap: float

    def uniform_regret(self) -> float:
        """Of a learner that plays every arm equally often, against the planted path."""
        return T * self.gap * (self.K - 1) / self.K


GAMES = [Game(2, 0, 1.0), Game(2, 0, 0.4), Game(2, 1, 1.0), Game(5, 0, 1.0)]
# `make test` has each game, and each rate, with both kinds of feedback, but not each game and rate with both.
ALGORITHM_2 = some(
    product(GAMES, ["own", "shared"], ["paper", "theorem"]),
    lambda game, feedback, rate: (GAMES.index(game) + (feedback == "own") + (rate == "paper")) % 2 == 0,
)


@cache
def losses_of(game: Game) -> tuple[Matrix, float]:
    """The losses, and the least loss of a path with S switches."""
    losses = Piecewise(game.K, T, game.S, gap=game.gap, seed=11).losses()
    return losses, float(tc.best_switching_losses(losses, game.S)[game.S])


def regret(learner: tc.Learner, game: Game) -> float:
    losses, least = losses_of(game)
    played = tc.play(learner, losses)
    return float(losses[np.arange(T), played].sum()) - least


def runs(maker: Any, game: Game, **words: Any) -> tuple[float, list[Any]]:
    """The mean regret, and the learners after their games."""
    learners = [maker(game.K, T, seed=seed, **words) for seed in range(N_RUNS)]
    return float(np.mean([regret(learner, game) for learner in learners])), learners


@pytest.mark.parametrize("feedback", ["own", "shared"])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_algorithm_1_keeps_theorem_1(game: Game, feedback: str) -> None:
    bound = float(tc.theorem_1(T, game.K, game.S))
    assert bound < 0.5 * game.uniform_regret()
    mean, _ = runs(tc.MasterBase, game, feedback=feedback)
    assert mean <= bound


@pytest.mark.parametrize(("game", "feedback", "rate"), ALGORITHM_2, ids=str)
def test_algorithm_2_keeps_theorem_2_with_the_rho_that_came_about(game: Game, feedback: str, rate: Any) -> None:
    # A posteriori: the expected rho of base h* is estimated by the mean over the runs; the worst case is vacuous here.
    worst = tc.theorem_2(T, game.K, game.S, rate=rate)
    assert worst.vacuous
    mean, learners = runs(tc.AdaptiveMasterBase, game, feedback=feedback, rate=rate)
    rho = float(np.mean([learner.rho[int(worst.parameters["base"])] for learner in learners]))
    bound = float(tc.theorem_2(T, game.K, game.S, rate=rate, rho=rho))
    assert bound < 0.5 * game.uniform_regret()
    assert mean <= bound


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_uniform_keeps_neither(game: Game) -> None:
    mean, _ = runs(tc.Uniform, game)
    assert mean > 2.0 * float(tc.theorem_1(T, game.K, game.S))
    assert mean > 2.0 * float(tc.theorem_2(T, game.K, game.S, rho=tc.AdaptiveMasterBase(game.K, T).rho[0]))
