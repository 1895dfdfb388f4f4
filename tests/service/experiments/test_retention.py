"""Decisions that closed long ago are pruned: learners, sums and what is still open stay as they are."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.service.experiments.lab import RULE, WINDOW, Lab, raise_rule, uuid
from turncoat.service import messages
from turncoat.service.errors import NotFound, Unprocessable
from turncoat.service.experiments import retention
from turncoat.service.experiments.retention import DAY, MOST, prune, thin
from turncoat.service.experiments.verify import Verified, broken_audit, verify
from turncoat.service.store import StoreError

KEPT = "SELECT * FROM bucket ORDER BY experiment, width, start, arm, stream"


def days(lab: Lab, n: float) -> None:
    """So many days pass, and what is due is done."""
    lab.clock.move(n * DAY)
    for _ in range(20):
        lab.work()
    lab.clock.move(retention.LOOK + 1.0)
    for _ in range(20):
        lab.work()


def lived(lab: Lab, n: int = 12, key: str = "x", **ask: Any) -> list[str]:
    """So many decisions, each rewarded and learned from at once; their ids."""
    ids = []
    for turn in range(n):
        decided = lab.engine.decide(key, **ask)
        ids.append(str(decided.decision_id))
        lab.engine.reward(ids[-1], float(decided.arm == "a" or turn % 3 == 0))
        lab.work()
    return ids


def verified(lab: Lab, key: str = "x") -> Verified:
    with lab.store.reading() as session:
        assert broken_audit(session) is None
        return verify(session, key)


def stored(lab: Lab) -> set[str]:
    return {one for (one,) in lab.rows("SELECT id FROM decision")}


def keep(lab: Lab, n: float | None, key: str = "x") -> None:
    lab.engine.change(key, messages.ExperimentChange(keep_days=n))


def test_what_closed_long_ago_is_pruned_and_all_else_stays(labs: Lab) -> None:
    labs.open(keep_days=2.0, control=messages.Control(arm="a", share=0.3))
    labs.open("y")
    old = lived(labs)
    other = lived(labs, 3, "y")
    days(labs, 1.5)
    new = lived(labs, 4)
    still_open = labs.engine.decide("x", deferred=True).decision_id
    state, buckets, arms = labs.state(), labs.rows(KEPT), labs.engine.experiment("x").arms
    assert stored(labs) == {*old, *other, *new, still_open}
    days(labs, 0.6)
    assert stored(labs) == {*other, *new, still_open}
    assert labs.state() == state and labs.engine.experiment("x").arms == arms
    coarse = [row for row in buckets if row[1] == 10_800]
    assert [row for row in labs.rows(KEPT) if row[1] == 10_800] == coarse
    assert [line.decision_id for line in labs.engine.log("x")] == sorted([*new, str(still_open)])
    with pytest.raises(NotFound, match="there is no decision"):
        labs.engine.decision(old[0])
    labs.engine.activate(str(still_open))
    assert labs.engine.reward(str(still_open), 1.0).status == "accepted"
    labs.work()
    assert labs.engine.decision(str(still_open)).outcome == "rewarded"
    labs.restart()
    assert verified(labs).identical and verified(labs, "y").first == 0


def test_the_first_deletion_writes_a_checkpoint(labs: Lab) -> None:
    """From there the log is replayed; the next is written once something that came after it is to go."""
    labs.open(keep_days=2.0)
    lived(labs)
    found = verified(labs)
    assert found.identical and (found.first, found.learned, found.pruned_at) == (0, 12, None)
    state, revision = labs.engine.state("x").checksum, labs.engine.experiment("x").revision
    days(labs, 2.1)
    at = labs.clock.now()
    found = verified(labs)
    assert found.identical and (found.first, found.learned, found.older_rule) == (14, 0, None)
    assert found.pruned_at is not None and at - DAY < found.pruned_at <= at
    entry = labs.engine.audit("x")[-1]
    assert (entry.actor, entry.action, entry.before) == ("turncoat", "checkpoint", {"rule": RULE, "checksum": state})
    expected = {"rule": RULE, "checksum": state, "version": 14, "reason": "pruned", "keep_days": 2.0}
    assert entry.after == expected and labs.engine.experiment("x").revision == revision
    lived(labs, 3)
    labs.retire("b")
    lived(labs, 2)
    found = verified(labs)
    assert found.identical and (found.first, found.learned) == (14, 5)
    days(labs, 2.1)
    assert stored(labs) == set()
    assert verified(labs).identical and verified(labs).first == 21
    assert [one.kind for one in labs.engine.timeline("x")].count("checkpoint") == 2


def test_between_two_checkpoints_batches_need_none(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MOST", 2)
    labs.open(keep_days=1.0)
    lived(labs, 7)
    labs.clock.move(DAY - 4.0)  # the first three are due now
    for left in (5, 4, 4):
        labs.engine.work()
        assert len(stored(labs)) == left
    days(labs, 0.1)
    assert stored(labs) == set()
    assert labs.rows("SELECT COUNT(*) FROM checkpoint") == [(1,)] and verified(labs).identical


TAMPERED = {
    "its state": "UPDATE checkpoint SET state = :other",
    "its version": "UPDATE version SET checksum = 'no' WHERE kind = 'checkpoint'",
    "its reason": "UPDATE version SET detail = '{}' WHERE kind = 'checkpoint'",
    "a reward after it": "UPDATE decision SET reward = 1 - reward WHERE applied_version = 14",
    "a decision after it": "DELETE FROM decision WHERE applied_version = 14",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_verification_still_finds(labs: Lab, what: str) -> None:
    labs.open(keep_days=1.0)
    lived(labs)
    days(labs, 1.1)
    lived(labs, 3)
    assert verified(labs).identical
    sql = TAMPERED[what].replace("14", "15")
    with labs.store.transaction() as session:
        session.run(sql, **({"other": labs.state()} if ":other" in sql else {}))
    assert not verified(labs).good


def test_the_audit_has_an_entry_for_it(labs: Lab) -> None:
    labs.open(keep_days=1.0)
    lived(labs)
    days(labs, 1.1)
    with labs.store.transaction() as session:
        session.run("DELETE FROM audit WHERE action = 'checkpoint'")
    with labs.store.reading() as session:
        assert broken_audit(session) is not None


def test_a_reward_of_a_pruned_decision_is_late(labs: Lab) -> None:
    """Its id says when it was made. Another id is unknown, as one of a decision that has not come yet."""
    labs.open(keep_days=1.0)
    own, last = uuid(1), lived(labs)[-1]
    labs.engine.decide("x", decision_id=own)
    labs.engine.reward(own, 1.0)
    labs.work()
    assert labs.engine.reward(last, 0.5).status == "conflict"
    days(labs, 1.1)
    assert stored(labs) == set() and labs.refused() == []
    assert [labs.engine.reward(one, 0.5).status for one in (last, own)] == ["late", "pending_decision"]
    not_yet = "01ff0000-0000-7000-8000-000000000001"  # some years later
    assert labs.engine.reward(not_yet, 0.5).status == "pending_decision"
    labs.work(3_700.0)
    assert labs.refused(last) == ["late"] and labs.refused(own) == ["orphan"]
    assert verified(labs).identical


def test_without_pruning_an_unknown_decision_is_waited_for(labs: Lab) -> None:
    labs.open()
    assert labs.engine.reward("01000000-0000-7000-8000-000000000001", 0.5).status == "pending_decision"


def test_what_belongs_to_a_decision_goes_with_it(labs: Lab) -> None:
    """A sticky row without its decision could not be replaced: the unit was refused for ever."""
    labs.open(keep_days=1.0, reward=messages.RewardRule(aggregation="mean"))
    first = labs.engine.decide("x", unit_id="anna", sticky=True).decision_id
    for name in ("p", "q"):
        labs.engine.reward(str(first), 1.0, reward_id=name)
    labs.engine.reward(str(first), 0.5, reward_id="p")
    days(labs, 0.1)
    days(labs, 1.1)
    for table in ("decision", "part", "refused", "sticky", "inbox"):
        assert labs.rows(f"SELECT COUNT(*) FROM {table}") == [(0,)], table
    again = labs.engine.decide("x", unit_id="anna", sticky=True)
    assert again.reason != "sticky"
    assert labs.engine.decide("x", unit_id="anna", sticky=True).decision_id == again.decision_id


def test_keep_days_is_a_setting(labs: Lab) -> None:
    assert labs.open().keep_days is None
    lived(labs)
    days(labs, 400.0)
    assert len(stored(labs)) == 12
    keep(labs, 500.0)
    days(labs, 1.0)
    assert len(stored(labs)) == 12 and labs.engine.experiment("x").keep_days == 500.0
    keep(labs, 90.0)
    days(labs, 0.1)
    assert len(stored(labs)) == 0
    keep(labs, None)
    lived(labs)
    days(labs, 400.0)
    assert len(stored(labs)) == 12
    assert labs.engine.audit("x")[-1].after == {"keep_days": None}


@pytest.mark.parametrize("value", [0.0, 0.5, -1.0, 36_501.0])
def test_bad_values_are_named(lab: Lab, value: Any) -> None:
    lab.open()
    with pytest.raises(Unprocessable, match="keep_days"):
        keep(lab, value)


def test_a_damaged_learner_is_not_made_a_checkpoint(labs: Lab) -> None:
    """And it does not hold up the pruning of others."""
    for key in ("x", "y"):
        labs.open(key, keep_days=1.0)
        lived(labs, 3, key)
    good = labs.state()
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :bad WHERE experiment = 1", bad=good[:-1] + b" ")
    days(labs, 1.1)
    assert labs.rows("SELECT DISTINCT experiment FROM decision") == [(1,)]
    with pytest.raises(StoreError, match="nothing was pruned"):
        list(prune(labs.store, labs.clock.now(), 1, 1.0, "local"))
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :good WHERE experiment = 1", good=good)
    days(labs, 0.1)
    assert stored(labs) == set() and verified(labs).identical


def test_after_another_rule(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of the stored state is of the older rule; what is written next begins with another."""
    labs.open(keep_days=1.0)
    lived(labs)
    days(labs, 0.9)
    waiting = str(labs.engine.decide("x").decision_id)
    raise_rule(monkeypatch)
    labs.restart()
    labs.engine.reward(waiting, 1.0)
    days(labs, 0.2)
    kinds = [one.kind for one in labs.engine.timeline("x")][-3:]
    assert kinds == ["checkpoint", "checkpoint", "rewards"]
    assert verified(labs).identical and stored(labs) == {waiting}
    days(labs, 1.0)
    assert stored(labs) == set() and verified(labs).identical


