"""Decisions: drawn, recorded, repeated, kept, deferred."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest

from tests.service.contract.conftest import World
from turncoat.service import messages
from turncoat.service.errors import Conflicting, NotFound, Problem, Unprocessable


def test_a_decision_says_what_it_is(world: World) -> None:
    key = world.opened("a", "b", floors={"a": 0.25})
    world.service.change_arm(key, "b", messages.ArmChange(payload={"x": 1}))
    first = world.service.experiment(key).version
    made = [world.service.decide(key) for _ in range(30)]
    last = world.service.experiment(key).version  # a version that plans further ahead may have come meanwhile
    for one in made:
        assert one.propensity == one.probabilities[one.arm]
        assert sum(one.probabilities.values()) == pytest.approx(1.0, abs=1e-12)
        assert one.probabilities["a"] >= 0.25
        assert (one.stream, one.reason) == ("learn", "split")
        assert one.payload == ({"x": 1} if one.arm == "b" else None)
        assert one.expires_at is not None
        assert one.expires_at.timestamp() == pytest.approx(world.clock.now() + 86_400.0)
        assert first <= one.state_version <= last
    assert len({one.decision_id for one in made}) == 30


def test_a_decision_is_found_again(world: World) -> None:
    key = world.opened()
    made = world.service.decide(key, unit_id="somebody", context={"country": "nl", "n": [1, 2.5, None]})
    assert made.decision_id is not None
    found = world.service.decision(made.decision_id)
    assert (found.decision_id, found.experiment, found.arm) == (made.decision_id, key, made.arm)
    assert (found.propensity, found.probabilities) == (made.propensity, made.probabilities)
    assert found.context == {"country": "nl", "n": [1, 2.5, None]}
    assert (found.outcome, found.reward, found.refused) == ("open", None, [])
    assert found.decided_at.timestamp() == pytest.approx(world.clock.now())


def test_unknown_decisions_are_not_found(world: World) -> None:
    for unknown in (str(uuid.uuid4()), "nonsense", "..", "a/b"):
        for ask in (world.service.decision, world.service.activate):
            with pytest.raises(NotFound):
                ask(unknown)


def test_only_allowed_arms_are_served(world: World) -> None:
    key = world.opened("a", "b", "c")
    made = [world.service.decide(key, allowed_arms=["c", "a"]) for _ in range(30)]
    assert {one.arm for one in made} <= {"a", "c"}
    assert all(set(one.probabilities) == {"a", "c"} for one in made)
    assert all(sum(one.probabilities.values()) == pytest.approx(1.0, abs=1e-12) for one in made)
    only = world.service.decide(key, allowed_arms=["b"])
    assert (only.arm, only.propensity) == ("b", 1.0)


def test_allowed_arms_must_exist_and_one_must_be_active(world: World) -> None:
    key = world.opened("a", "b")
    with pytest.raises(Unprocessable) as refused:
        world.service.decide(key, allowed_arms=["a", "nobody"])
    assert refused.value.field == "allowed_arms" and "'nobody'" in refused.value.detail
    world.service.change_arm(key, "b", messages.ArmChange(state="paused"))
    with pytest.raises(Conflicting):
        world.service.decide(key, allowed_arms=["b"])
    with pytest.raises(Unprocessable):
        world.service.decide(key, allowed_arms=[])


def test_a_stopped_experiment_decides_nothing_and_still_takes_rewards(world: World) -> None:
    key = world.opened()
    made = world.service.decide(key)
    assert world.service.change(key, messages.ExperimentChange(state="stopped")).state == "stopped"
    with pytest.raises(Conflicting):
        world.service.decide(key)
    assert made.decision_id is not None
    assert world.service.reward(made.decision_id, 1.0).status == "accepted"
    world.service.change(key, messages.ExperimentChange(state="running"))
    assert world.service.decide(key).arm


def test_control_and_holdout_are_streams_of_their_own(world: World) -> None:
    """600 units at shares of 0.3 and 0.2: each count is within 5 standard deviations, fewer than 1 in 1e6 runs fail."""
    key = world.opened("a", "b", control=messages.Control(arm="b", share=0.3), holdout_share=0.2)
    made = {unit: world.service.decide(key, unit_id=f"unit {unit}") for unit in range(600)}
    counts = Counter(one.stream for one in made.values())
    assert abs(counts["control"] - 180) <= 57 and abs(counts["holdout"] - 120) <= 49
    for one in made.values():
        if one.stream == "control":
            assert (one.arm, one.propensity, one.reason) == ("b", 1.0, "control")
        elif one.stream == "holdout":
            assert (one.propensity, one.reason) == (0.5, "holdout")
    for unit, one in list(made.items())[:40]:
        assert world.service.decide(key, unit_id=f"unit {unit}").stream == one.stream  # a unit stays in its stream


def test_without_its_arm_control_is_no_stream(world: World) -> None:
    key = world.opened("a", "b", control=messages.Control(arm="b", share=0.9))
    made = [world.service.decide(key, unit_id=f"unit {unit}", allowed_arms=["a"]) for unit in range(20)]
    assert {(one.stream, one.arm) for one in made} == {("learn", "a")}


def test_a_sticky_unit_keeps_its_decision(world: World) -> None:
    key = world.opened("a", "b", "c", reward_window_s=100.0)
    first = world.service.decide(key, unit_id="u", sticky=True)
    again = world.service.decide(key, unit_id="u", sticky=True)
    assert (again.decision_id, again.arm, again.reason) == (first.decision_id, first.arm, "sticky")
    assert again.propensity == first.propensity
    assert world.service.decide(key, unit_id="other", sticky=True).decision_id != first.decision_id
    assert world.service.decide(key, unit_id="u").decision_id != first.decision_id
    world.later(101.0)
    assert world.service.decide(key, unit_id="u", sticky=True).decision_id != first.decision_id


def test_a_sticky_unit_lets_go_of_an_arm_that_may_not_be_served(world: World) -> None:
    key = world.opened("a", "b", "c")
    first = world.service.decide(key, unit_id="u", sticky=True)
    others = [arm for arm in "abc" if arm != first.arm]
    second = world.service.decide(key, unit_id="u", sticky=True, allowed_arms=others)
    assert second.decision_id != first.decision_id and second.arm in others
    world.service.change_arm(key, second.arm, messages.ArmChange(state="paused"))
    third = world.service.decide(key, unit_id="u", sticky=True)
    assert third.decision_id != second.decision_id and third.arm != second.arm


def test_sticky_needs_a_unit(world: World) -> None:
    with pytest.raises(Unprocessable) as refused:
        world.service.decide(world.opened(), sticky=True)
    assert refused.value.field == "sticky"


def test_the_same_request_again_is_the_same_decision(world: World) -> None:
    key = world.opened()
    first = world.service.decide(key, context={"n": 1}, idempotency_key="k" * 255)
    assert world.service.decide(key, context={"n": 1}, idempotency_key="k" * 255) == first
    with pytest.raises(Conflicting) as refused:
        world.service.decide(key, context={"n": 2}, idempotency_key="k" * 255)
    assert refused.value.field == "Idempotency-Key"
    other = world.opened()
    assert world.service.decide(other, context={"n": 1}, idempotency_key="k" * 255).decision_id != first.decision_id
    assert len(list(world.service.log(key))) == 1


@pytest.mark.parametrize("wrong", ["", "k" * 256])
def test_an_idempotency_key_has_a_length(world: World, wrong: str) -> None:
    key = world.opened()
    with pytest.raises(Problem) as refused:
        world.service.decide(key, idempotency_key=wrong)
    assert refused.value.status == 422 and refused.value.field == "Idempotency-Key"


def test_a_caller_may_choose_the_id_once(world: World) -> None:
    key, chosen = world.opened(), str(uuid.uuid4())
    assert world.service.decide(key, decision_id=chosen).decision_id == chosen
    with pytest.raises(Conflicting) as refused:
        world.service.decide(key, decision_id=chosen)
    assert refused.value.field == "decision_id"


@pytest.mark.parametrize("wrong", ["nonsense", "", str(uuid.uuid4()).upper(), f"{uuid.uuid4()}\n", "'" * 36])
def test_a_chosen_id_is_a_uuid_in_lower_case(world: World, wrong: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        world.service.decide(world.opened(), decision_id=wrong)
    assert refused.value.field == "decision_id"


@pytest.mark.parametrize("wrong", ["", "u" * 256])
def test_a_unit_has_a_length(world: World, wrong: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        world.service.decide(world.opened(), unit_id=wrong)
    assert refused.value.field == "unit_id"


def test_a_deferred_decision_begins_when_it_is_used(world: World) -> None:
    key = world.opened(reward_window_s=100.0, default_reward=0.0)
    made = world.service.decide(key, deferred=True)
    assert made.expires_at is None and made.decision_id is not None
    world.later(1000.0)
    assert world.service.decision(made.decision_id).outcome == "open"
    used = world.service.activate(made.decision_id)
    assert used.expires_at is not None and used.expires_at.timestamp() == pytest.approx(world.clock.now() + 100.0)
    assert world.service.activate(made.decision_id) == used  # once is enough
    world.later(101.0)
    assert world.service.decision(made.decision_id).outcome == "defaulted"


def test_the_log_has_every_decision_in_the_order_of_ids(world: World) -> None:
    key = world.opened("a", "b", control=messages.Control(arm="a", share=0.3))
    made = {}
    for number in range(25):
        one = world.service.decide(key, unit_id=f"unit {number}", context={"number": number})
        made[one.decision_id] = one
        world.clock.time += 0.01
    lines = list(world.service.log(key))
    assert [line.decision_id for line in lines] == sorted(filter(None, made))
    for number, line in enumerate(lines):
        one = made[line.decision_id]
        assert (line.experiment, line.arm, line.propensity, line.stream) == (key, one.arm, one.propensity, one.stream)
        assert line.context == {"number": number} and line.outcome == "open"
        assert line.unit is not None and f"unit {number}" not in line.unit
