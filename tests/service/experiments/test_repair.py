"""`repair` writes the learner that the log says, and only then; `verify` names every damaged part."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.experiments.damaging import DAMAGES, damage, taught
from tests.service.experiments.lab import Lab, raise_rule
from turncoat.service import messages
from turncoat.service.errors import Conflicting, NotFound
from turncoat.service.experiments import repair as repairing
from turncoat.service.experiments import snapshot_cache, verify
from turncoat.service.experiments.repair import repair
from turncoat.service.experiments.retention import DAY, prune
from turncoat.service.experiments.snapshot_cache import checksum
from turncoat.service.experiments.verify import Verified, broken_audit
from turncoat.service.store.interface import Session


def lived(lab: Lab) -> None:
    """Rewards, an arm that comes, one that goes, several rewards at once, an open decision; and another experiment."""
    lab.open("x", arms=["a", "b", "c"], default_reward=0.25)
    lab.open("other")
    taught(lab, "x")
    lab.engine.add_arm("x", messages.NewArm(arm="d", floor=0.05))
    ids = [str(lab.engine.decide("x", allowed_arms=["a", "d"] if i % 2 else None).decision_id) for i in range(8)]
    for one in ids:
        lab.engine.reward(one, 0.75)
    lab.work()
    lab.retire("b")
    taught(lab, "x", 3)
    lab.engine.decide("x", context={"a": 1}, unit_id="u", sticky=True, idempotency_key="k")


def verified(lab: Lab, key: str = "x") -> Verified:
    with lab.store.reading() as session:
        return verify.verify(session, key)


def fixed(lab: Lab) -> None:
    """All is as the log says, and it goes on."""
    found = verified(lab)
    assert found.identical and found.findings == ()
    with lab.store.reading() as session:
        assert broken_audit(session) is None
    engine = lab.restart()
    engine.reward(str(engine.decide("x").decision_id), 1.0)
    lab.work()
    assert verified(lab).identical


@pytest.mark.parametrize("part", ["learner", "snapshot"])
def test_what_was_lost_is_written_again(labs: Lab, part: str) -> None:
    lived(labs)
    state, ((served, kept),) = (
        labs.state(),
        labs.rows(
            "SELECT v.probabilities, l.checksum FROM version v JOIN experiment e ON e.id = v.experiment "
            "AND e.version = v.version JOIN learner l ON l.experiment = e.id WHERE e.key = 'x'"
        ),
    )
    before, revision = labs.engine.experiment("x").version, labs.engine.experiment("x").revision
    damage(labs, part)
    assert not verified(labs).good
    done = repair(labs.store, labs.clock.now(), "x", actor="boss")
    assert (done.version, done.learned, done.is_exact, done.others) == (before + 1, 16, True, [])
    assert labs.state() == state and checksum(state) == kept
    versions = labs.rows("SELECT kind, n_learned, probabilities, checksum FROM version WHERE experiment = 1 "
                         "ORDER BY version")  # fmt: skip
    assert versions[-1] == ("repaired", 0, served, kept) and versions[-2][2] == served  # the damaged row, too
    assert labs.engine.timeline("x")[-1].kind == "repaired" and labs.engine.experiment("x").revision == revision
    entry = labs.engine.audit("x")[-1]
    assert (entry.actor, entry.action) == ("boss", "repair")
    assert entry.after == {"version": before + 1, "checksum": kept}
    assert entry.before["version"] == before and len(entry.before["damage"]) >= 1
    fixed(labs)


def test_a_learner_of_which_nothing_is_left_to_decode(labs: Lab) -> None:
    lived(labs)
    state = labs.state()
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :bad, checksum = '', rule = rule WHERE experiment = 1", bad=b"\xff")
    assert repair(labs.store, labs.clock.now(), "x").is_exact
    assert labs.state() == state
    fixed(labs)


def test_after_a_checkpoint(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older rule learned is not replayed: the learner is rebuilt from the checkpoint."""
    lived(labs)
    raise_rule(monkeypatch)
    labs.restart()
    taught(labs, "x", 3)
    state = labs.state()
    damage(labs, "learner")
    done = repair(labs.store, labs.clock.now(), "x")
    assert done.learned == 3 and labs.state() == state
    fixed(labs)


def test_after_pruning(labs: Lab) -> None:
    """Versions and decisions before the checkpoint are gone: nothing of them is missed."""
    lived(labs)
    labs.clock.move(3.0 * DAY)
    assert sum(prune(labs.store, labs.clock.now(), 1, 1.0, "boss")) > 10
    labs.restart()
    taught(labs, "x", 3)
    state = labs.state()
    damage(labs, "learner")
    done = repair(labs.store, labs.clock.now(), "x")
    assert done.version is not None and done.is_exact and done.others == [] and labs.state() == state
    fixed(labs)


def test_a_dry_run_and_a_sound_experiment_write_nothing(labs: Lab) -> None:
    lived(labs)
    before = labs.everything()
    sound = repair(labs.store, labs.clock.now(), "x")
    assert (sound.version, sound.damaged, sound.others, sound.learned) == (None, [], [], 16)
    assert labs.everything() == before
    damage(labs, "learner")
    before = labs.everything()
    tried = repair(labs.store, labs.clock.now(), "x", dry_run=True)
    assert tried.version is None and [str(one) for one in tried.damaged] == [
        "learner: its state is not as it was written (the checksum differs)"
    ]
    assert labs.everything() == before
    with pytest.raises(NotFound, match="no experiment 'nobody'"):
        repair(labs.store, labs.clock.now(), "nobody")


