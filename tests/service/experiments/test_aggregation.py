"""Several rewards for one decision, made into one when its window ends; and windows that begin when it is used."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.experiments.lab import WINDOW, Lab, uuid
from turncoat.service import messages
from turncoat.service.errors import NotFound, Unprocessable
from turncoat.service.experiments import rewards


def opened(lab: Lab, aggregation: messages.Aggregation, **more: Any) -> str:
    lab.open(reward=messages.RewardRule(min=-1.0, max=10.0, aggregation=aggregation), **more)
    return str(lab.engine.decide("x").decision_id)


def outcome(lab: Lab, decision_id: str) -> tuple[str, float | None]:
    record = lab.engine.decision(decision_id)
    return record.outcome, record.reward


@pytest.mark.parametrize(
    "aggregation, expected", [("last", 2.0), ("sum", 9.0), ("mean", 3.0), ("min", 2.0), ("max", 4.0)]
)
def test_what_they_are_made_into(labs: Lab, aggregation: messages.Aggregation, expected: float) -> None:
    one = opened(labs, aggregation)
    for name, value in (("z", 3.0), ("y", 4.0), ("x", 2.0)):
        assert labs.engine.reward(one, value, reward_id=name).status == "accepted"
        labs.work()
    assert outcome(labs, one) == ("open", None)
    assert labs.engine.reward(one, 4.0, reward_id="y").status == "duplicate"
    assert labs.engine.reward(one, 5.0, reward_id="y").status == "conflict"
    labs.work(WINDOW)
    assert outcome(labs, one) == ("rewarded", expected)
    assert labs.engine.reward(one, 4.0, reward_id="y").status == "duplicate"
    assert labs.engine.reward(one, 4.0, reward_id="new").status == "late"


def test_it_is_made_at_the_very_end_of_the_window(labs: Lab) -> None:
    one = opened(labs, "sum")
    labs.clock.move(WINDOW - 1e-3)
    assert labs.engine.reward(one, 1.0).status == "accepted"
    labs.clock.move(1e-3)
    assert labs.engine.reward(one, 1.0, reward_id="b").status == "late"
    labs.engine.work()
    assert outcome(labs, one) == ("rewarded", 1.0)


@pytest.mark.parametrize("default, closed", [(0.5, ("defaulted", 0.5)), (None, ("expired", None))])
def test_a_sum_out_of_range_does_not_count(labs: Lab, default: float | None, closed: tuple[str, float | None]) -> None:
    one = opened(labs, "sum", default_reward=default)
    for name, value in (("a", 6.0), ("b", 6.0)):
        labs.engine.reward(one, value, reward_id=name)
    labs.work(WINDOW)
    assert outcome(labs, one) == closed
    assert labs.rows("SELECT value, status FROM refused") == [(12.0, "out_of_range")]
    labs.work()
    assert len(labs.refused()) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sum_past_all_floats(labs: Lab, sign: float) -> None:
    one = opened(labs, "sum", default_reward=0.5)
    for name in "ab":
        assert labs.engine.reward(one, sign * 1.7e308, reward_id=name).status == "accepted"
    labs.work(WINDOW)
    assert outcome(labs, one) == ("defaulted", 0.5)
    assert labs.rows("SELECT value FROM refused") == [(sign * 1e308,)]


def test_parts_of_a_sum_may_be_outside_and_others_not(labs: Lab) -> None:
    one = opened(labs, "sum")
    assert labs.engine.reward(one, 100.0, reward_id="a").status == "accepted"
    assert labs.engine.reward(one, -99.0, reward_id="b").status == "accepted"
    labs.work(WINDOW)
    assert outcome(labs, one) == ("rewarded", 1.0)
    labs.open("y", reward=messages.RewardRule(aggregation="mean"))
    with pytest.raises(Unprocessable, match=r"value is 1.5; accepted are 0.0 to 1.0"):
        labs.engine.reward(str(labs.engine.decide("y").decision_id), 1.5)


def test_none_at_all(labs: Lab) -> None:
    one = opened(labs, "mean", default_reward=0.5)
    labs.work(WINDOW)
    assert outcome(labs, one) == ("defaulted", 0.5)
    assert labs.engine.reward(one, 0.5).status == "late"


def test_the_window_of_a_deferred_decision_begins_when_it_is_used(labs: Lab) -> None:
    labs.open(default_reward=0.0)
    decided = labs.engine.decide("x", deferred=True)
    one = str(decided.decision_id)
    assert decided.expires_at is None
    labs.work(100.0 * WINDOW)
    assert outcome(labs, one) == ("open", None)
    record = labs.engine.activate(one)
    assert record.expires_at is not None and record.expires_at.timestamp() == labs.clock.now() + WINDOW
    labs.clock.move(1.0)
    assert labs.engine.activate(one).expires_at == record.expires_at  # only once
    labs.work(WINDOW)
    assert outcome(labs, one) == ("defaulted", 0.0)


def test_it_may_be_rewarded_before_and_activating_it_then_changes_nothing(labs: Lab) -> None:
    labs.open(default_reward=0.0)
    one = str(labs.engine.decide("x", deferred=True).decision_id)
    assert labs.engine.reward(one, 1.0).status == "accepted"
    labs.work()
    before = labs.everything()
    assert labs.engine.activate(one).outcome == "rewarded"
    assert labs.everything() == before
    with pytest.raises(NotFound, match="there is no decision"):
        labs.engine.activate("nobody")


def test_the_window_at_the_time_of_use_counts(labs: Lab) -> None:
    labs.open()
    one = str(labs.engine.decide("x", deferred=True).decision_id)
    labs.engine.change("x", messages.ExperimentChange(reward_window_s=5.0))
    expires_at = labs.engine.activate(one).expires_at
    assert expires_at is not None and expires_at.timestamp() == labs.clock.now() + 5.0


def test_a_mean_of_the_largest_reward_is_in_range(labs: Lab) -> None:
    """0.1 three times came to 0.10000000000000002, which was out of range: the default counted instead."""
    labs.open(reward=messages.RewardRule(min=0.0, max=0.1, aggregation="mean"), default_reward=0.0)
    one = str(labs.engine.decide("x").decision_id)
    for name in "abc":
        labs.engine.reward(one, 0.1, reward_id=name)
    labs.work(WINDOW)
    assert outcome(labs, one) == ("rewarded", 0.1)


def test_a_decision_takes_only_so_many_rewards(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further one reads all of them, so that any caller with a key could slow down all others."""
    monkeypatch.setattr(rewards, "MOST_PARTS", 3)
    known, unknown = opened(labs, "sum"), uuid(7)
    for one in (known, unknown):
        for name in "abc":
            labs.engine.reward(one, 1.0, reward_id=name)
        with pytest.raises(Unprocessable, match="3 rewards already"):
            labs.engine.reward(one, 1.0, reward_id="d")
        assert labs.engine.reward(one, 1.0, reward_id="c").status == "duplicate"
    labs.work(WINDOW)
    assert outcome(labs, known) == ("rewarded", 3.0)
