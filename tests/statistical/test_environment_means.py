"""Losses have the means that environments say they have: per arm, and per eighth of the game, not just overall.

T = 16,000 rounds, 8 parts, K arms: in each of the 8K groups the average of n = 2,000 independent losses in [0, 1] is
compared with that of their means. Null: the means are right. By Hoeffding's inequality P(|difference| >= e) <=
2 exp(-2 n e²), whatever the losses are; e is set so that a scenario alarms falsely with at most 1e-6, all of them with
4e-5. A group whose mean is off by 2 e, 0.14 at K = 10, is caught with at least 1 - 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.contract.games import OBLIVIOUS
from turncoat.environments import Adaptive, Corrupted, Drift, Piecewise, scenario
from turncoat.types import Matrix

T, PARTS, LEVEL = 16_000, 8, 1e-6


def margin(n_groups: int, n: int) -> float:
    """How far an average of n losses may be from its mean, in any of the groups."""
    return math.sqrt(math.log(2 * n_groups / LEVEL) / (2 * n))


def far_off(losses: Matrix, means: Matrix) -> float:
    """How far the worst group is off, as a share of what it may be."""
    K = losses.shape[1]
    excess = (losses - means).reshape(PARTS, T // PARTS, K).mean(axis=1)
    return float(np.abs(excess).max() / margin(PARTS * K, T // PARTS))


@pytest.mark.parametrize("name", OBLIVIOUS)
def test_losses_average_to_their_means(name: str) -> None:
    game = scenario(name, T, seed=12)
    if isinstance(game, Corrupted):  # its means are those before the corruption, which a budget of 0 leaves alone
        game = Corrupted(game.n_arms, T, 0, seed=12)
    losses, means = game.losses(), game.means()
    if getattr(game, "noise", None) == 0.0:
        assert np.array_equal(losses, means)
    assert far_off(losses, means) < 1.0


@pytest.mark.parametrize("noise", [0.05, 0.3, 0.5])
def test_real_valued_losses_average_to_their_means(noise: float) -> None:
    """Also where the means are close to 0 and 1, and the noise has little room."""
    for game in (
        Piecewise(4, T, 30, resampled=True, gap=0.0, noise=noise, seed=3),
        Drift(4, T, amplitude=0.5, noise=noise),
    ):
        losses, means = game.losses(), game.means()
        assert far_off(losses, means) < 1.0
        room = np.minimum(noise, np.minimum(means, 1 - means))
        assert np.all(np.abs(losses - means) <= room + 1e-15)
        assert np.std((losses - means)[room > 0.01] / room[room > 0.01]) == pytest.approx(1 / math.sqrt(3), rel=0.02)


def test_an_adaptive_adversary_charges_what_it_says() -> None:
    played = np.random.default_rng(1).integers(0, 5, T)
    losses = Adaptive(5, T, seed=2).losses_against(played)
    means = Adaptive(5, T, seed=2, noise=0.0).losses_against(played)
    assert far_off(losses, means) < 1.0


def test_this_test_can_fail() -> None:
    """Two arms swapped, and a gap of 0.4 claimed to be 0.1: both are noticed."""
    game, claimed = Piecewise(10, T, 3, gap=0.3, seed=1), Piecewise(10, T, 3, gap=0.1, seed=1)
    assert far_off(game.losses(), game.means()[:, ::-1]) > 1.0
    assert far_off(Piecewise(10, T, 3, gap=0.4, seed=1).losses(), claimed.means()) > 1.0
