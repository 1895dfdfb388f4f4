"""Another rule of the learner: each experiment goes on from its migrated state, in a version of its own, once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.service.experiments.faults import Crash, FaultyStore
from tests.service.experiments.lab import NEXT_RULE, RULE, WINDOW, Lab, StillClock, raise_rule, with_other_chance
from tests.service.experiments.test_write_conflicts import Task, Worker, opened, overtaken, workers
from turncoat.learners import Turncoat
from turncoat.learners.turncoat.constants import PRIOR
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.errors import Conflicting
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.verify import Verified, broken_audit, verify
from turncoat.service.store import open_store

__all__ = ["workers"]  # a fixture

ROOT = Path(__file__).parents[3]
KINDS = "SELECT version, kind, n_learned FROM version ORDER BY experiment, version"
KILLED = """
import os, signal, sys
import pytest
from tests.service.experiments.lab import raise_rule
from turncoat.service.engine import Engine
from turncoat.service.experiments import learn
from turncoat.service.store import open_store
raise_rule(pytest.MonkeyPatch())
learn.append_entry = lambda *args, **more: os.kill(os.getpid(), signal.SIGKILL)
Engine(open_store(sys.argv[1])).work()
"""


def forgetful(state: dict[str, Any]) -> dict[str, Any]:
    """A migration after which something else is served: all trust in bases is what it was at the beginning."""
    learner = Turncoat._rebuilt(state)
    learner.view().p[:] = np.array(PRIOR) / sum(PRIOR)
    return learner.state()


def lived(lab: Lab, key: str = "x") -> list[str]:
    """An experiment some rewards old; decisions that are still open."""
    lab.open(key, arms=["a", "b", "c"])
    for turn in range(8):
        decided = lab.engine.decide(key, allowed_arms=["a", "b"] if turn % 3 == 0 else None)
        lab.engine.reward(str(decided.decision_id), float(decided.arm == "a"))
        lab.work()
    return [str(lab.engine.decide(key).decision_id) for _ in range(4)]


def verified(lab: Lab, key: str = "x") -> Verified:
    with lab.store.reading() as session:
        assert broken_audit(session) is None
        return verify(session, key)


def kinds(lab: Lab) -> list[str]:
    return [kind for _, kind, _ in lab.rows(KINDS)]


def told(lab: Lab, ids: list[str]) -> None:
    for one in ids:
        assert lab.engine.reward(one, 0.5).status == "accepted"
    lab.work()


def test_a_pass_begins_with_a_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = lived(labs)
    before, probabilities = labs.state(), labs.engine.experiment("x").arms
    raise_rule(monkeypatch, migrated=forgetful)
    labs.restart()
    labs.work()
    assert labs.state() == before and labs.engine.experiment("x").arms == probabilities  # nothing was to be written
    told(labs, waiting[:1])
    assert labs.rows(KINDS)[-3:] == [(9, "rewards", 1), (10, "checkpoint", 0), (11, "rewards", 1)]
    after = msgspec.json.decode(labs.state())
    assert after["rule"] == NEXT_RULE and labs.rows("SELECT rule FROM learner") == [(NEXT_RULE,)]
    told(labs, waiting[1:3])
    labs.restart()
    told(labs, waiting[3:])
    labs.engine.decide("x")
    assert kinds(labs).count("checkpoint") == 1
    assert labs.rows("SELECT SUM(n_learned) FROM version") == [(12,)]
    found = verified(labs)
    assert found.identical and (found.older_rule, found.first, found.learned) == (RULE, 10, 4)


def test_a_checkpoint_is_in_the_audit_and_is_no_revision(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An If-Match that was read before it still holds."""
    waiting = lived(labs)
    revision = labs.engine.experiment("x").revision
    digests = [labs.engine.state("x").checksum]
    raise_rule(monkeypatch)
    labs.restart()
    told(labs, waiting[:1])
    entry = labs.engine.audit("x")[-1]
    ((digest,),) = labs.rows("SELECT checksum FROM version WHERE kind = 'checkpoint'")
    assert (entry.actor, entry.action) == ("turncoat", "checkpoint")
    assert entry.before == {"rule": RULE, "checksum": digests[0]}
    assert entry.after == {"rule": NEXT_RULE, "checksum": digest, "version": 10}
    assert labs.engine.experiment("x").revision == revision
    labs.engine.change("x", messages.ExperimentChange(holdout_share=0.1), if_revision=revision)
    assert [point.kind for point in labs.engine.timeline("x")][-3:] == ["checkpoint", "rewards", "settings_changed"]


