"""Learners that begin anew: at fixed times, and then what is told late is dropped; or when a test says so."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import contents, play_by_hand
from turncoat._compile.state import HEAD
from turncoat.errors import DecisionError, LossError, StateError

pytestmark = pytest.mark.jit_off


def restarted_exp3() -> tc.RestartedExp3:
    learner = tc.RestartedExp3(3, 100, n_switches=30, seed=1)
    assert learner.block == 4  # (3 ln 3)^(1/3) (10/3)^(2/3) = 3.32
    return learner


def bob() -> tc.BanditOverBandit:
    learner = tc.BanditOverBandit(3, 100, block=20, seed=1)
    assert learner.block == 20 and 0.7 < learner.explorations[0] < 0.8
    return learner


each = pytest.mark.parametrize("made", [restarted_exp3, bob])
Made = Callable[[], tc.RestartedExp3 | tc.BanditOverBandit]


@each
def test_a_tell_from_before_a_restart_is_dropped_and_counted(made: Made) -> None:
    learner, twin = made(), made()
    D = learner.block
    early = learner.ask()
    twin.forget(twin.ask())
    play_by_hand(learner, D)
    play_by_hand(twin, D)
    now = learner.ask()
    twins = twin.ask()
    learner.tell(early, loss=0.5)
    assert (learner.n_dropped, learner.n_told, learner.n_outstanding) == (1, D, 1)
    assert np.array_equal(learner.probabilities(), twin.probabilities())
    learner.tell(now, loss=0.5)
    twin.tell(twins, loss=0.5)
    assert (learner.n_dropped, learner.n_told) == (1, D + 1)
    assert np.array_equal(learner.probabilities(), twin.probabilities())
    weights = learner.view().tree[:3]  # all 1 in a fresh EXP3, all 0 (beside an offset) in a fresh EXP3.S
    assert weights[now.index] < 0.9 if isinstance(learner, tc.RestartedExp3) else weights[now.index] > 0.1
    with pytest.raises(DecisionError, match="told or forgotten already"):
        learner.tell(early, loss=1.0)


@each
def test_the_restart_may_come_in_a_play_or_in_the_tell_before(made: Made) -> None:
    for restart in ("play", "tell", "observe"):
        learner = made()
        D = learner.block
        early = [learner.ask() for _ in range(2)]
        play_by_hand(learner, D - 1)
        if restart == "play":
            tc.play(learner, np.ones((1, 3)))
        elif restart == "tell":
            learner.tell(early.pop(), loss=1.0)
        else:
            learner.observe(0, 1.0, 0.5)
        assert learner.n_told == D and learner.probabilities() == pytest.approx([1 / 3] * 3, rel=1e-15)
        for decision in early:
            learner.tell(decision, loss=1.0)
        assert learner.n_dropped == len(early) and learner.n_told == D


@each
def test_what_is_dropped_is_checked_all_the_same_and_survives_saving(made: Made) -> None:
    learner = made()
    early = learner.ask()
    play_by_hand(learner, learner.block)
    before = contents(learner)
    with pytest.raises(LossError):
        learner.tell(early, loss=2.0)
    assert contents(learner)["outstanding"] == before["outstanding"] and learner.n_dropped == 0
    for again in (copy.deepcopy(learner), tc.restore(json.loads(json.dumps(learner.state())))):
        assert isinstance(again, tc.RestartedExp3 | tc.BanditOverBandit)
        again.tell(early, loss=1.0)
        assert (again.n_dropped, again.n_told) == (1, learner.block)
        assert play_by_hand(again, 3) == play_by_hand(copy.deepcopy(learner), 3)


@each
def test_late_tells_inside_a_block_are_learned(made: Made) -> None:
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


def test_one_block_with_the_tuning_for_no_switch_is_exp3_s_to_the_bit() -> None:
    losses = np.random.default_rng(2).random((300, 5))
    bob, exp3_s = tc.BanditOverBandit(5, 300, block=300, seed=4), tc.Exp3S(5, 300, n_switches=0, seed=4)
    bob.view().tuning[0] = 0.0
    exp3_s.view().rng[:] = bob.view().rng
    assert np.array_equal(tc.play(bob, losses[:299]), tc.play(exp3_s, losses[:299]))
    assert np.array_equal(bob.probabilities(), exp3_s.probabilities())


def test_every_block_of_bob_is_a_fresh_exp3_s_with_the_tuning_it_shows() -> None:
    losses = np.random.default_rng(3).random((1000, 4))
    bob = tc.BanditOverBandit(4, 1000, seed=4)
    B = bob.block
    seen = set()
    for start in range(0, 1000 - B, B):
        exp3_s = tc.Exp3S(4, B, n_switches=0)
        exp3_s._buffer[HEAD + 1] = bob.explorations[bob.tuning]
        exp3_s.view().rng[:] = bob.view().rng
        block = losses[start : start + B]
        assert np.array_equal(tc.play(bob, block[:-1]), tc.play(exp3_s, block[:-1]))
        assert np.array_equal(bob.probabilities(), exp3_s.probabilities())
        seen.add(bob.tuning)
        tc.play(bob, block[-1:])
    assert len(seen) == len(bob.explorations) == 3


def test_bob_learns_a_tuning_from_whole_blocks_and_only_there() -> None:
    bob = tc.BanditOverBandit(3, 400, seed=1)
    N, B, tuning = len(bob.explorations), bob.block, bob.tuning
    assert N > 1
    for _ in range(B - 1):
        bob.tell(bob.ask(), loss=0.0)
        assert bob.tuning_probabilities.tolist() == [1 / N] * N and bob.tuning == tuning
    bob.tell(bob.ask(), loss=0.0)
    p = bob.tuning_probabilities
    assert p[tuning] > 1 / N and np.delete(p, tuning) == pytest.approx((1 - p[tuning]) / (N - 1), rel=1e-12)


@pytest.mark.parametrize(("field", "value"), [("tuning", 9.0), ("tuning", 0.5), ("gain", 3.5), ("p", 0.1)])
def test_what_bob_cannot_have_written_is_not_restored(field: str, value: float) -> None:
    bob = tc.BanditOverBandit(3, 400, seed=1)
    play_by_hand(bob, 3)
    assert tc.restore(bob.state()).probabilities() == pytest.approx(bob.probabilities())
    getattr(bob.view(), field)[0] = value
    with pytest.raises(StateError, match="damaged"):
        tc.restore(bob.state())


def test_exp3_r_begins_anew_after_a_change_and_only_then() -> None:
    # Arms cost 0.1 and 0.9, whatever the round: means of explored rewards are exact, and so is the test.
    before, after = np.tile([0.1, 0.9], (20_000, 1)), np.tile([0.9, 0.1], (20_000, 1))
    learner = tc.Exp3R(2, 40_000, seed=3)
    tc.play(learner, before)
    assert learner.n_tests >= 2 and learner.n_restarts == 0 and learner.probabilities()[0] > 0.9
    tc.play(learner, after)
    assert learner.n_restarts == 1 and learner.probabilities()[1] > 0.9


@pytest.mark.parametrize(
    ("field", "value"), [("counts", 0.5), ("counts", 99.0), ("sums", 50.0), ("n_tests", 99.0), ("n_restarts", 1.0)]
)
def test_what_exp3_r_cannot_have_written_is_not_restored(field: str, value: float) -> None:
    learner = tc.Exp3R(3, 400, seed=1)
    play_by_hand(learner, 60)
    assert tc.restore(learner.state()).probabilities() == pytest.approx(learner.probabilities())
    getattr(learner.view(), field)[0] = value
    with pytest.raises(StateError, match="damaged"):
        tc.restore(learner.state())
