"""Linear learners in a race: beside all others, made for the dimension of the features, or one dimension an arm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from turncoat.environments import scenario
from turncoat.errors import FeaturesError
from turncoat.racing.plan import size_of

T = 400
ENGINES = [{"workers": 1}, {"workers": 2}, {"engine": "processes", "workers": 2}]
MAKERS: dict[str, Any] = {
    "dlinucb": tc.DLinUCB,
    "told": tc.told(partial(tc.DLinUCB, exploration=0.2)),
    "exp3": tc.Exp3,
}


@pytest.mark.jit_off
def test_a_maker_is_told_the_dimension_if_it_makes_linear_learners() -> None:
    linear, plain = scenario("linear/8", 10), scenario("flip/3", 10)
    makers: list[Any] = [tc.DLinUCB, tc.told(tc.DLinUCB), partial(tc.DLinUCB), tc.told(partial(partial(tc.DLinUCB)))]
    for maker in makers:
        assert (size_of(maker, linear), size_of(maker, plain)) == (8, 5)
    others: list[Any] = [tc.Exp3, tc.told(tc.Exp3S), lambda arms, horizon, seed: tc.DLinUCB(arms, horizon)]
    for maker in others:
        assert (size_of(maker, linear), size_of(maker, plain)) == (50, 5)


@pytest.mark.parametrize("words", ENGINES, ids=str)
def test_linear_and_other_learners_race_side_by_side(words: dict[str, Any]) -> None:
    """What a cell holds is what `play` gives with the same streams, in games with features and without."""
    result = tc.race(MAKERS, ["linear/8", "flip/3"], T, seeds=2, seed=4, **words)
    for (name, who, i, _), cell in result.cells.items():
        game = scenario(name, T, np.random.SeedSequence(4, spawn_key=(i, 0)))
        size, S = 8 if name == "linear/8" else 5, game.n_switches
        stream = np.random.SeedSequence(4, spawn_key=(i, 1))
        makers: dict[str, Any] = {
            "dlinucb": partial(tc.DLinUCB, size),
            "told": partial(tc.DLinUCB, size, n_switches=S, exploration=0.2),
            "exp3": partial(tc.Exp3, game.n_arms),
        }
        played = tc.play(makers[who](T, seed=stream), game)
        assert cell.loss[-1] == pytest.approx(game.losses()[np.arange(T), played].sum(), rel=1e-12)


def test_a_race_of_a_learner_for_another_dimension_is_refused() -> None:
    with pytest.raises(FeaturesError, match=r"have shape \(50, 8\); accepted are rows of 3 numbers"):
        tc.race({"own": lambda arms, horizon, seed: tc.DLinUCB(3, horizon, seed=seed)}, "linear/8", 50, seeds=1)
