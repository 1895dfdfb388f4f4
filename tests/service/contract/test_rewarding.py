"""Rewards: taken once, refused when wrong or late, learned from, or replaced by the default."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from tests.service.contract.conftest import World
from turncoat.service import messages
from turncoat.service.errors import NotFound, Problem, Unprocessable


def decided(world: World, key: str) -> str:
    made = world.service.decide(key).decision_id
    assert made is not None
    return made


def test_a_reward_is_taken_and_learned_from(world: World) -> None:
    key = world.opened("a", "b")
    one = decided(world, key)
    assert world.service.reward(one, 0.75) == messages.Receipt(decision_id=one, status="accepted")
    assert world.service.decision(one).outcome in ("waiting", "rewarded")
    before = world.service.state(key)
    world.work()
    found = world.service.decision(one)
    assert (found.outcome, found.reward) == ("rewarded", 0.75)
    assert found.applied_version is not None and found.applied_position == 0
    after = world.service.state(key)
    assert after.version >= before.version and after.pending_rewards == 0 and after.open_decisions == 0
    assert sum(after.probabilities.values()) == pytest.approx(1.0, abs=1e-12)
    assert after.explanation["rounds"] == 1
    points = world.service.timeline(key)
    assert [point.kind for point in points] == ["opened", "rewards"] and points[-1].n_learned == 1
    assert points[-1].probabilities == after.probabilities


def test_open_decisions_are_planned_for(world: World) -> None:
    key = world.opened("a", "b")
    first = [decided(world, key) for _ in range(20)]
    world.later(0.3)
    then = decided(world, key)
    assert [(point.kind, point.m) for point in world.service.timeline(key)] == [("opened", 1), ("planned", 16)]
    assert (world.service.decision(first[0]).m, world.service.decision(then).m) == (1, 16)
    assert sorted(line.m for line in world.service.log(key)) == [1] * 20 + [16]
    for one in [*first, then]:
        assert world.service.reward(one, 1.0).status == "accepted"
    world.work()
    points = world.service.timeline(key)
    assert points[-1].m == 1 and sum(point.n_learned for point in points) == 21


def test_told_again_it_is_a_duplicate_and_told_otherwise_a_conflict(world: World) -> None:
    key = world.opened()
    one = decided(world, key)
    said = [world.service.reward(one, value).status for value in (1.0, 1.0, 0.5, 1.0)]
    assert said == ["accepted", "duplicate", "conflict", "duplicate"]
    world.work()
    assert [world.service.reward(one, value).status for value in (1.0, 0.5)] == ["duplicate", "conflict"]
    found = world.service.decision(one)
    assert found.reward == 1.0 and len(found.refused) == 5
    assert {(row.value, row.status) for row in found.refused} == {(1.0, "duplicate"), (0.5, "conflict")}


@pytest.mark.parametrize("value", [-0.001, 1.001, 1e308, -1e308, float("nan"), float("inf"), float("-inf")])
def test_a_reward_outside_its_range_is_refused(world: World, value: float) -> None:
    one = decided(world, world.opened())
    with pytest.raises(Unprocessable) as refused:
        world.service.reward(one, value)
    assert refused.value.field == "value"
    assert world.service.decision(one).outcome == "open"


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 5e-324, 0.1 + 0.2])
def test_a_reward_in_its_range_is_kept_exactly(world: World, value: float) -> None:
    one = decided(world, world.opened())
    assert world.service.reward(one, value).status == "accepted"
    world.work()
    assert world.service.decision(one).reward == value


def test_a_late_reward_is_kept_and_not_learned(world: World) -> None:
    key = world.opened(reward_window_s=50.0)
    one = decided(world, key)
    world.later(50.0)
    assert world.service.reward(one, 1.0).status == "late"
    found = world.service.decision(one)
    assert (found.outcome, found.reward) == ("expired", None)
    assert [row.status for row in found.refused] == ["late"]
    assert world.service.state(key).explanation["rounds"] == 0


def test_when_the_window_ends_the_default_counts(world: World) -> None:
    key = world.opened(reward_window_s=50.0, default_reward=0.25)
    one, other = decided(world, key), decided(world, key)
    assert world.service.reward(other, 1.0).status == "accepted"
    world.later(50.0)
    found = world.service.decision(one)
    assert (found.outcome, found.reward) == ("defaulted", 0.25)
    assert world.service.decision(other).outcome == "rewarded"
    assert world.service.reward(one, 1.0).status == "late"
    assert world.service.decision(one).reward == 0.25
    assert world.service.state(key).explanation["rounds"] == 2


def test_a_reward_may_come_before_its_decision(world: World) -> None:
    key, chosen = world.opened(), str(uuid.uuid4())
    assert world.service.reward(chosen, 0.5).status == "pending_decision"
    with pytest.raises(NotFound):
        world.service.decision(chosen)
    assert world.service.decide(key, decision_id=chosen).decision_id == chosen
    world.later(1.0)  # it finds its decision
    world.work()
    found = world.service.decision(chosen)
    assert (found.outcome, found.reward) == ("rewarded", 0.5)


@pytest.mark.parametrize("wrong", ["nonsense", "x" * 36, str(uuid.uuid4()).upper()])
def test_an_id_that_cannot_be_one_is_refused(world: World, wrong: str) -> None:
    with pytest.raises(Problem) as refused:
        world.service.reward(wrong, 0.5)
    assert refused.value.status in (404, 422) and refused.value.field == "decision_id"


def test_streams_that_do_not_train_do_not(world: World) -> None:
    key = world.opened("a", "b", control=messages.Control(arm="a", share=0.9))
    for number in range(20):
        made = world.service.decide(key, unit_id=f"unit {number}")
        assert made.decision_id is not None
        if made.stream == "control":
            assert world.service.reward(made.decision_id, 1.0).status == "accepted"
    world.work()
    assert world.service.state(key).explanation["rounds"] == 0


def test_several_rewards_may_make_one(world: World) -> None:
    key = world.opened(reward=messages.RewardRule(min=0.0, max=10.0, aggregation="sum"), reward_window_s=50.0)
    one = decided(world, key)
    for reward_id, value in (("x", 1.0), ("y", 2.5)):
        assert world.service.reward(one, value, reward_id=reward_id).status == "accepted"
    assert world.service.reward(one, 1.0, reward_id="x").status == "duplicate"
    world.later(60.0)
    found = world.service.decision(one)
    assert (found.outcome, found.reward) == ("rewarded", 3.5)


def test_when_it_was_seen_is_kept_and_decides_nothing(world: World) -> None:
    key = world.opened(reward_window_s=50.0)
    for moment in (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), datetime(2020, 1, 1)):
        assert world.service.reward(decided(world, key), 1.0, observed_at=moment).status == "accepted"


def test_many_rewards_at_once_and_one_bad_line_holds_up_no_other(world: World) -> None:
    key = world.opened()
    ids = [decided(world, key) for _ in range(4)]
    unknown = str(uuid.uuid4())
    told = world.service.rewards(
        [
            messages.RewardLine(decision_id=ids[0], value=1.0),
            messages.RewardLine(decision_id=ids[1], value=7.0),
            messages.RewardLine(decision_id=ids[0], value=1.0),
            messages.RewardLine(decision_id=unknown, value=1.0),
            messages.RewardLine(decision_id=ids[2], value=float("nan")),
            messages.RewardLine(decision_id=ids[3], value=0.0, reward_id="r"),
        ]
    )
    assert [one.line for one in told] == [1, 2, 3, 4, 5, 6]
    assert [one.status for one in told] == [
        "accepted",
        "refused",
        "duplicate",
        "pending_decision",
        "refused",
        "accepted",
    ]
    assert [one.decision_id for one in told if one.status != "refused"] == [ids[0], ids[0], unknown, ids[3]]
    assert all(one.detail for one in told if one.status == "refused")
    assert world.service.rewards([]) == []
    world.work()
    assert [world.service.decision(one).outcome for one in ids] == ["rewarded", "open", "open", "rewarded"]


def test_a_long_life_is_told_in_as_many_points_as_asked_for(world: World) -> None:
    key = world.opened("a", "b")
    for _ in range(30):
        world.service.reward(decided(world, key), 1.0)
        world.work()
    versions = world.service.experiment(key).version
    assert versions == 31
    points = world.service.timeline(key, limit=10)
    assert points[-1].version == versions and len(points) <= 12
    assert world.service.switches(key) == []
