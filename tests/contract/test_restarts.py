"""Learners that begin anew at fixed times: what was decided before a restart and is told after it is dropped."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import contents, play_by_hand
from turncoat.errors import DecisionError, LossError

pytestmark = pytest.mark.jit_off


def made(seed: int = 1) -> tc.RestartedExp3:
    learner = tc.RestartedExp3(3, 100, n_switches=30, seed=seed)
    assert learner.block == 4  # (3 ln 3)^(1/3) (10/3)^(2/3) = 3.32
    return learner


def test_a_tell_from_before_a_restart_is_dropped_and_counted() -> None:
    learner, twin = made(), made()
    early = learner.ask()
    twin.forget(twin.ask())
    play_by_hand(learner, 4)
    play_by_hand(twin, 4)
    now = learner.ask()
    twins = twin.ask()
    learner.tell(early, loss=1.0)
    assert (learner.n_dropped, learner.n_told, learner.n_outstanding) == (1, 4, 1)
    assert np.array_equal(learner.probabilities(), twin.probabilities())
    learner.tell(now, loss=1.0)
    twin.tell(twins, loss=1.0)
    assert (learner.n_dropped, learner.n_told) == (1, 5)
    assert np.array_equal(learner.probabilities(), twin.probabilities())
    assert learner.probabilities()[now.index] < 1 / 3
    with pytest.raises(DecisionError, match="told or forgotten already"):
        learner.tell(early, loss=1.0)


def test_the_restart_may_come_in_a_play_or_in_the_tell_before() -> None:
    for restart in ("play", "tell", "observe"):
        learner = made()
        early = [learner.ask() for _ in range(2)]
        play_by_hand(learner, 3)
        if restart == "play":
            tc.play(learner, np.ones((1, 3)))
        elif restart == "tell":
            learner.tell(early.pop(), loss=1.0)
        else:
            learner.observe(0, 1.0, 0.5)
        assert learner.n_told == 4 and learner.probabilities().tolist() == [1 / 3] * 3
        for decision in early:
            learner.tell(decision, loss=1.0)
        assert learner.n_dropped == len(early) and learner.n_told == 4


def test_what_is_dropped_is_checked_all_the_same_and_survives_saving() -> None:
    learner = made()
    early = learner.ask()
    play_by_hand(learner, 4)
    before = contents(learner)
    with pytest.raises(LossError):
        learner.tell(early, loss=2.0)
    assert contents(learner)["outstanding"] == before["outstanding"] and learner.n_dropped == 0
    for again in (copy.deepcopy(learner), tc.restore(json.loads(json.dumps(learner.state())))):
        assert isinstance(again, tc.RestartedExp3)
        again.tell(early, loss=1.0)
        assert (again.n_dropped, again.n_told) == (1, 4)
        assert play_by_hand(again, 3) == play_by_hand(copy.deepcopy(learner), 3)


def test_late_tells_inside_a_block_are_learned() -> None:
    learner = made()
    decisions = [learner.ask() for _ in range(3)]
    for decision in reversed(decisions):
        learner.tell(decision, loss=1.0)
    assert (learner.n_dropped, learner.n_told) == (0, 3)


def test_without_switches_it_is_exp3_to_the_bit() -> None:
    losses = np.random.default_rng(2).random((300, 5))
    restarted, exp3 = tc.RestartedExp3(5, 300, n_switches=0, seed=4), tc.Exp3(5, 300, seed=4)
    assert np.array_equal(tc.play(restarted, losses[:299]), tc.play(exp3, losses[:299]))
    assert np.array_equal(restarted.probabilities(), exp3.probabilities())


def test_every_block_is_a_fresh_exp3() -> None:
    losses = np.random.default_rng(3).random((200, 4))
    restarted = tc.RestartedExp3(4, 1000, n_switches=60, seed=4)
    D = restarted.block
    assert 10 < D < 20
    tc.play(restarted, losses[:D])
    exp3 = tc.Exp3(4, D, seed=0)
    exp3.view().rng[:] = restarted.view().rng
    assert np.array_equal(tc.play(restarted, losses[D : 2 * D - 1]), tc.play(exp3, losses[D : 2 * D - 1]))
    assert np.array_equal(restarted.probabilities(), exp3.probabilities())
