"""Games by asking and telling: the same arms as `play` has, and never one that is not allowed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import turncoat as tc
from experiments.by_hand import AnyRule, play_by_hand
from experiments.games import draw
from experiments.players import RIVALS
from turncoat.environments import Piecewise

GAME = next(game for game in draw("tune-2", 14, 300, 7) if game.shape == "open-resampled")


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (7, 1), (0, 20), (30, 20), (500, 1)])
@pytest.mark.parametrize("maker", [tc.Turncoat, tc.UCB1])
def test_losses_are_told_when_play_tells_them(maker: type[tc.Learner], delay: int, batch: int) -> None:
    environment = Piecewise(3, 210, 4, seed=2)
    by_hand = play_by_hand(maker(3, seed=5), environment, delay, batch)  # type: ignore[call-arg]
    np.testing.assert_array_equal(by_hand, tc.play(maker(3, seed=5), environment, delay=delay, batch=batch))  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["turncoat", *RIVALS])
def test_only_allowed_arms_are_played(name: str) -> None:
    environment, allowed = GAME.make(0), GAME.allowed(0)
    assert allowed is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TuningWarning)
        learner = tc.Turncoat(GAME.n_arms, seed=1) if name == "turncoat" else RIVALS[name].make(GAME.n_arms, 300, 3, 1)
    played = play_by_hand(learner, environment, 0, 1, allowed)
    assert allowed[np.arange(300), played].all()


def test_a_rule_that_insists_gets_the_allowed_arm_it_chose_last_and_learns() -> None:
    learner = tc.UCB1(3, seed=0)
    for arm, loss in ((0, 0.0), (1, 1.0), (2, 1.0)):
        learner.observe(arm, loss)
    rule = AnyRule(learner)
    rule.last[:] = 5, 9, 7
    arm, decision = rule.choose(10, np.array([False, True, True]))
    assert (arm, decision) == (1, None) and learner.n_outstanding == 0
    rule.tell(arm, decision, 0.5)
    assert learner.n_told == 4
