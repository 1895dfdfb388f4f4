"""What becomes of a reward: the first in time counts, once, and everything else is kept apart."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.service.experiments.lab import WINDOW, Lab, uuid
from turncoat.service import messages
from turncoat.service.errors import Malformed, NotFound, Unprocessable
from turncoat.service.messages import Tell

HOUR = 3600.0


def decide(lab: Lab, **ask: object) -> str:
    return str(lab.engine.decide("x", **ask).decision_id)  # type: ignore[arg-type]


def outcome(lab: Lab, decision_id: str) -> tuple[str, float | None]:
    record = lab.engine.decision(decision_id)
    return record.outcome, record.reward


def test_only_decisions_of_some_experiments_are_rewarded(labs: Lab) -> None:
    """A key may be for some experiments. What is not known yet could be of any: nothing waits for it."""
    labs.open()
    labs.open("y")
    ours, theirs, unknown = decide(labs), str(labs.engine.decide("y").decision_id), uuid(7)
    told = [Tell(one, messages.Reward(value=1.0), frozenset({"x"})) for one in (theirs, unknown, ours, ours)]
    refused, missing, first, again = labs.engine.serve(told)
    assert isinstance(refused, NotFound) and isinstance(missing, NotFound)
    assert refused.detail.replace(theirs, "") == missing.detail.replace(unknown, "")
    assert isinstance(first, messages.Receipt) and first.status == "accepted"
    assert isinstance(again, messages.Receipt) and again.status == "duplicate"
    labs.engine.decide("y", decision_id=unknown)
    labs.work()
    assert outcome(labs, ours) == ("rewarded", 1.0)
    assert outcome(labs, theirs) == outcome(labs, unknown) == ("open", None)
    assert labs.engine.decision(theirs).refused == []


@pytest.mark.parametrize("applied", [False, True])
def test_the_first_counts(labs: Lab, applied: bool) -> None:
    labs.open()
    one = decide(labs)
    assert labs.engine.reward(one, 0.5).status == "accepted"
    assert outcome(labs, one) == ("waiting", 0.5)
    if applied:
        labs.work()
    assert labs.engine.reward(one, 0.5).status == "duplicate"
    assert labs.engine.reward(one, 0.5, reward_id="another name").status == "duplicate"
    assert labs.engine.reward(one, 0.6).status == "conflict"
    labs.work(WINDOW)
    assert labs.engine.reward(one, 0.5).status == "duplicate"
    assert labs.engine.reward(one, 0.6).status == "conflict"
    assert outcome(labs, one) == ("rewarded", 0.5)
    assert sorted(labs.refused(one)) == ["conflict", "conflict", "duplicate", "duplicate", "duplicate"]
    assert labs.rows("SELECT SUM(n_learned) FROM version") == [(1,)]


def test_in_one_batch(labs: Lab) -> None:
    labs.open()
    one = decide(labs)
    told = labs.engine.serve([Tell(one, messages.Reward(value=value)) for value in (0.5, 0.5, 0.25)])
    assert [getattr(each, "status", None) for each in told] == ["accepted", "duplicate", "conflict"]
    labs.work()
    assert outcome(labs, one) == ("rewarded", 0.5)


@pytest.mark.parametrize("default, closed", [(0.25, ("defaulted", 0.25)), (None, ("expired", None))])
@pytest.mark.parametrize("before", [0.0, 1e-3])
def test_late_is_from_the_end_of_the_window_on(
    labs: Lab, default: float | None, closed: tuple[str, float | None], before: float
) -> None:
    """At the very moment that `expires_at` names it is too late; a moment before it is in time."""
    labs.open(default_reward=default)
    one = decide(labs)
    labs.clock.move(WINDOW - before)
    assert labs.engine.reward(one, 1.0).status == ("accepted" if before else "late")
    labs.engine.work()
    assert outcome(labs, one) == (("rewarded", 1.0) if before else closed)
    labs.work()
    assert labs.engine.reward(one, 1.0).status == ("duplicate" if before else "late")
    assert labs.rows("SELECT COUNT(*) FROM version WHERE kind = 'rewards'") == [(1,)]


def test_told_in_time_and_applied_after_the_window(labs: Lab) -> None:
    labs.open(default_reward=0.0)
    one = decide(labs)
    labs.clock.move(WINDOW - 1e-3)
    labs.engine.reward(one, 1.0)
    labs.work(HOUR)
    assert outcome(labs, one) == ("rewarded", 1.0)


def test_the_clock_is_set_back_after_a_default(labs: Lab) -> None:
    """A default was given; by the clock the window is open again. It stays late: a decision closes once."""
    labs.open(default_reward=0.0)
    one = decide(labs)
    labs.work(HOUR)
    labs.clock.move(-HOUR)
    assert labs.engine.reward(one, 1.0).status == "late"
    labs.work()
    assert outcome(labs, one) == ("defaulted", 0.0)
    assert labs.rows("SELECT SUM(n_learned) FROM version") == [(1,)]


def test_the_clock_is_set_back_while_rewards_wait(labs: Lab) -> None:
    labs.open()
    first, second = decide(labs), decide(labs)
    labs.engine.reward(first, 1.0)
    labs.clock.move(-HOUR)
    labs.engine.reward(second, 0.0)
    labs.work()
    order = labs.rows("SELECT id FROM decision ORDER BY applied_version, applied_position")
    assert [row[0] for row in order] == [second, first]  # by the time they were received, as the log says


def test_windows_that_end_are_found_although_the_clock_was_set_back(labs: Lab) -> None:
    labs.open(default_reward=0.0)
    labs.work(HOUR)
    labs.clock.move(-HOUR)
    one = decide(labs)
    labs.work(WINDOW)
    assert outcome(labs, one) == ("defaulted", 0.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1.5, -0.1, 1e308, 10**400, True, "0.5"])
def test_values_that_are_refused(labs: Lab, value: object) -> None:
    labs.open()
    one = decide(labs)
    before = labs.everything()
    for decision in (one, uuid(9)) if value not in (1.5, -0.1, 1e308) else (one,):
        with pytest.raises((Unprocessable, Malformed), match=r"accepted (is|are)") as refused:
            labs.engine.reward(decision, value)  # type: ignore[arg-type]
        assert refused.value.field == "value"
    assert labs.everything() == before


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 5e-324, 1.0 - 2.0**-53, 1, 0])
def test_values_that_are_kept_exactly(labs: Lab, value: float) -> None:
    labs.open()
    one = decide(labs)
    labs.engine.reward(one, value)
    labs.work()
    assert labs.engine.reward(one, value).status == "duplicate"
    assert outcome(labs, one) == ("rewarded", value)


@pytest.mark.parametrize("bad", ["", "x", uuid(1).upper().replace("8", "A"), uuid(1) + " ", "é" * 36])
def test_ids_that_no_decision_can_have(lab: Lab, bad: str) -> None:
    """They were kept for an hour, as rewards that wait for their decision."""
    lab.open()
    before = lab.everything()
    with pytest.raises(Unprocessable, match="accepted is a UUID in lower case"):
        lab.engine.reward(bad, 0.5)
    assert lab.everything() == before


def test_one_bad_line_does_not_hold_up_the_others(labs: Lab) -> None:
    labs.open()
    one, other = decide(labs), decide(labs)
    lines = [
        messages.RewardLine(decision_id=decision, value=value)
        for decision, value in ((one, 0.5), (other, float("nan")), (one, 0.5), (uuid(5), 0.5), (other, 0.25))
    ]
    receipts = labs.engine.rewards(lines)
    statuses = ["accepted", "refused", "duplicate", "pending_decision", "accepted"]
    assert [receipt.status for receipt in receipts] == statuses and [receipt.line for receipt in receipts] == [
        *range(1, 6)
    ]
    assert "nan" in str(receipts[1].detail) and receipts[0].detail is None


@pytest.mark.parametrize("year", [1, 1970, 9999])
def test_what_the_caller_says_of_the_time_is_kept_and_not_used(labs: Lab, year: int) -> None:
    labs.open()
    one = decide(labs)
    moment = datetime(year, 1, 1, tzinfo=UTC)
    assert labs.engine.reward(one, 0.5, observed_at=moment).status == "accepted"
    labs.work()
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert labs.rows("SELECT observed_at FROM decision") == [(seconds,)]


def test_more_than_fit_into_one_pass(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("experiments.learn", "engine"):
        monkeypatch.setattr(f"turncoat.service.{module}.MOST", 7)
    labs.open(default_reward=0.0)
    ids = [decide(labs) for _ in range(40)]
    for one in ids[:20]:
        labs.engine.reward(one, 1.0)
    labs.clock.move(WINDOW)
    assert labs.engine.work()
    late = labs.engine.reward(ids[-1], 1.0)
    while labs.engine.work():
        pass
    labs.work()
    labs.work()
    labs.work()
    counts = labs.rows("SELECT outcome, COUNT(*) FROM decision GROUP BY outcome ORDER BY outcome")
    assert counts == [("defaulted", 20), ("rewarded", 20)] and late.status == "late"
    sizes = labs.rows("SELECT COUNT(*), MAX(applied_position) FROM decision GROUP BY applied_version")
    assert all(n <= 7 and last == n - 1 for n, last in sizes)


def test_a_stopped_experiment_still_takes_rewards(labs: Lab) -> None:
    labs.open()
    one = decide(labs)
    labs.engine.change("x", messages.ExperimentChange(state="stopped"))
    assert labs.engine.reward(one, 1.0).status == "accepted"
    labs.work()
    assert outcome(labs, one) == ("rewarded", 1.0)


def test_the_window_and_the_default_change_while_decisions_are_open(labs: Lab) -> None:
    """A decision keeps the window it was told; the default is the one that stands when it is needed."""
    labs.open(default_reward=0.0)
    one = decide(labs)
    labs.engine.change("x", messages.ExperimentChange(reward_window_s=1.0, default_reward=0.5))
    labs.clock.move(WINDOW - 1.0)
    other = decide(labs)
    labs.engine.work()
    assert outcome(labs, one) == ("open", None)
    labs.work(1.0)
    assert outcome(labs, one) == outcome(labs, other) == ("defaulted", 0.5)


def test_ids_are_unique_over_all_experiments(labs: Lab) -> None:
    from turncoat.service.errors import Conflicting

    labs.open()
    labs.open("y")
    labs.engine.decide("x", decision_id=uuid(1))
    before = labs.everything()
    for key in ("x", "y"):
        with pytest.raises(Conflicting, match="was used before; accepted is a new one"):
            labs.engine.decide(key, decision_id=uuid(1))
    assert labs.everything() == before
