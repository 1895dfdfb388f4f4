"""Telling: any order, any delay, once; and what is refused leaves no trace."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import (
    CAN_OBSERVE,
    MASTERS,
    NEEDS_BASE,
    PLURAL,
    Maker,
    as_told,
    contents,
    each,
    every_learner,
    everyone,
    learned,
    loss_at,
    planned,
    play_by_hand,
    takes_turns,
    tell,
    without_delays,
)
from turncoat.errors import (
    DecisionError,
    DecisionTypeError,
    LossError,
    LossTypeError,
    ObserveError,
    OptionError,
    TurncoatError,
)
from turncoat.learners.base.master import Master


def started(make: Maker, **words: Any) -> tuple[tc.Learner, tc.Decision]:
    """A learner after some rounds, and a decision that it waits for."""
    learner = make(3, 1000, seed=4, **words)
    play_by_hand(learner, 7)
    return learner, learner.ask()


# -- order, delay, once -------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@every_learner
def test_tells_come_in_any_order(make: Maker) -> None:
    """The same order twice is the same learner; every decision counts once; asks in between change no update.

    They make later decisions wait longer, so what is compared is the distribution at a given m.
    """
    late, interleaved = make(4, 1000, seed=6), make(4, 1000, seed=6)
    decisions = [late.ask() for _ in range(40)]
    for one in decisions:
        assert interleaved.ask()._replace(learner=one.learner) == one
    order = random.Random(1).sample(decisions, len(decisions))
    for n, decision in enumerate(order, 1):
        tell(late, decision, loss=loss_at(n, decision.index))
        mine = decision._replace(learner=interleaved.state()["token"])
        tell(interleaved, mine, loss=loss_at(n, decision.index))
        interleaved.forget(interleaved.ask())
        assert (late.n_told, late.n_outstanding) == (n, len(decisions) - n)
        if takes_turns(late):
            assert all(map(np.array_equal, learned(late), learned(interleaved)))
        else:
            words = planned(late)
            assert np.array_equal(late.probabilities(**words), interleaved.probabilities(**words))


@each(CAN_OBSERVE)
def test_a_late_tell_is_an_observation_of_now(make: Maker) -> None:
    """Told late and shuffled, the state is that of a learner that observed the same numbers in the order of telling."""
    late, observer = make(4, 1000, seed=6), make(4, 1000, seed=6)
    decisions = [late.ask() for _ in range(40)]
    for decision in decisions:
        observer.forget(observer.ask(**planned(observer, decision.m)))  # the same random numbers are used up
    for n, decision in enumerate(random.Random(1).sample(decisions, len(decisions))):
        tell(late, decision, loss=loss_at(n, decision.index))
        words = planned(observer, decision.m)
        observer.observe(decision.index, loss_at(n, decision.index), decision.propensity, **words)
    assert without_delays(late) == without_delays(observer)


@pytest.mark.jit_off
@everyone
def test_each_decision_is_told_at_most_once(make: Maker) -> None:
    learner, decision = started(make)
    tell(learner, decision, loss=0.5)
    told = learner.state()
    for again in (learner.tell, learner.forget):
        with pytest.raises(DecisionError, match="told or forgotten already"):
            again(decision, **(as_told(learner, decision, loss=0.5) if again == learner.tell else {}))
    assert learner.state() == told


@pytest.mark.jit_off
@everyone
def test_a_forgotten_decision_is_gone(make: Maker) -> None:
    learner, decision = started(make)
    before = contents(learner)
    learner.forget(decision)
    assert learner.n_outstanding == 0
    assert contents(learner)["buffer"] == before["buffer"]
    with pytest.raises(DecisionError, match="told or forgotten already"):
        tell(learner, decision, loss=0.5)
    with pytest.raises(DecisionError, match="told or forgotten already"):
        learner.forget(decision)


@pytest.mark.jit_off
@everyone
def test_foreign_and_unknown_decisions_are_refused(make: Maker) -> None:
    learner, decision = started(make)
    twin, twins = started(make)  # the same seed and the same history
    stranger = make(3, 1000, seed=5)
    for _ in range(8):
        strangers = stranger.ask()
    other_kind = tc.Uniform(3, seed=4).ask()._replace(id=decision.id)
    before = learner.state()
    for foreign in (twins, strangers, other_kind, decision._replace(learner="")):
        with pytest.raises(DecisionError, match="was made by another learner"):
            tell(learner, foreign, loss=0.5)
        with pytest.raises(DecisionError, match="was made by another learner"):
            learner.forget(foreign)
    for number in (8, 10**30, -1):
        with pytest.raises(DecisionError, match="is unknown: this learner has made 8 decisions so far"):
            tell(learner, decision._replace(id=number), loss=0.5)
    assert learner.state() == before
    tell(learner, decision, loss=0.5)
    tell(twin, twins, loss=0.5)
    assert contents(learner) == contents(twin)


@pytest.mark.jit_off
@everyone
def test_what_is_no_decision_is_refused(make: Maker) -> None:
    learner, decision = started(make)
    before = learner.state()
    for thing in (None, 0, decision.index, "red", tuple(decision), decision.to_dict(), [decision], tc.Decision):
        with pytest.raises(DecisionTypeError, match="is not a Decision") as refused:
            tell(learner, thing, loss=0.5)  # type: ignore[arg-type]
        assert repr(thing) in str(refused.value)
        with pytest.raises(DecisionTypeError, match="is not a Decision"):
            learner.forget(thing)  # type: ignore[arg-type]
    assert learner.state() == before
    assert issubclass(DecisionTypeError, TypeError) and issubclass(DecisionError, ValueError)


ALTERED: list[tuple[str, Any]] = [
    *(("index", value) for value in (-1, 3, 2**62, 2**70, -(2**70), 0.5, "0", None, [0])),
    *(("propensity", value) for value in (0.0, -0.5, 1.5, math.nan, math.inf, -math.inf, "0.5", None, 1j, [0.5])),
]
ALTERED_MASTER: list[tuple[str, Any]] = [
    *(("base", value) for value in (-1, 99, 2**62, 2**70, None, "0", 0.5)),
    *(("master_probability", value) for value in (0.0, -1.0, 2.0, math.nan, None, "1")),
    *(("base_probability", value) for value in (0.0, -1.0, 2.0, math.nan, None, "1")),
]


@every_learner
def test_an_impossible_decision_is_refused(make: Maker) -> None:
    """A decision altered into what no learner decides: compiled code would read outside its arrays, or divide by 0."""
    learner, decision = started(make)
    before = learner.state()
    alterations = ALTERED + (ALTERED_MASTER if decision.base is not None else [])
    for field, value in alterations:
        with pytest.raises(DecisionError, match="altered"):
            tell(learner, decision._replace(**{field: value}), loss=0.5)
    no_ids: tuple[Any, ...] = ([0], {}, 0.5, "0", None)
    for number in no_ids:
        with pytest.raises(DecisionError, match="is unknown"):
            tell(learner, decision._replace(id=number), loss=0.5)
        with pytest.raises(DecisionError, match="is unknown"):
            learner.forget(decision._replace(id=number))
    assert learner.state() == before
    tell(learner, decision, loss=0.5)


# -- losses -------------------------------------------------------------------------------------------------------

OUTSIDE: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    -0.1,
    1.1,
    -1,
    2,
    10**400,
    -1e-300,
    1.0 + 2**-52,
    np.float32(1.5),
)
NO_NUMBERS: tuple[Any, ...] = (
    True,
    False,
    np.True_,
    "0.5",
    b"0",
    0.5j,
    [0.5],
    (0.5,),
    np.array([0.5]),
    np.array(0.5),
    {},
    object(),
)


@pytest.mark.jit_off
@everyone
def test_a_bad_loss_is_refused_by_name_and_leaves_no_trace(make: Maker) -> None:
    learner, decision = started(make)
    before = learner.state()
    for kind, values in ((LossError, OUTSIDE), (LossTypeError, NO_NUMBERS)):
        for value in values:
            for name in ("loss", "reward"):
                with pytest.raises(kind) as refused:
                    tell(learner, decision, **{name: value})
                word = f"{PLURAL[name]}[{decision.index}]" if learner.sees_all else name
                assert f"{word} is {value!r}" in str(refused.value)
                assert "accepted are numbers from 0.0 to 1.0" in str(refused.value)
    for both in ({}, {"loss": None}, {"loss": 0.5, "reward": 0.5}, {"loss": math.nan, "reward": 0.5}):
        with pytest.raises(LossTypeError, match=r"either loss(es)?= or rewards?=, and only one"):
            tell(learner, decision, **both)
    assert learner.state() == before
    assert issubclass(LossError, ValueError) and issubclass(LossTypeError, TypeError)
    assert issubclass(LossError, TurncoatError) and issubclass(LossTypeError, TurncoatError)
    tell(learner, decision, loss=1.0)
    assert learner.state() != before


@pytest.mark.jit_off
@pytest.mark.parametrize("value", [0, 1, np.float32(0.25), np.float64(0.25), np.int64(1), np.uint8(1), Fraction(1, 4)])
@everyone
def test_every_kind_of_number_is_a_loss(make: Maker, value: Any) -> None:
    learner, decision = started(make)
    twin, twins = started(make)
    tell(learner, decision, loss=value)
    tell(twin, twins, loss=float(value))
    assert contents(learner) == contents(twin)


@pytest.mark.jit_off
@everyone
def test_a_reward_is_the_mirror_image_of_a_loss(make: Maker) -> None:
    by_loss, by_reward = make(3, 1000, seed=2), make(3, 1000, seed=2)
    for t in range(40):
        loss = loss_at(t, by_loss.ask().index)  # a multiple of 1/16, so 1 - loss is exact
        tell(by_loss, by_loss.ask(), loss=loss)
        by_reward.ask()
        tell(by_reward, by_reward.ask(), reward=1.0 - loss)
    assert contents(by_loss) == contents(by_reward)


@pytest.mark.jit_off
@everyone
def test_loss_range_is_a_change_of_scale(make: Maker) -> None:
    unit, wide, mirrored = make(3, 1000, seed=2), *(make(3, 1000, seed=2, loss_range=(-4, 12)) for _ in range(2))
    assert wide.loss_range == (-4.0, 12.0)
    for t in range(40):
        decision = unit.ask()
        loss = loss_at(t, decision.index)
        tell(unit, decision, loss=loss)
        tell(wide, wide.ask(), loss=-4.0 + 16.0 * loss)
        tell(mirrored, mirrored.ask(), reward=12.0 - 16.0 * loss)
    assert contents(unit)["buffer"] == contents(wide)["buffer"] == contents(mirrored)["buffer"]
    decision, before = wide.ask(), wide.state()
    for value in (-4.1, 12.1, math.nan, 10**400):
        for name in ("loss", "reward"):
            with pytest.raises(LossError, match=r"accepted are numbers from -4\.0 to 12\.0"):
                tell(wide, decision, **{name: value})
    assert wide.state() == before


def test_a_bad_loss_in_a_wide_range_is_refused() -> None:
    learner = tc.Exp3(2, seed=1, loss_range=(-1e300, 1e300))
    decision = learner.ask()
    before = learner.state()
    for value in (-1.1e300, math.inf, math.nan):
        with pytest.raises(LossError, match="accepted are numbers from"):
            tell(learner, decision, loss=value)
    assert learner.state() == before
    tell(learner, decision, loss=1e300)
    assert np.isfinite(learner.probabilities()).all()


# -- observe ------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@each(CAN_OBSERVE)
def test_observe_is_tell_for_a_round_decided_elsewhere(make: Maker) -> None:
    teller, observer = make(3, 1000, seed=2), make(3, 1000, seed=2)
    for t in range(30):
        decision = teller.ask()
        observer.forget(observer.ask())
        loss = loss_at(t, decision.index)
        teller.tell(decision, loss=loss)
        if t % 2:
            observer.observe(np.int64(decision.index), loss, np.float64(decision.propensity))  # type: ignore[arg-type]
        else:
            observer.observe(decision.index, propensity=decision.propensity, reward=1.0 - loss)
        assert without_delays(teller) == without_delays(observer)
    assert observer.n_told == 30


@each(CAN_OBSERVE)
def test_bad_observations_are_refused(make: Maker) -> None:
    learner, _ = started(make)
    before = learner.state()
    for index in (-1, 3, 2**70, 1.0, "0", None, True, [0]):
        with pytest.raises(OptionError) as refused:
            learner.observe(index, 0.5, 0.5)  # type: ignore[arg-type]
        assert f"index is {index!r}; accepted are whole numbers from 0 to 2" in str(refused.value)
    no_probabilities = [0, 0.0, -0.1, 1.1, math.nan, math.inf, "0.5", True, 0.5j, 10**400, Fraction(1, 10**400)]
    for served in no_probabilities + [None] * learner.uses_propensity:
        with pytest.raises(OptionError) as refused:
            learner.observe(0, 0.5, served)  # type: ignore[arg-type]
        assert f"propensity is {served!r}; accepted are numbers above 0" in str(refused.value)
    for loss in (math.nan, -0.1, 1.1):
        with pytest.raises(LossError, match="loss is"):
            learner.observe(0, loss, 0.5)
    for none in (None, True, "0.5"):
        with pytest.raises(LossTypeError):
            learner.observe(0, none, 0.5)  # type: ignore[arg-type]
    assert learner.state() == before


@each(CAN_OBSERVE)
def test_absurd_propensities_break_nothing(make: Maker) -> None:
    """Logs hold what they hold: a million-fold weight must not drown the state in infinities."""
    learner = make(3, 1000, seed=2)
    for t in range(200):
        learner.observe(t % 3, float(t % 2), (5e-324, 1e-300, 1e-12, 1.0)[t % 4])
    served = learner.probabilities()
    assert np.isfinite(served).all() and served.sum() == pytest.approx(1.0, abs=1e-12)
    assert tc.restore(learner.state()).state() == learner.state()  # which looks at every number of the state


@each(NEEDS_BASE)
def test_own_feedback_cannot_observe(make: Maker) -> None:
    learner, _ = started(make)
    before = learner.state()
    hint = '; use feedback="shared"' if isinstance(learner, Master) else ""
    with pytest.raises(ObserveError, match="needs the base that decided" + hint):
        learner.observe(0, 0.5, 0.5)
    assert learner.state() == before
    assert issubclass(ObserveError, TypeError)


@each(MASTERS)
def test_only_own_feedback_looks_at_the_base(make: Maker) -> None:
    """Own feedback divides by p(h) p_h(a), shared feedback by the marginal: each ignores the other's number."""
    moved = []
    for field in ("propensity", "master_probability", "base_probability"):
        learner, decision = started(make)
        twin, twins = started(make)
        learner.tell(decision._replace(**{field: 0.5 * getattr(decision, field)}), loss=1.0)
        tell(twin, twins, loss=1.0)
        if contents(learner) != contents(twin):
            moved.append(field)
    own = make in dict(NEEDS_BASE).values()
    assert moved == (["master_probability", "base_probability"] if own else ["propensity"])
