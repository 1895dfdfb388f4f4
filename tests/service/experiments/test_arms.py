"""Arms come, pause and go: served only while active, rewarded for ever, and no name is used twice."""

from __future__ import annotations

import random

import pytest

from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.errors import Conflicting, NotFound


def test_only_active_arms_are_served(labs: Lab) -> None:
    chosen = random.Random(2)
    labs.open(arms=["a", "b", "c"])
    labs.engine.add_arm("x", messages.NewArm(arm="p", state="pending"))
    for _ in range(60):
        state = {arm.arm: arm.state for arm in labs.engine.arms("x")}
        active = {arm for arm, what in state.items() if what == "active"}
        if not active:
            with pytest.raises(Conflicting, match="no arm is active in 'x' at present"):
                labs.engine.decide("x")
        for _ in range(5 if active else 0):
            decided = labs.engine.decide("x")
            assert decided.arm in active and set(decided.probabilities) == active
        arm = chosen.choice(["a", "b", "c"])
        labs.engine.change_arm("x", arm, messages.ArmChange(state="paused" if arm in active else "active"))


def test_rewards_for_arms_that_are_gone(labs: Lab) -> None:
    labs.open(arms=["a", "b"])
    held = {arm: [labs.engine.decide("x", allowed_arms=[arm]) for _ in range(2)] for arm in "ab"}
    labs.retire("a")
    labs.pause("b")
    for decided in (*held["a"], *held["b"]):
        assert labs.engine.reward(str(decided.decision_id), 0.5).status == "accepted"
    labs.work()
    assert labs.rows("SELECT COUNT(*) FROM decision WHERE outcome = 'rewarded'") == [(4,)]
    assert labs.rows("SELECT SUM(n_learned) FROM version") == [(4,)]


def test_all_paused_and_all_but_one_retired(labs: Lab) -> None:
    labs.open(arms=["a", "b"], floors={"a": 0.5})
    labs.pause("a")
    labs.pause("b")
    assert [arm.probability for arm in labs.engine.arms("x")] == [0.0, 0.0]
    labs.retire("a")
    with pytest.raises(Conflicting, match="accepted are arms that leave another behind"):
        labs.retire("b")
    labs.resume("b")
    decided = labs.engine.decide("x")
    assert decided.arm == "b" and decided.propensity == 1.0


def test_rewards_while_all_are_paused(labs: Lab) -> None:
    labs.open()
    decided = labs.engine.decide("x")
    for arm in "ab":
        labs.pause(arm)
    labs.engine.reward(str(decided.decision_id), 1.0)
    labs.work()
    assert labs.engine.decision(str(decided.decision_id)).outcome == "rewarded"
    labs.resume("a")
    assert labs.engine.decide("x").arm == "a"


def test_names_are_never_used_twice(labs: Lab) -> None:
    labs.open()
    labs.retire("a")
    before = labs.everything()
    for name in "ab":
        with pytest.raises(Conflicting, match="names are never used twice"):
            labs.engine.add_arm("x", messages.NewArm(arm=name))
    with pytest.raises(Conflicting, match="is retired, and stays so"):
        labs.resume("a")
    with pytest.raises(NotFound, match="'x' has no arm 'z'"):
        labs.pause("z")
    assert labs.everything() == before


def test_a_pending_arm_begins_when_it_is_made_active(labs: Lab) -> None:
    labs.open()
    state = labs.state()
    labs.engine.add_arm("x", messages.NewArm(arm="c", state="pending"))
    assert labs.state() == state and labs.engine.arms("x")[2].probability == 0.0
    with pytest.raises(Conflicting, match="is pending; accepted are active and retired"):
        labs.pause("c")
    labs.resume("c")
    assert labs.state() != state and labs.engine.arms("x")[2].probability > 0.0


def test_a_pending_arm_may_be_retired_unused(labs: Lab) -> None:
    labs.open()
    labs.engine.add_arm("x", messages.NewArm(arm="c", state="pending"))
    state = labs.state()
    labs.retire("c")
    assert labs.state() == state


def test_floors_of_paused_arms_are_kept_for_later(labs: Lab) -> None:
    labs.open(arms=["a", "b", "c"], floors={"a": 0.6, "b": 0.4})
    labs.pause("a")
    decided = labs.engine.decide("x")
    assert decided.probabilities["b"] >= 0.4 and set(decided.probabilities) == {"b", "c"}
    labs.resume("a")
    assert labs.engine.decide("x").probabilities == pytest.approx({"a": 0.6, "b": 0.4, "c": 0.0})


def test_a_change_that_is_refused_leaves_the_learner_alone(labs: Lab) -> None:
    """The learner is told before floors are checked; what it was told must be forgotten."""
    from turncoat.service.errors import Unprocessable

    labs.open(arms=["a", "b"], floors={"a": 0.6})
    before = labs.everything()
    with pytest.raises(Unprocessable, match=r"the floors sum to 1\.1"):
        labs.engine.add_arm("x", messages.NewArm(arm="c", floor=0.5))
    assert labs.everything() == before
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 1.0)
    labs.work()
    assert labs.engine.state("x").probabilities.keys() == {"a", "b"}


def test_what_an_older_snapshot_served_is_still_told_with_its_own_arms(labs: Lab) -> None:
    labs.open(arms=["a", "b", "c"])
    decided = labs.engine.decide("x", allowed_arms=["a", "b"])
    labs.retire("c" if decided.arm == "b" else "b")
    labs.engine.add_arm("x", messages.NewArm(arm="d"))
    labs.engine.reward(str(decided.decision_id), 1.0)
    labs.work()
    assert labs.engine.decision(str(decided.decision_id)).outcome == "rewarded"
