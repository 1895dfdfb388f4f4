"""Rewards that arrive before their decision: joined to it, counted once, refused where they would have been."""

from __future__ import annotations

import pytest

from tests.service.experiments.lab import WINDOW, Lab, uuid
from turncoat.service import messages
from turncoat.service.errors import Conflicting
from turncoat.service.experiments import early_rewards, queries, rewards
from turncoat.service.messages import Decide, Tell

ONE = uuid(1)


def closed(lab: Lab, decision_id: str = ONE) -> tuple[str, float | None]:
    record = lab.engine.decision(decision_id)
    return record.outcome, record.reward


def test_it_is_joined_and_learned_from(labs: Lab) -> None:
    labs.open()
    assert labs.engine.reward(ONE, 0.75).status == "pending_decision"
    labs.work()
    labs.engine.decide("x", decision_id=ONE)
    labs.work()
    labs.work()
    assert closed(labs) == ("rewarded", 0.75)
    assert labs.rows("SELECT n_learned FROM version WHERE kind = 'rewards'") == [(1,)]
    assert not labs.rows("SELECT * FROM part") and not labs.rows("SELECT * FROM inbox") and not labs.refused()


def test_the_same_again_is_a_duplicate_and_another_value_a_conflict(labs: Lab) -> None:
    labs.open()
    statuses = [labs.engine.reward(ONE, value).status for value in (0.5, 0.5, 0.6)]
    assert statuses == ["pending_decision", "duplicate", "conflict"]
    labs.engine.decide("x", decision_id=ONE)
    assert labs.engine.reward(ONE, 0.5).status == "duplicate"
    labs.work()
    assert closed(labs) == ("rewarded", 0.5)
    assert sorted(labs.refused()) == ["conflict", "duplicate", "duplicate"]
    assert {row[0] for row in labs.rows("SELECT experiment FROM refused")} == {1}  # they belong to it now


def test_the_first_of_several_counts_and_the_others_are_kept_apart(labs: Lab) -> None:
    labs.open()
    for name, value in (("c", 0.5), ("b", 0.5), ("a", 0.25)):
        assert labs.engine.reward(ONE, value, reward_id=name).status == "pending_decision"
        labs.clock.move(1.0)
    labs.engine.decide("x", decision_id=ONE)
    labs.work()
    labs.work()
    assert closed(labs) == ("rewarded", 0.5)
    assert labs.refused() == ["duplicate", "conflict"]


def test_all_of_them_are_added_up_where_rewards_are(labs: Lab) -> None:
    """They used to lose their reward_id: the same one told again counted twice, and a second one not at all."""
    labs.open(reward=messages.RewardRule(max=10.0, aggregation="sum"))
    assert labs.engine.reward(ONE, 1.0, reward_id="a").status == "pending_decision"
    assert labs.engine.reward(ONE, 2.0, reward_id="b").status == "pending_decision"
    assert labs.engine.reward(ONE, 1.0, reward_id="a").status == "duplicate"
    labs.engine.decide("x", decision_id=ONE)
    assert labs.engine.reward(ONE, 2.0, reward_id="b").status == "duplicate"
    assert labs.engine.reward(ONE, 4.0).status == "accepted"
    labs.work()
    assert labs.engine.reward(ONE, 1.0, reward_id="a").status == "duplicate"
    labs.work(WINDOW)
    assert closed(labs) == ("rewarded", 7.0)


def test_one_without_a_name_is_not_lost_to_another_without(labs: Lab) -> None:
    """Told before and after the decision, before both met: the early one used to be dropped without a word."""
    labs.open(reward=messages.RewardRule(max=10.0, aggregation="sum"))
    labs.engine.reward(ONE, 1.0)
    labs.engine.decide("x", decision_id=ONE)
    assert labs.engine.reward(ONE, 2.0).status == "conflict"
    labs.work(WINDOW)
    labs.work()
    assert closed(labs) == ("rewarded", 1.0)


@pytest.mark.parametrize("aggregation", ["first", "mean"])
def test_one_out_of_range_is_refused_and_the_next_counts(labs: Lab, aggregation: messages.Aggregation) -> None:
    labs.open(reward=messages.RewardRule(aggregation=aggregation))
    assert labs.engine.reward(ONE, 5.0).status == "pending_decision"
    labs.engine.decide("x", decision_id=ONE)
    assert labs.engine.reward(ONE, 0.5).status == "accepted"
    labs.work(WINDOW)
    assert closed(labs) == ("rewarded", 0.5)
    assert labs.refused() == ["out_of_range"]


def test_they_wait_an_hour_after_the_last_of_them(labs: Lab) -> None:
    labs.open()
    labs.engine.reward(ONE, 0.5, reward_id="a")
    labs.work(3000.0)
    labs.engine.reward(ONE, 0.6, reward_id="b")
    labs.work(3599.0)
    assert labs.refused() == []
    labs.work(1.0)
    assert labs.refused() == ["orphan", "orphan"]
    labs.engine.decide("x", decision_id=ONE)
    labs.work()
    assert closed(labs) == ("open", None)
    assert labs.engine.reward(ONE, 0.7).status == "accepted"


def test_in_one_batch_the_decision_goes_first(labs: Lab) -> None:
    labs.open()
    tell, decide = Tell(ONE, messages.Reward(value=0.5)), Decide("x", messages.Ask(decision_id=ONE))
    receipt, decided = labs.engine.serve([tell, decide])
    assert isinstance(receipt, messages.Receipt) and receipt.status == "accepted"
    assert isinstance(decided, messages.Decided) and decided.decision_id == ONE


def test_a_window_that_ended_before_they_met_does_not_matter(labs: Lab) -> None:
    """Early rewards were not looked for since the decision was recorded; its window has ended."""
    labs.open(default_reward=0.0)
    labs.engine.reward(ONE, 0.5)
    labs.engine.decide("x", decision_id=ONE)
    labs.work(WINDOW + 1.0)
    labs.work()
    assert closed(labs) == ("rewarded", 0.5)


def test_very_many_are_taken_a_few_at_a_time(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand were given up in one transaction, and every caller waited for seconds."""
    monkeypatch.setattr(early_rewards, "MOST", 2)
    labs.open()
    for number in range(5):
        labs.engine.reward(uuid(number), 1.0)
    labs.engine.decide("x", decision_id=uuid(4))
    labs.work(early_rewards.ORPHAN_SECONDS + 1.0)
    assert labs.refused() == ["orphan"] * 2
    for _ in range(3):
        labs.work()
    assert labs.refused() == ["orphan"] * 4
    assert labs.engine.decision(uuid(4)).outcome == "rewarded"


def test_of_very_many_refused_only_some_are_shown(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_REFUSED", 3)
    labs.open()
    one = str(labs.engine.decide("x").decision_id)
    for _ in range(6):
        labs.engine.reward(one, 1.0)
    assert len(labs.engine.decision(one).refused) == 3
    assert labs.refused(one) == ["duplicate"] * 5


def test_only_so_many_decisions_are_waited_for(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller with a key for rewards could fill the store with invented ids."""
    monkeypatch.setattr(rewards, "MOST_EARLY", 3)
    labs.open()
    for number in range(3):
        labs.engine.reward(uuid(number), 1.0)
    with pytest.raises(Conflicting, match="wait for 3 others"):
        labs.engine.reward(uuid(9), 1.0)
    known = str(labs.engine.decide("x").decision_id)
    assert labs.engine.reward(known, 1.0).status == "accepted"
    labs.engine.decide("x", decision_id=uuid(0))
    labs.work()
    assert labs.engine.reward(uuid(9), 1.0).status == "pending_decision"