# -- beside a running service ---------------------------------------------------------------------------------------


def test_another_process_prunes(labs: Lab) -> None:
    """The service goes on from the snapshot that it has, and finds the checkpoint at its next write."""
    labs.open()
    lived(labs)
    state = labs.state()
    labs.clock.move(5 * DAY)
    assert list(prune(labs.store, labs.clock.now(), 1, 1.0, "local")) == [12]
    assert labs.engine.audit("x")[-1].actor == "local" and labs.state() == state
    decided = labs.engine.decide("x")
    assert decided.state_version == 13
    for one in (decided, labs.engine.decide("x", allowed_arms=["b"])):
        labs.engine.reward(str(one.decision_id), 1.0)
    labs.work()  # on PostgreSQL it only looks what the other process has changed
    labs.work()
    labs.engine.add_arm("x", messages.NewArm(arm="c"))
    assert [one.kind for one in labs.engine.timeline("x")][-3:] == ["checkpoint", "rewards", "arm_added"]
    assert verified(labs).identical and verified(labs).learned == 2


def test_more_than_a_batch(lab: Lab) -> None:
    lab.open()
    ids = [str(lab.engine.decide("x").decision_id) for _ in range(MOST + 5)]
    lab.engine.rewards([messages.RewardLine(decision_id=one, value=1.0) for one in ids])
    lab.work()
    lab.clock.move(5 * DAY)
    assert list(prune(lab.store, lab.clock.now(), 1, 1.0, "local")) == [MOST, 5]
    assert list(prune(lab.store, lab.clock.now(), 1, 1.0, "local")) == [0]


