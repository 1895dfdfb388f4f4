"""A unit is erased: nothing stored leads to it any more, and learners are verified as before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.experiments.faults import Crash, FaultyStore
from tests.service.experiments.lab import TABLES, Lab
from tests.service.experiments.test_retention import days, lived, stored, verified
from turncoat.service import messages
from turncoat.service.errors import NotFound, Unprocessable
from turncoat.service.experiments import erasure
from turncoat.service.experiments.randomness import unit_hash


def opened(lab: Lab) -> None:
    for key in ("x", "y"):
        lab.open(key, keep_days=2.0)


def used(lab: Lab, unit: str, key: str = "x") -> list[str]:
    """A unit with decisions that are closed, open, sticky and asked for with an Idempotency-Key; their ids."""
    ids = lived(lab, 3, key, unit_id=unit, context={"of": unit})
    for number, sticky in enumerate((False, True, True)):
        name = f"{key}-{unit[0]}-{number}"
        decided = lab.engine.decide(key, unit_id=unit, context={"of": unit}, sticky=sticky, idempotency_key=name)
        ids.append(str(decided.decision_id))
    return sorted(set(ids))


def traces(lab: Lab, unit: str, key: str = "x") -> set[str]:
    """Tables with a row that holds the unit's hash, or its context."""
    ((salt,),) = lab.rows("SELECT salt FROM experiment WHERE key = :key", key=key)
    found = set()
    for table in TABLES:
        for row in lab.rows(f"SELECT * FROM {table}"):
            text = " ".join(map(str, row))
            if unit_hash(salt, unit) in text or unit in text:
                found.add(table)
    return found


def test_hash_and_contexts_go_and_everything_else_stays(labs: Lab) -> None:
    opened(labs)
    anna, bert = used(labs, "anna"), used(labs, "bert")
    assert traces(labs, "anna") == {"decision", "sticky"}
    before = {line.decision_id: line for line in labs.engine.log("x")}
    state = labs.state()
    erased = labs.engine.erase("anna", actor="boss")
    assert erased == messages.Erased(decisions=len(anna), sticky=1, answers=3)
    assert traces(labs, "anna") == set()
    for line in labs.engine.log("x"):
        was = before[line.decision_id]
        assert (line.unit, line.context) == ((None, None) if line.decision_id in anna else (was.unit, was.context))
        for name in ("arm", "propensity", "probabilities", "reward", "outcome", "stream", "decided_at", "m"):
            assert getattr(line, name) == getattr(was, name)
    assert labs.state() == state and verified(labs).identical
    assert stored(labs) == {*anna, *bert}
    assert labs.rows("SELECT COUNT(*) FROM sticky") == [(1,)] and labs.rows(
        "SELECT key FROM idempotency ORDER BY key"
    ) == [("x-b-0",), ("x-b-1",), ("x-b-2",)]


def test_the_audit_says_so_without_the_unit(labs: Lab) -> None:
    opened(labs)
    anna = used(labs, "anna")
    revision = labs.engine.experiment("x").revision
    labs.engine.erase("anna", experiment="x", actor="boss")
    entry = labs.engine.audit("x")[-1]
    assert (entry.actor, entry.action, entry.before) == ("boss", "erase unit", None)
    assert entry.after == {"decisions": len(anna), "sticky": 1, "answers": 3}
    assert labs.engine.experiment("x").revision == revision and verified(labs).identical
    with labs.store.transaction() as session:
        session.run("DELETE FROM audit WHERE action = 'erase unit'")
    with pytest.raises(AssertionError):
        verified(labs)


