"""Planning m pulls ahead: what m can be, who refuses it, where it is kept, and that sequential games do not change."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import OTHERS, Maker, contents, each, loss_at, tell, without_delays
from tests.contract.test_changing_arms import ROOM, again, same, started
from turncoat.errors import DecisionError, OptionError, StateError
from turncoat.learners.turncoat import Turncoat

POWERS = (1, 2, 8, 64, 1024, 2**20)
BAD: tuple[Any, ...] = (0, -1, -(2**70), 2.0, 0.5, "8", True, math.nan, [2], (1,), np.float64(4.0), np.True_)


def in_the_middle(seed: int = 3) -> tuple[Turncoat, list[tc.Decision]]:
    """A learner whose losses come late, and the decisions that wait."""
    learner, waiting = Turncoat(["red", "green", "blue", "grey"], seed=seed), []
    for t in range(80):
        waiting.append(learner.ask(allowed=["red", "blue", "grey"]) if t % 3 == 0 else learner.ask())
        if t >= 10:
            late = waiting.pop(t % 7)
            learner.tell(late, loss_at(t, late.index))
    return learner, waiting


# -- what m can be ----------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_m_is_rounded_down_to_a_power_of_two() -> None:
    learner = started()
    for m, planned in ((1, 1), (2, 2), (3, 2), (7, 4), (8, 8), (1023, 512), (2**20, 2**20), (2**80, 2**20)):
        for allowed in (None, ["red", "blue"]):
            served = learner.probabilities(allowed=allowed, m=m)
            assert np.array_equal(served, learner.probabilities(allowed=allowed, m=planned))
            decision = learner.ask(allowed=allowed, m=m)
            assert decision.m == planned and type(decision.m) is int
            assert decision.propensity == pytest.approx(served[decision.index], rel=1e-12)
    assert learner.ask(m=np.int64(5)).m == 4  # type: ignore[arg-type]


@pytest.mark.jit_off
def test_a_bad_m_is_refused_by_name_and_leaves_no_trace() -> None:
    learner, _ = in_the_middle()
    before = learner.state()
    for m in BAD:
        for words in ({}, {"allowed": ["red", "blue"]}):
            for act in (learner.ask, learner.probabilities):
                with pytest.raises(OptionError) as refused:
                    act(**words, m=m)
                assert f"m is {m!r}; accepted are whole numbers of at least 1" in str(refused.value)
        with pytest.raises(OptionError, match=r"m is .*accepted are whole numbers"):
            learner.observe(0, 0.5, 0.5, m=m)
    assert learner.state() == before


@pytest.mark.jit_off
@each(OTHERS)
def test_others_say_that_they_do_not_plan(make: Maker) -> None:
    learner = make(["red", "green"], 100, seed=1)
    decision = learner.ask()
    before = learner.state()
    numbers: tuple[Any, ...] = (1, 2, 0, "8")
    for m in numbers:
        for act in (learner.ask, learner.probabilities):
            with pytest.raises(OptionError, match=f"m is {m!r}, and .* does not plan ahead; Turncoat does"):
                act(m=m)
        if not learner.sees_all:
            with pytest.raises(OptionError, match=f"m is {m!r}, and .* does not plan ahead; Turncoat does"):
                learner.observe(0, 0.5, 0.5, m=m)
    for m in numbers[1:]:
        with pytest.raises(DecisionError, match="altered"):
            tell(learner, decision._replace(m=m), loss=0.5)
    assert learner.state() == before and decision.m == 1
    tell(learner, decision, loss=0.5)


# -- where it is kept -------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_a_decision_carries_its_m_and_older_ones_have_none() -> None:
    learner = started()
    for m in POWERS:
        for allowed in (None, ["red", "blue"]):
            decision = learner.ask(allowed=allowed, m=m)
            written = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
            assert written["m"] == m and tc.Decision.from_dict(written) == decision
            learner.tell(tc.Decision.from_dict(written), 0.5)
    for missing in (("m",), ("m", "allowed")):
        decision = learner.ask(m=1)
        older = {key: value for key, value in decision.to_dict().items() if key not in missing}
        assert tc.Decision.from_dict(older) == decision
        learner.tell(tc.Decision.from_dict(older), 0.5)
    assert learner.n_outstanding == 0


@pytest.mark.jit_off
def test_at_a_given_m_an_ask_moves_the_random_numbers_alone() -> None:
    learner, _ = in_the_middle()
    served = [learner.probabilities(m=m) for m in POWERS]
    before = {name: np.copy(value) for name, value in learner.view().items() if name not in ("rng", *ROOM)}
    for m in (*POWERS, None):
        learner.ask(m=m)
        learner.ask(allowed=["grey", "green"], m=m)
        for name, value in before.items():
            assert np.array_equal(value, getattr(learner.view(), name)), name
    assert all(np.array_equal(learner.probabilities(m=m), q) for m, q in zip(POWERS, served, strict=True))
    state = learner.state()
    for m in (*POWERS, None):
        learner.probabilities(m=m)
        learner.probabilities(allowed=["grey", "green"], m=m)
    assert learner.state() == state  # and a look moves nothing


@pytest.mark.jit_off
def test_a_plan_is_never_an_old_one() -> None:
    """Plans are kept while nothing is told. A copy has none, and serves the same, whatever happened in between."""
    rng = np.random.default_rng(7)
    learner = Turncoat(3, seed=7)
    waiting: list[tc.Decision] = []
    for t in range(250):
        m = int(rng.choice([1, 2, 16, 64]))
        living = learner.living
        allowed = living[: 1 + len(living) // 2] if rng.random() < 0.3 else None
        act = rng.integers(7)
        if act < 3:
            waiting.append(learner.ask(allowed=allowed, m=m))
        elif act == 3 and waiting:
            learner.tell(waiting.pop(int(rng.integers(len(waiting)))), float(rng.random()))
        elif act == 4:
            learner.observe(int(rng.integers(learner.n_arms)), float(rng.random()), 0.3, m=m)
        elif act == 5 and t % 3 == 0:
            learner.add_arm()
        elif act == 6 and len(living) > 2:
            learner.retire_arm(living[int(rng.integers(len(living)))])
        copied = again(learner)
        allowed = learner.living[::2]
        for pulls in (m, 16):
            assert np.array_equal(copied.probabilities(m=pulls), learner.probabilities(m=pulls))
            assert np.array_equal(
                copied.probabilities(allowed=allowed, m=pulls), learner.probabilities(allowed=allowed, m=pulls)
            )


@pytest.mark.jit_off
def test_a_saved_learner_waits_for_what_it_waited_for() -> None:
    learner, waiting = in_the_middle()
    state = json.loads(json.dumps(learner.state(), allow_nan=False))
    copied = Turncoat._from_state(state)
    assert copied.state() == learner.state() and copied.n_outstanding == len(waiting) > 0
    planned = set()
    for t in range(100):
        decision = learner.ask()
        assert copied.ask() == decision
        waiting.append(decision)
        planned.add(decision.m)
        if t > 40:
            for late in (waiting.pop(), waiting.pop(0)) if len(waiting) > 1 else ():
                for one in (learner, copied):
                    one.tell(late, loss_at(t, late.index))
        assert same(copied, learner)
    assert len(planned) > 2


@pytest.mark.jit_off
def test_a_state_without_delays_waits_for_nothing() -> None:
    """States of before were written so. What is told from then on is counted."""
    learner, waiting = in_the_middle()
    state = learner.state()
    del state["delays"]
    older = Turncoat._from_state(state)
    assert older.n_outstanding == len(waiting) and older.ask().m == 1
    for decision in waiting:
        older.tell(decision, 0.5)
    older.ask()
    assert older.ask().m == 2


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "delays", [[], [0], [1, -1], [1, 0.5], [1.0, 1], ["1"], [2**60], [1, 1024], [1] * 162, {}, "1", 1]
)
def test_damaged_delays_are_refused(delays: Any) -> None:
    with pytest.raises(StateError, match=r"the state's delays are .*accepted is a list of the reach"):
        Turncoat._from_state({**started().state(), "delays": delays})


# -- telling ----------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_an_altered_m_is_refused_or_does_no_harm() -> None:
    """No ask plans another number than a power of two. Another power is learned from as an observation of it is."""
    learner, waiting = in_the_middle()
    for decision in [next(d for d in waiting if (d.allowed is None) == plain) for plain in (True, False)]:
        before = learner.state()
        altered: tuple[Any, ...] = (0, -1, 2.0, math.nan, "8", [2], None, np.int64(4), 3, 12, 2**21, 2**70)
        for m in altered:
            with pytest.raises(DecisionError, match="altered"):
                learner.tell(decision._replace(m=m), 0.5)
        assert learner.state() == before
        observer = again(learner)
        assert decision.propensity is not None
        observer.observe(decision.index, 0.5, decision.propensity, allowed=decision.allowed, m=1024)
        observer.forget(decision)
        learner.tell(decision._replace(m=1024), 0.5)
        assert without_delays(learner) == without_delays(observer)
        assert learner.probabilities().sum() == pytest.approx(1.0)
        with pytest.raises(DecisionError, match="told or forgotten already"):
            learner.tell(decision, 0.5)


@pytest.mark.jit_off
def test_observing_with_its_m_is_telling() -> None:
    """And with another m, or none, it is not: the charge is by the shares that are planned."""
    told, seen, careless = (started(n_rounds=20) for _ in range(3))
    for t in range(60):
        allowed = ["red", "blue", "grey"] if t % 3 == 0 else None
        decision = told.ask(allowed=allowed, m=POWERS[t % 5])
        assert decision.propensity is not None
        seen.forget(seen.ask(allowed=allowed, m=decision.m))
        told.tell(decision, loss_at(t, decision.index))
        words = {"loss": loss_at(t, decision.index), "propensity": decision.propensity, "allowed": decision.allowed}
        seen.observe(decision.index, **words, m=decision.m)  # type: ignore[arg-type]
        careless.observe(decision.index, **words)  # type: ignore[arg-type]
        assert without_delays(told) == without_delays(seen)
    assert not np.allclose(careless.master_probabilities, told.master_probabilities, atol=1e-3)


# -- sequential games do not change -----------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 5, 70])
def test_told_at_once_the_default_is_one_pull(K: int) -> None:
    """To the last bit, whatever is allowed, and where decisions are forgotten, or never told once a loss was."""
    default, one = Turncoat(K, seed=K), Turncoat(K, seed=K)
    for t in range(200):
        allowed = list(range(1 + t % K)) if t % 4 == 0 else None
        decision, other = default.ask(allowed=allowed), one.ask(allowed=allowed, m=1)
        assert decision._replace(learner=other.learner) == other and decision.m == 1
        if t % 10 == 7:
            default.forget(decision)
            one.forget(other)
        elif t % 10 != 9:
            default.tell(decision, loss_at(t, decision.index))
            one.tell(other, loss_at(t, other.index))
        assert np.array_equal(default.probabilities(), one.probabilities(m=1))
    assert contents(default)["buffer"] == contents(one)["buffer"] and default.n_outstanding == 20


@pytest.mark.jit_off
def test_by_default_it_plans_as_many_pulls_as_it_waits_for() -> None:
    learner = Turncoat(3, seed=1)
    for n in range(40):
        q = learner.probabilities()
        assert np.array_equal(q, learner.probabilities(m=n + 1))
        decision = learner.ask()
        assert decision.m == 2 ** ((n + 1).bit_length() - 1)
        assert decision.propensity == pytest.approx(q[decision.index], rel=1e-12)
    assert np.abs(learner.probabilities() - 1 / 3).max() < 1e-12  # it knows of no difference
