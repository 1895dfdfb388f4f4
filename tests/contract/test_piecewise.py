"""One suite for every environment: losses are a pure function of round and arm, and one learner meets them all."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from turncoat._compile.games import loss_of
from turncoat.environments import Environment, Piecewise, Table
from turncoat.errors import OptionError
from turncoat.types import Matrix

T, K = 400, 3


def table() -> Table:
    return Table(np.random.default_rng(1).random((T, K)))


def piecewise() -> Piecewise:
    return Piecewise(K, T, 5, gap=0.4, seed=2)


every_environment = pytest.mark.parametrize("make", [table, piecewise])


def written_out(environment: Environment) -> Matrix:
    """Every loss, one call at a time, in an order of no consequence."""
    losses = np.empty((environment.horizon, environment.n_arms))
    for t in reversed(range(environment.horizon)):
        for arm in range(environment.n_arms):
            losses[t, arm] = loss_of(environment.game, t, arm)
    return losses


@pytest.mark.jit_off
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")  # words wrap, here too
@every_environment
def test_losses_are_a_pure_function(make: Callable[[], Environment]) -> None:
    losses = written_out(make())
    assert losses.shape == (T, K)
    assert ((losses >= 0.0) & (losses <= 1.0)).all()
    assert np.array_equal(losses, written_out(make()))


@pytest.mark.jit_off
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")
@every_environment
def test_playing_it_is_playing_its_table(make: Callable[[], Environment]) -> None:
    environment = make()
    on_it, on_table = tc.ClippedOMD(K, T, seed=4), tc.ClippedOMD(K, T, seed=4)
    assert np.array_equal(tc.play(on_it, environment), tc.play(on_table, written_out(environment)))
    assert on_it.state()["buffer"] == on_table.state()["buffer"]


@every_environment
def test_it_is_met_in_the_learners_range(make: Callable[[], Environment]) -> None:
    """Losses in [0, 1] told to a learner that expects [-1, 3] are the middle of its range."""
    environment = make()
    wide, unit = tc.ClippedOMD(K, T, seed=4, loss_range=(-1, 3)), tc.ClippedOMD(K, T, seed=4)
    scaled = (written_out(environment) + 1.0) / 4.0
    assert np.array_equal(tc.play(wide, environment), tc.play(unit, scaled))
    assert wide.state()["buffer"] == unit.state()["buffer"]


@every_environment
def test_it_pickles(make: Callable[[], Environment]) -> None:
    environment = make()
    again = pickle.loads(pickle.dumps(environment))
    assert np.array_equal(written_out(again), written_out(environment))


# -- Piecewise ----------------------------------------------------------------------------------------------------


def test_the_written_table_is_the_function() -> None:
    environment = piecewise()
    assert np.array_equal(environment.losses(), written_out(environment))


@pytest.mark.jit_off
@pytest.mark.parametrize(("n_arms", "horizon", "n_switches"), [(1, 1, 0), (2, 2, 1), (2, 50, 49), (7, 1000, 13)])
def test_the_planted_path_switches_as_often_as_it_says(n_arms: int, horizon: int, n_switches: int) -> None:
    for seed in range(20):
        environment = Piecewise(n_arms, horizon, n_switches, seed=seed)
        path = environment.planted_path()
        assert path.shape == (horizon,)
        assert set(path) <= set(range(n_arms))
        assert np.count_nonzero(np.diff(path)) == n_switches
        best = environment.mean_losses(path)
        assert (best == 0.5 * (1.0 - environment.gap)).all()
        if n_arms > 1:
            assert (environment.mean_losses((path + 1) % n_arms) == 0.5 * (1.0 + environment.gap)).all()


def test_losses_have_the_means_they_claim() -> None:
    """Null: the losses are independent with the claimed means. n = 200,000 a cell kind. A z-score beyond 6 has
    probability 2e-9 (two tests); a mean off by 0.01 is at least 8.9 standard errors and is caught with power > 99 %."""
    environment = Piecewise(2, 200_000, 9, gap=0.4, seed=3)
    losses, path = environment.losses(), environment.planted_path()
    rounds = np.arange(environment.horizon)
    for arms, mean in ((path, 0.3), (1 - path, 0.7)):
        z = (losses[rounds, arms].mean() - mean) / math.sqrt(mean * (1 - mean) / environment.horizon)
        assert abs(z) < 6.0
    assert set(np.unique(losses)) == {0.0, 1.0}


def test_a_gap_of_1_leaves_nothing_to_chance() -> None:
    environment = Piecewise(3, 300, 4, gap=1.0, seed=5)
    assert np.array_equal(environment.losses(), (np.arange(3) != environment.planted_path()[:, None]).astype(float))


def test_seeds_are_seeds() -> None:
    tables = [Piecewise(K, T, 5, seed=seed).losses() for seed in (1, 1, 2, np.random.SeedSequence(1))]
    assert np.array_equal(tables[0], tables[1]) and np.array_equal(tables[0], tables[3])
    assert not np.array_equal(tables[0], tables[2])


BAD: list[dict[str, Any]] = [
    *({"n_arms": value} for value in (0, -1, 2.5, "3", None, True)),
    *({"horizon": value} for value in (0, -1, 10.0, "10", None, True, 2**53 + 1, 10**400)),
    *({"n_switches": value} for value in (-1, 10, 99, 1.5, "1", None, True)),
    {"n_arms": 1, "n_switches": 1},
    *({"gap": value} for value in (-0.1, 1.1, math.nan, "0.3", None, 1j)),
    *({"seed": value} for value in (-1, 1.5, "0")),
]


@pytest.mark.parametrize("words", BAD, ids=str)
def test_bad_words_are_refused_by_name(words: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as refused:
        Piecewise(**{"n_arms": 2, "horizon": 10, "n_switches": 1, **words})
    for value in words.values():
        assert repr(value) in str(refused.value)


# -- Table --------------------------------------------------------------------------------------------------------


def test_a_table_that_changed_behind_its_back_is_still_safe() -> None:
    """Values are checked once; what is read later is checked again as it is read."""
    losses = np.zeros((10, 2))
    environment = Table(losses)
    losses[4] = math.nan
    learner = tc.Exp3(2, seed=1)
    before = learner.state()
    with pytest.raises(tc.TurncoatError, match="round 4, arm"):
        tc.play(learner, environment)
    assert learner.state() == before