TAUGHT = "stream = 'learn' AND reward IS NOT NULL AND experiment = 1"
ONE = f"SELECT MIN(id) FROM decision WHERE {TAUGHT} AND reward <> 0.5"
SOURCES = {
    "settings": ("UPDATE experiment SET config = '{}' WHERE id = 1", "settings: they cannot be read"),
    "arm": ("UPDATE arm SET payload = '' WHERE arm = 'c'", "arm 'c': it cannot be used"),
    "change": ("UPDATE version SET detail = '{' WHERE kind = 'arm_added'", "its change of an arm cannot be read"),
    "version": ("DELETE FROM version WHERE experiment = 1 AND version = 3", "version 3: missing"),
    "decision": (f"DELETE FROM decision WHERE id = ({ONE})", "it learned from 1 decisions, and there are 0"),
    "allowed": (f"UPDATE decision SET allowed = '[1' WHERE id = ({ONE})", "it was drawn from cannot be read"),
    "propensity": (f"UPDATE decision SET propensity = 0.9 WHERE id = ({ONE})", "its propensity is 0.9, and its arm"),
    "reward": (f"UPDATE decision SET reward = 1.0 - reward WHERE id = ({ONE})", "it leads to another state than"),
    "first": ("UPDATE learner SET first_state = :bad", "its first state is not as it was written"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_where_the_log_is_damaged_too_nothing_is_written(labs: Lab, source: str) -> None:
    """The learner would be another one than the one that was lost."""
    lived(labs)
    damage(labs, "learner")
    statement, said = SOURCES[source]
    with labs.store.transaction() as session:
        values = {"bad": labs.state("other")} if ":bad" in statement else {}
        assert session.run(statement, **values) >= 1
    before = labs.everything()
    with pytest.raises(Conflicting, match=r"does not say for sure what was learned .*restore a backup") as refused:
        repair(labs.store, labs.clock.now(), "x")
    assert said in refused.value.detail
    assert labs.everything() == before
    found = verified(labs)
    assert not found.good and any("its state is not as it was written" in str(one) for one in found.findings)
    assert source == "reward" or any(said in str(one) for one in found.findings)
    assert verified(labs, "other").good


def test_on_another_machine_it_is_repaired_by_the_numbers(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the last digits may differ, so that no checksum can say that it is the one that was lost."""
    lived(labs)
    for module in (snapshot_cache, verify, repairing):
        monkeypatch.setattr(module, "machine", lambda: "another")
    damage(labs, "learner")
    with labs.store.transaction() as session:  # as if other digits had been written there
        session.run("UPDATE version SET checksum = 'other' WHERE experiment = 1 AND version > 1")
    done = repair(labs.store, labs.clock.now(), "x")
    assert done.version is not None and not done.is_exact
    found = verified(labs)
    assert found.good and not found.same_machine
    monkeypatch.undo()
    assert verified(labs).good  # compared to 1e-9 here, too


def test_it_waits_for_no_one_and_takes_what_was_learned_meanwhile(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service, whose learner is whole in memory, learns while the log is replayed."""
    lived(labs)
    with labs.store.transaction() as session:
        DAMAGES["snapshot"](session, 1)
    plan, turns = repairing._plan, [0]

    def slow(session: Session, key: str) -> Any:
        made = plan(session, key)
        turns[0] += 1
        if turns[0] == 1:
            taught(labs, "x", 1)
        return made

    monkeypatch.setattr(repairing, "_plan", slow)
    done = repair(labs.store, labs.clock.now(), "x")
    assert turns == [2] and done.learned == 17
    assert done.version is None and [str(one)[:7] for one in done.others] == ["version"]  # mended by learning itself


def test_what_is_not_rebuilt_is_named(labs: Lab) -> None:
    """Rows that no learner depends on."""
    lived(labs)
    with labs.store.transaction() as session:
        session.run("UPDATE decision SET context = '{' WHERE context IS NOT NULL")
        session.run("UPDATE version SET probabilities = '{\"a\": 2}' WHERE experiment = 1 AND version = 2")
        session.run("UPDATE idempotency SET answer = :bad", bad=b"[")
        session.run("UPDATE sticky SET answer = :bad", bad=b"[")
    found = [str(one) for one in verified(labs).findings]
    for part in ("decision ", "version 2: its probabilities", "the answer kept for the Idempotency-Key 'k'", "unit"):
        assert any(part in one for one in found), (part, found)
    assert verified(labs).identical and not verified(labs).good
    assert len(repair(labs.store, labs.clock.now(), "x").others) == len(found)


def test_published_probabilities_that_are_not_the_learner_s(labs: Lab) -> None:
    """They are a distribution, and are served; but the learner says another one."""
    lived(labs)
    with labs.store.transaction() as session:
        session.run("UPDATE version SET probabilities = :other WHERE experiment = 1 "
                    "AND version = (SELECT version FROM experiment WHERE id = 1)",
                    other='{"a":0.5,"c":0.25,"d":0.25}')  # fmt: skip
        session.run("DELETE FROM decision WHERE applied_version IS NULL")
    assert "the probabilities of version 12 are not the learner's" in str(verified(labs).findings)
    assert repair(labs.store, labs.clock.now(), "x").version == 13
    fixed(labs)
