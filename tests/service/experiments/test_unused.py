"""Deferred decisions that are never used: closed after a month, not learned from, not charged with a default reward."""

from __future__ import annotations

import pytest

from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.experiments import unused
from turncoat.service.experiments.unused import UNUSED_SECONDS
from turncoat.service.experiments.verify import verify

TIDY = 61.0  # the engine looks once a minute


def wait(labs: Lab, seconds: float) -> None:
    """The time passes; what is found then is closed by the next pass."""
    labs.work(seconds)
    labs.work()


def test_it_expires_and_teaches_nothing(labs: Lab) -> None:
    """Nothing ever closed one: each page view of a user who did not come back was open for ever."""
    labs.open(default_reward=0.0)
    decided = labs.engine.decide("x", unit_id="u", sticky=True, deferred=True)
    before = labs.state()
    wait(labs, UNUSED_SECONDS - TIDY)
    assert labs.engine.decision(str(decided.decision_id)).outcome == "open"
    wait(labs, 2 * TIDY)
    record = labs.engine.decision(str(decided.decision_id))
    assert (record.outcome, record.reward) == ("expired", None)
    assert labs.state() == before and labs.engine.read(verify, "x").identical
    assert labs.engine.reward(str(decided.decision_id), 1.0).status == "late"
    again = labs.engine.decide("x", unit_id="u", sticky=True, deferred=True)
    assert again.decision_id != decided.decision_id and again.reason == "split"


def test_what_was_used_or_has_a_window_stays(labs: Lab) -> None:
    labs.open(reward_window_s=2 * UNUSED_SECONDS)
    used, plain = (labs.engine.decide("x", deferred=deferred) for deferred in (True, False))
    labs.engine.activate(str(used.decision_id))
    wait(labs, UNUSED_SECONDS + TIDY)
    for one in (used, plain):
        assert labs.engine.decision(str(one.decision_id)).outcome == "open"
        assert labs.engine.reward(str(one.decision_id), 1.0).status == "accepted"


def test_what_was_rewarded_counts(labs: Lab) -> None:
    """A reward says that it was used, though no one activated it."""
    labs.open(reward=messages.RewardRule(aggregation="sum", max=5.0))
    decided = labs.engine.decide("x", deferred=True)
    for number in (1, 2):
        assert labs.engine.reward(str(decided.decision_id), 1.0, reward_id=str(number)).status == "accepted"
    wait(labs, UNUSED_SECONDS + TIDY)
    record = labs.engine.decision(str(decided.decision_id))
    assert (record.outcome, record.reward) == ("rewarded", 2.0)


def test_so_many_at_a_time(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unused, "MOST", 2)
    labs.open()
    ids = [str(labs.engine.decide("x", deferred=True).decision_id) for _ in range(5)]
    wait(labs, UNUSED_SECONDS)
    for n_open in (3, 1, 0):
        assert [labs.engine.decision(one).outcome for one in ids].count("open") == n_open
        wait(labs, TIDY)