# -- versions -------------------------------------------------------------------------------------------------------


def test_versions_are_thinned_evenly(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "LEAST_KEPT", 4)
    monkeypatch.setattr(retention, "THINNED", 4)
    labs.open(arms=["a", "b", "c"])
    lived(labs, 20)
    deferred = labs.engine.decide("x", deferred=True)  # of version 21
    labs.retire("c")
    lived(labs, 20)
    shown = labs.engine.timeline("x", limit=4)
    labs.clock.move(5 * DAY)
    lived(labs, 3)
    assert list(thin(labs.store, 1, labs.clock.now())) == []  # nothing was pruned
    list(prune(labs.store, labs.clock.now(), 1, 1.0, "local"))
    gone = list(thin(labs.store, 1, labs.clock.now()))
    left = [one for one in labs.engine.timeline("x") if one.version <= 42]
    assert [one.version for one in left] == [1, 8, 16, 21, 22, 24, 32, 40, 41, 42] and sum(gone) == 32
    assert sum(one.n_learned for one in labs.engine.timeline("x")) == 43
    assert [one.n_learned for one in left if one.version % 8 == 0] == [7, 8, 6, 8, 8]  # 21 and 22 have their own
    assert {one.version: one.probabilities for one in shown}.items() <= {
        one.version: one.probabilities for one in left
    }.items()
    assert list(thin(labs.store, 1, labs.clock.now())) == [0] * len(gone)
    labs.engine.activate(str(deferred.decision_id))
    labs.engine.reward(str(deferred.decision_id), 1.0)
    labs.work()
    assert labs.engine.decision(str(deferred.decision_id)).probabilities == deferred.probabilities
    assert verified(labs).identical and len(list(labs.engine.log("x"))) == 4
    labs.engine.switches("x")


def test_a_service_beside_it_draws_from_the_version_before(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not look at a SQLite file that it has for itself; the version it serves must not be thinned."""
    monkeypatch.setattr(retention, "LEAST_KEPT", 2)
    lab.open()
    lived(lab, 10)
    lab.clock.move(5 * DAY)
    list(prune(lab.store, lab.clock.now(), 1, 1.0, "local"))
    assert sum(thin(lab.store, 1, lab.clock.now())) > 0
    decided = lab.engine.decide("x")
    assert decided.state_version == 11 and lab.engine.decision(str(decided.decision_id)).m == 1


def test_states_hold_nothing_of_it(labs: Lab) -> None:
    """Two services, of which one prunes: their learners are the same, byte for byte."""
    states = []
    for key, kept in (("kept", None), ("pruned", 1.0)):
        labs.open(key, keep_days=kept)
        labs.randomness._random.seed(5)
        lived(labs, 10, key)
        days(labs, 1.5)
        lived(labs, 10, key)
        states.append(msgspec.json.decode(labs.state(key)))
    assert states[0] | {"token": 0} == states[1] | {"token": 0}
    assert len(stored(labs)) == 30 and WINDOW < DAY
