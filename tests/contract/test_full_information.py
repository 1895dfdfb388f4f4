"""Full information: a tell has the losses of all arms. (Everything else is in the suite that all learners pass.)"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import SEEING_ALL, Maker, contents, each, loss_at, play_by_hand
from turncoat._compile.games import loss_of, see
from turncoat._compile.state import State
from turncoat.errors import LossError, LossTypeError, ObserveError, OptionError
from turncoat.learners import register_learner
from turncoat.learners.full_information.hedge import HedgeState
from turncoat.types import Matrix

K = 3


def started(make: Maker) -> tuple[Any, tc.Decision]:
    """A learner after some rounds, and a decision that it waits for."""
    learner = make(K, 1000, seed=4)
    play_by_hand(learner, 7)
    return learner, learner.ask()


def rows(n_rounds: int) -> Matrix:
    """Losses by whole-number arithmetic."""
    return np.array([[loss_at(t, arm) for arm in range(K)] for t in range(n_rounds)])


BAD_VECTORS: list[tuple[type[Exception], Any, str]] = [
    (LossError, [0.5, 0.5], "is [0.5, 0.5], 2 in number; accepted are 3 numbers from 0.0 to 1.0, one per arm"),
    (LossError, [0.5] * 4, "4 in number; accepted are 3 numbers"),
    (LossError, [], "is [], 0 in number"),
    (LossError, np.array([0.5, -0.25, 0.5]), "[1] is np.float64(-0.25); accepted are numbers from 0.0 to 1.0"),
    (LossError, [0.5, 0.5, math.nan], "[2] is nan"),
    (LossError, (0, 1, 2), "[2] is 2"),
    (LossError, [10**400, 0.5, 0.5], "[0] is 1000"),
    (LossTypeError, 0.5, "is 0.5; accepted are 3 numbers"),
    (LossTypeError, "abc", "is 'abc'"),
    (LossTypeError, {0: 0.1, 1: 0.2, 2: 0.3}, "is {0: 0.1"),
    (LossTypeError, {0.1, 0.2, 0.3}, "accepted are 3 numbers"),
    (LossTypeError, np.array(0.5), "is array(0.5)"),
    (LossTypeError, np.full((3, 1), 0.5), "[0] is array([0.5]) (ndarray)"),
    (LossTypeError, [0.5, None, 0.5], "[1] is None (NoneType)"),
    (LossTypeError, [0.5, 0.5, True], "[2] is True (bool)"),
    (LossTypeError, np.array([True, False, True]), "(bool"),
    (LossTypeError, np.ma.masked_array([0.5, 0.5, 0.5], [False, True, False]), "[1] is masked"),
]


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_a_bad_vector_is_refused_by_index_and_value(make: Maker) -> None:
    learner, decision = started(make)
    before = learner.state()
    for kind, vector, said in BAD_VECTORS:
        for name in ("losses", "rewards"):
            for refusing in (lambda **words: learner.tell(decision, **words), learner.observe):
                with pytest.raises(kind) as refused:
                    refusing(**{name: vector})
                assert str(refused.value).startswith(name) and said in str(refused.value)
    assert learner.state() == before


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_the_loss_of_one_arm_is_refused_in_plain_words(make: Maker) -> None:
    """What bandits are told, and what a log of bandit rounds holds."""
    learner, decision = started(make)
    before = learner.state()
    needs = "learns from the losses of all 3 arms, that of one is not enough"
    for words in ({"loss": 0.5}, {"reward": 0.5}):
        with pytest.raises(LossTypeError, match=rf"{needs}: tell\(decision, losses\)"):
            learner.tell(decision, **words)
    observations: list[Callable[[], None]] = [
        lambda: learner.observe(0, 0.5, 0.5),
        lambda: learner.observe(0, loss=0.5),
        lambda: learner.observe(index=0, reward=0.5, propensity=0.5),
    ]
    for observe in observations:
        with pytest.raises(ObserveError, match=rf"{needs}: observe\(losses\)"):
            observe()
    assert learner.state() == before


@pytest.mark.jit_off
@pytest.mark.parametrize("kind", [list, tuple, np.array, iter, lambda row: [Fraction(x) for x in row]])
@each(SEEING_ALL)
def test_every_kind_of_vector_is_the_same_and_is_not_kept(make: Maker, kind: Callable[[Any], Any]) -> None:
    learner, decision = started(make)
    twin, twins = started(make)
    strided = np.repeat(rows(30)[29], 2)[::2]
    strided.flags.writeable = False
    told = kind(strided)
    learner.tell(decision, told)
    if isinstance(told, np.ndarray):
        told[:] = 0.0
    twin.tell(twins, strided)
    assert contents(learner) == contents(twin)


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_observe_is_tell_for_a_round_decided_elsewhere(make: Maker) -> None:
    teller, observer, mirrored = (make(K, 1000, seed=2, loss_range=(-1, 1)) for _ in range(3))
    for row in rows(30):
        for learner in (observer, mirrored):
            learner.forget(learner.ask())
        teller.tell(teller.ask(), row)
        observer.observe(row)
        mirrored.observe(rewards=-row)  # type: ignore[call-arg]
        assert contents(teller) == contents(observer) == contents(mirrored)
    assert observer.n_told == 30


@each(SEEING_ALL)
def test_what_was_chosen_plays_no_part(make: Maker) -> None:
    """All losses are seen whatever is played: two learners that draw other arms stay the same but for their draws."""
    one, other = make(K, 1000, seed=1), make(K, 1000, seed=2)
    arms = tc.play(one, rows(60)), tc.play(other, rows(60))
    assert not np.array_equal(*arms)
    assert np.array_equal(one.probabilities(), other.probabilities())


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_it_is_saved_after_losses_that_leave_remainders(make: Maker) -> None:
    # Sums keep what rounding takes away, which may be negative: such states were once refused. (The losses of other
    # tests are multiples of 1/16, whose sums are exact.)
    learner = make(K, 1000, seed=4)
    losses = np.random.default_rng(1).random((400, K))
    tc.play(learner, losses)
    again = tc.restore(learner.state())
    assert np.array_equal(tc.play(again, losses), tc.play(learner, losses))
    assert contents(again) == contents(learner)


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_an_adaptive_adversary_reveals_the_losses_before_it_sees_the_arm(make: Maker) -> None:
    adversary = tc.environments.Adaptive(K, 200, seed=3)
    played, handled = make(K, 1000, seed=5), make(K, 1000, seed=5)
    arms = tc.play(played, adversary)
    game = adversary.fresh().game
    for t in range(200):
        decision = handled.ask()
        assert decision.index == arms[t]
        handled.tell(decision, [float(loss_of(game, t, arm)) for arm in range(K)])  # type: ignore[arg-type]
        see(game, t, decision.index)
    assert np.array_equal(played.probabilities(), handled.probabilities())


def test_the_kind_of_a_state_must_be_that_of_its_class() -> None:
    class OwnState(State):
        K: int

    def kernel(*arguments: Any) -> Any:
        return arguments

    register_learner(OwnState, ask=kernel, tell=kernel)
    with pytest.raises(OptionError, match="Own has the state of any other learner"):
        type("Own", (tc.FullInformationLearner,), {"state_type": OwnState})
    with pytest.raises(OptionError, match="Own has the state of a FullInformationLearner: sees_all"):
        type("Own", (tc.Learner,), {"state_type": HedgeState})
