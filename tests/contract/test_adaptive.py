"""The adversary that looks: it keeps what it saw, a fresh one has seen nothing, and there is no table in advance."""

from __future__ import annotations

import numpy as np
import pytest

import turncoat as tc
from tests.naive.environments import MostPlayed, uniform_at
from turncoat._compile.games import loss_of, mean_of, planted_of, see
from turncoat.environments import Adaptive
from turncoat.errors import OptionError

pytestmark = pytest.mark.jit_off


def test_it_follows_the_rule() -> None:
    played = np.random.default_rng(3).integers(0, 4, 300)
    quiet, loud = (Adaptive(4, 300, low=0.2, high=0.9, noise=noise, seed=5) for noise in (0.0, "bernoulli"))
    adversary = MostPlayed(4, 0.2, 0.9)
    means, losses = quiet.losses_against(played), loud.losses_against(played)
    for t, arm in enumerate(played):
        assert means[t].tolist() == adversary.means()
        u = [uniform_at(int(loud.game.seed), t, k) for k in range(4)]
        assert losses[t].tolist() == [float(u[k] < adversary.means()[k]) for k in range(4)]
        adversary.see(int(arm))


def test_it_keeps_state_and_a_fresh_one_has_none() -> None:
    game = Adaptive(3, 100, noise=0.0)
    assert [loss_of(game.game, 0, arm) for arm in range(3)] == [0.3] * 3
    see(game.game, 0, 2)
    see(game.game, 1, 1)
    assert [mean_of(game.game, 2, arm) for arm in range(3)] == [0.3, 0.3, 0.7]  # the first to get there stays
    see(game.game, 2, 1)
    assert [mean_of(game.game, 3, arm) for arm in range(3)] == [0.3, 0.7, 0.3]
    assert game.game.counts.tolist() == [0, 2, 1]
    fresh = game.fresh()
    assert fresh.game.counts.tolist() == [0, 0, 0] and fresh.game.most[0] == -1
    assert fresh.fields() == game.fields() and type(fresh) is Adaptive
    see(fresh.game, 0, 0)
    assert game.game.counts.tolist() == [0, 2, 1]


def test_every_play_begins_afresh() -> None:
    game = Adaptive(3, 200, seed=4)
    first = tc.play(tc.Exp3(3, 200, seed=1), game)
    assert game.game.counts.tolist() == [0, 0, 0]
    assert np.array_equal(tc.play(tc.Exp3(3, 200, seed=1), game), first)


def test_playing_meets_the_losses_of_its_own_arms() -> None:
    """The table of what the played arms met, replayed as a fixed game, leads a learner to the same arms."""
    game = Adaptive(4, 500, seed=4)
    played = tc.play(tc.Exp3(4, 500, seed=1), game)
    met = game.losses_against(played)
    assert np.array_equal(tc.play(tc.Exp3(4, 500, seed=1), met), played)
    assert not np.array_equal(met, game.losses_against(np.zeros(500, dtype=int)))


def test_always_the_same_arm_costs_the_most() -> None:
    """From the second round on, the one arm costs 1 and the others nothing."""
    losses = Adaptive(2, 50, low=0.0, high=1.0).losses_against([1] * 50)
    assert losses.tolist() == [[0.0, 0.0], *[[0.0, 1.0]] * 49]


def test_what_it_has_not_is_refused() -> None:
    game = Adaptive(3, 10)
    assert not game.oblivious and game.n_switches is None and planted_of(game.game, 0) == -1
    for wrong in (game.losses, game.means, lambda: game.mean_losses([0]), lambda: game.losses_block(0, 1)):
        with pytest.raises(OptionError, match=r"depend on the arms played.*losses_against"):
            wrong()
    with pytest.raises(OptionError, match="no planted path"):
        game.planted_path()
    for arms in ([3], [-1], [0.0], [0] * 11, [[0]]):
        with pytest.raises(OptionError, match="accepted are at most 10 whole numbers from 0 to 2"):
            game.losses_against(arms)
    with pytest.raises(OptionError, match="1001 rounds and 100000 arms is too large"):
        Adaptive(10**5, 10**9).losses_against([0] * 1001)
    for words in ({"low": -0.1}, {"high": 1.5}, {"noise": "gauss"}, {"high": float("nan")}):
        with pytest.raises(OptionError, match="accepted are"):
            Adaptive(3, 10, **words)