CHANGES: list[Callable[[Lab], Any]] = [
    lambda lab: lab.engine.change("x", messages.ExperimentChange(holdout_share=0.1), if_revision=1),
    lambda lab: lab.engine.add_arm("x", messages.NewArm(arm="d")),
    lambda lab: lab.retire("b"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_begins_with_a_checkpoint(
    labs: Lab, monkeypatch: pytest.MonkeyPatch, change: Callable[[Lab], Any]
) -> None:
    waiting = lived(labs)
    raise_rule(monkeypatch, migrated=forgetful)
    labs.restart()
    change(labs)
    told(labs, waiting)
    assert kinds(labs)[9] == "checkpoint" and kinds(labs).count("checkpoint") == 1 and len(kinds(labs)) == 12
    found = verified(labs)
    assert found.identical and (found.first, found.learned) == (10, 4)


def test_what_is_refused_writes_no_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(labs)
    raise_rule(monkeypatch)
    labs.restart()
    before = labs.everything()
    with pytest.raises(Conflicting):
        labs.engine.add_arm("x", messages.NewArm(arm="a"))
    assert labs.everything() == before


def test_until_then_it_decides_with_the_migrated_learner(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the shares that were published, or from the learner where only some arms can be used."""
    lived(labs)
    published = labs.engine.decide("x").probabilities
    raise_rule(monkeypatch, migrated=forgetful)
    labs.restart()
    assert labs.engine.decide("x").probabilities == published
    some = labs.engine.decide("x", allowed_arms=["a", "b"])
    assert labs.engine.state("x").version == some.state_version == 9
    told(labs, [str(some.decision_id)])
    record = labs.engine.decision(str(some.decision_id))
    assert (record.outcome, record.applied_version, record.propensity) == ("rewarded", 11, some.propensity)
    assert verified(labs).identical


def test_each_experiment_has_its_own(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = {key: lived(labs, key) for key in ("x", "y")}
    raise_rule(monkeypatch)
    labs.restart()
    labs.open("new")
    told(labs, waiting["x"])
    told(labs, [str(labs.engine.decide("new").decision_id)])
    told(labs, waiting["y"][:1])
    sql = "SELECT e.key, COUNT(*) FROM checkpoint c JOIN experiment e ON e.id = c.experiment GROUP BY e.key"
    assert sorted(labs.rows(sql)) == [("x", 1), ("y", 1)]  # the new one was opened with the new rule
    assert all(verified(labs, key).identical for key in ("x", "y", "new"))
    assert verified(labs, "new").older_rule is None


def test_a_third_rule(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaying begins at the latest checkpoint; while there is none for the third, nothing is replayed."""
    waiting = lived(labs)
    raise_rule(monkeypatch)
    labs.restart()
    told(labs, waiting[:2])
    raise_rule(monkeypatch, NEXT_RULE + 1, forgetful)
    labs.restart()
    found = verified(labs)
    assert found.identical and (found.older_rule, found.first, found.learned) == (NEXT_RULE, 12, 0)
    told(labs, waiting[2:])
    found = verified(labs)
    assert found.identical and (found.older_rule, found.first, found.learned) == (NEXT_RULE, 12, 2)


def test_a_rule_without_a_migration_loses_nothing(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions go on, rewards wait, and the reason is said."""
    waiting = lived(labs)
    monkeypatch.setattr(Turncoat, "rule_version", NEXT_RULE)
    labs.restart()
    labs.engine.reward(waiting[0], 0.5)
    before = labs.everything()
    damage = labs.damage()
    assert damage.part == "learner"
    assert re.search(rf"of rule {RULE} of 'turncoat'.*accepted are states of rule {NEXT_RULE}", damage.detail)
    assert labs.everything() | {"damage": []} == before
    assert labs.engine.decide("x").state_version == 9
    assert verified(labs).older_rule == RULE
    monkeypatch.undo()
    labs.restart()
    labs.work()
    assert verified(labs).identical and kinds(labs).count("checkpoint") == 0


def test_an_older_turncoat_does_not_go_on_from_a_newer_rule(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = lived(labs)
    with monkeypatch.context() as patch:
        raise_rule(patch)
        labs.restart()
        told(labs, waiting[:1])
    labs.restart()
    labs.engine.reward(waiting[1], 0.5)
    before = labs.everything()
    assert "upgrade turncoat" in labs.damage().detail
    assert labs.everything() | {"damage": []} == before


# -- verification ---------------------------------------------------------------------------------------------------


def test_verification_begins_at_the_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward that was altered is found after it, and no longer before it."""
    waiting = lived(labs)
    raise_rule(monkeypatch, migrated=forgetful)
    labs.restart()
    told(labs, waiting)
    for version, good in ((5, True), (11, False)):
        with labs.store.transaction() as session:
            session.run("UPDATE decision SET reward = 0.25 WHERE applied_version = :version", version=version)
        assert verified(labs).good is good
    assert verified(labs).first_difference == 11


TAMPERED = {
    "its state": "UPDATE checkpoint SET state = :other",
    "its version": "UPDATE version SET checksum = 'no' WHERE kind = 'checkpoint'",
    "what its version says": "UPDATE version SET detail = '{}' WHERE kind = 'checkpoint'",
    "its place": "UPDATE checkpoint SET version = 9",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_verification_checks_the_state_that_it_begins_with(
    labs: Lab, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    waiting = lived(labs)
    raise_rule(monkeypatch)
    labs.restart()
    told(labs, waiting)
    ((state,),) = labs.rows("SELECT state FROM checkpoint")
    other = msgspec.json.encode(with_other_chance(msgspec.json.decode(bytes(state))))
    sql = TAMPERED[what]
    with labs.store.transaction() as session:
        session.run(sql, **({"other": other} if ":other" in sql else {}))
    assert not verified(labs).good


@pytest.mark.parametrize("sql", ["DELETE FROM checkpoint", "DELETE FROM audit WHERE action = 'checkpoint'"])
def test_the_audit_has_an_entry_for_each_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    waiting = lived(labs)
    raise_rule(monkeypatch)
    labs.restart()
    told(labs, waiting[:1])
    with labs.store.transaction() as session:
        session.run(sql)
    with labs.store.reading() as session:
        assert broken_audit(session) is not None


def test_verification_of_a_state_that_waits_for_its_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(labs)
    raise_rule(monkeypatch)
    found = verified(labs)
    assert found.good and (found.older_rule, found.first, found.versions, found.learned) == (RULE, 10, 9, 0)
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :state", state=labs.state() + b" ")
    assert not verified(labs).good


# -- several workers, and kills -------------------------------------------------------------------------------------


def test_of_two_workers_one_writes_it(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hold the snapshot and the migrated learner of the version before."""
    waiting = lived(labs)
    raise_rule(monkeypatch)
    store, labs.clock = FaultyStore(labs.store, shared=True), StillClock()
    one, other = (Engine(store, labs.clock, Randomness(seed)) for seed in (1, 2))
    for worker in (one, other):
        worker.decide("x", allowed_arms=["a", "b"])
    one.reward(waiting[0], 0.5)
    one._apply(1)
    other.reward(waiting[1], 0.5)
    other._apply(1)  # straight to the pass, without the look before it
    other.add_arm("x", messages.NewArm(arm="d"))
    assert kinds(labs)[9:] == ["checkpoint", "rewards", "rewards", "arm_added"]
    assert verified(labs).identical


@pytest.mark.parametrize("first", ["pass", "change"])
@pytest.mark.parametrize("second", ["pass", "change"])
def test_two_workers_at_the_same_moment(
    workers: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """The first is stopped before its commit. The other waits for it, and finds the checkpoint written."""
    one = opened(workers, "first")
    two = str(workers[0].engine.decide("x").decision_id)
    raise_rule(monkeypatch)
    for worker in workers:
        worker.engine = Engine(worker.gate, worker.clock, worker.engine.randomness)
        worker.engine.work()  # tidies up, so that it does not later
    for decision in (one, two):
        workers[0].engine.reward(decision, 4.0)

    def deed(worker: Worker, what: str, arm: str) -> Callable[[], Any]:
        if what == "pass":
            return lambda: worker.engine._apply(1)
        return lambda: worker.engine.add_arm("x", messages.NewArm(arm=arm))

    with overtaken(workers[0], deed(workers[0], first, "c")) as leading:
        following = Task(deed(workers[1], second, "d"))
        assert not following.done(0.3)
    assert following.done() and not isinstance(leading.result, BaseException)
    assert not isinstance(following.result, BaseException), following.result
    workers[1].clock.time += WINDOW / 2
    for worker in workers:
        worker.engine.work()
        worker.engine.work()
    with workers[0].gate.reading() as session:
        found = [kind for _, kind, _ in session.rows(KINDS)]
        assert found[:2] == ["opened", "checkpoint"] and found.count("checkpoint") == 1
        assert found.count("rewards") == 1 and session.rows("SELECT SUM(n_learned) FROM version") == [(2,)]
        assert broken_audit(session) is None and verify(session, "x").identical


@pytest.mark.parametrize("deed", ["pass", "change"])
def test_a_crash_at_each_of_its_statements_leaves_nothing(
    labs: Lab, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    waiting = lived(labs)
    labs.store = store = FaultyStore(labs.store)
    raise_rule(monkeypatch)
    labs.restart().reward(waiting[0], 0.5)
    do = (lambda: labs.engine._apply(1)) if deed == "pass" else (lambda: labs.retire("c"))
    before, n_crashes = labs.everything(), 0
    while True:
        store.arm(n_crashes + 1, trouble=Crash)
        try:
            do()
            break
        except Crash:
            n_crashes += 1
            store.arm()
            labs.restart()
            assert labs.everything() == before
    assert n_crashes == store.count >= 15
    store.arm()
    assert kinds(labs)[9] == "checkpoint" and kinds(labs).count("checkpoint") == 1
    assert verified(labs).identical


def test_killed_in_the_middle_of_it(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends by kill -9 when the checkpoint is written, and the audit is not yet."""
    store = open_store(store_url)
    lab = Lab(store)
    waiting = lived(lab)
    lab.engine.reward(waiting[0], 0.5)
    before = lab.everything()
    if not store.shared:
        store.close()
    ended = subprocess.run([sys.executable, "-c", KILLED, store_url], timeout=120, check=False, cwd=ROOT)
    assert ended.returncode == -signal.SIGKILL
    lab.store = store if store.shared else open_store(store_url)
    assert lab.everything() == before
    raise_rule(monkeypatch)
    lab.restart()
    told(lab, waiting[1:])
    assert kinds(lab)[9:] == ["checkpoint", "rewards"]
    assert lab.rows("SELECT SUM(n_learned) FROM version") == [(12,)]
    assert verified(lab).identical
    lab.store.close()