def test_open_decisions_are_learned_from_as_before(labs: Lab) -> None:
    """The unit itself is as one that was never seen."""
    opened(labs)
    still_open = used(labs, "anna")[-2:]
    labs.engine.erase("anna")
    for one in still_open:
        assert labs.engine.reward(one, 1.0).status == "accepted"
        labs.work()
        assert labs.engine.decision(one).outcome == "rewarded" and labs.engine.decision(one).context is None
    assert verified(labs).identical and verified(labs).learned == 3 + len(still_open)
    again = labs.engine.decide("x", unit_id="anna", sticky=True, idempotency_key="x-a-1")
    assert again.decision_id not in still_open and again.reason != "sticky"


def test_in_one_experiment_or_in_all(labs: Lab) -> None:
    opened(labs)
    for key in ("x", "y"):
        used(labs, "anna", key)
    labs.engine.erase("anna", experiment="y")
    assert traces(labs, "anna", "x") >= {"decision", "sticky"}
    assert unitless(labs, "y") and not unitless(labs, "x")
    labs.engine.erase("anna")
    assert unitless(labs, "y") and unitless(labs, "x")
    assert [len(labs.engine.audit(key)) for key in ("x", "y")] == [2, 2]
    assert verified(labs, "y").identical


def unitless(lab: Lab, key: str) -> bool:
    return all(line.unit is None and line.context is None for line in lab.engine.log(key))


def test_it_can_be_repeated(labs: Lab) -> None:
    opened(labs)
    used(labs, "anna")
    assert labs.engine.erase("anna").decisions > 0
    before = labs.everything()
    nothing = messages.Erased(decisions=0, sticky=0, answers=0)
    assert labs.engine.erase("anna") == labs.engine.erase("nobody") == nothing
    assert labs.everything() == before


def test_what_was_pruned_is_erased_already(labs: Lab) -> None:
    opened(labs)
    ids = used(labs, "anna")
    days(labs, 0.1)
    days(labs, 2.0)
    late = str(labs.engine.decide("x", unit_id="anna", context={"of": "anna"}).decision_id)
    assert stored(labs) == {late} and traces(labs, "anna") == {"decision"}
    assert labs.engine.erase("anna").decisions == 1
    assert traces(labs, "anna") == set() and verified(labs).identical and len(ids) > 3


def test_more_than_a_page_and_a_batch(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(labs)
    ids = [*used(labs, "anna"), *used(labs, "bert"), *lived(labs, 4)]
    monkeypatch.setattr(erasure, "PAGE", 2)
    monkeypatch.setattr(erasure, "MOST", 2)
    assert labs.engine.erase("anna") == messages.Erased(decisions=5, sticky=1, answers=3)
    assert [entry.after["decisions"] for entry in labs.engine.audit("x")[1:]] == [2, 2, 1]
    assert verified(labs).identical and len(ids) == 14


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_crash_at_each_of_its_statements(labs: Lab, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """What is left is found when it is repeated."""
    opened(labs)
    used(labs, "anna")
    monkeypatch.setattr(erasure, "MOST", batch)
    labs.store = store = FaultyStore(labs.store)
    n = 0
    while True:
        labs.restart()
        store.arm(n + 1, trouble=Crash)
        try:
            labs.engine.erase("anna")
        except Crash:
            n += 1
            has_begun = store.n_committed > 0
            store.disarm()
            assert verified(labs).identical
            if has_begun and unitless(labs, "x"):
                used(labs, "anna")
        else:
            break
    store.disarm()
    assert n > 10 and unitless(labs, "x") and verified(labs).identical
    assert labs.rows("SELECT COUNT(*) FROM sticky") == labs.rows("SELECT COUNT(*) FROM idempotency") == [(0,)]


@pytest.mark.parametrize(("given", "field"), [({"unit_id": ""}, "unit_id"), ({"unit_id": "u" * 256}, "unit_id")])
def test_bad_values_are_named(lab: Lab, given: dict[str, Any], field: str) -> None:
    opened(lab)
    with pytest.raises(Unprocessable, match=field):
        lab.engine.erase(**given)
    with pytest.raises(NotFound, match="'nowhere'"):
        lab.engine.erase("anna", experiment="nowhere")
