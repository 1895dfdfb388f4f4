"""Every change is written down, and nothing can be changed in what was written without a trace."""

from __future__ import annotations

import pytest

from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.errors import Stale
from turncoat.service.experiments import audit
from turncoat.service.experiments.verify import broken_audit

ALTERED = {
    "at": "at + 1.0",
    "actor": "'somebody else'",
    "action": "'open'",
    "experiment": "'y'",
    "before": "'{}'",
    "after": "'{}'",
    "previous_hash": "'" + "0" * 64 + "'",
    "hash": "'" + "0" * 64 + "'",
    "seq": "seq + 100",
}


def busy(lab: Lab) -> None:
    lab.open()
    lab.engine.add_arm("x", messages.NewArm(arm="c", payload={"é": [1.5]}), actor="anna")
    lab.engine.change("x", messages.ExperimentChange(holdout_share=0.1), actor="bert")
    lab.pause("c")
    lab.engine.change("x", messages.ExperimentChange(state="stopped"))
    lab.engine.change_arm("x", "c", messages.ArmChange(payload="new"))


def first_broken(lab: Lab) -> int | None:
    with lab.store.reading() as session:
        return broken_audit(session)


def test_who_changed_what(labs: Lab) -> None:
    busy(labs)
    entries = labs.engine.audit("x")
    assert [entry.action for entry in entries] == ["open", "add arm", "change", "change arm", "change", "change arm"]
    assert [entry.actor for entry in entries] == ["local", "anna", "bert", "local", "local", "local"]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[2].before == {"holdout_share": 0.0} and entries[2].after == {"holdout_share": 0.1}
    assert entries[5].before == {"arm": "c", "payload": {"é": [1.5]}} and entries[5].after["payload"] == "new"
    assert first_broken(labs) is None


def test_what_is_refused_is_not_written_down(labs: Lab) -> None:
    busy(labs)
    with pytest.raises(Stale, match="If-Match is 1; 'x' is at revision 6 now"):
        labs.engine.change("x", messages.ExperimentChange(holdout_share=0.5), if_revision=1)
    assert len(labs.engine.audit()) == 6 and labs.engine.experiment("x").revision == 6


@pytest.mark.parametrize("column", ALTERED)
@pytest.mark.parametrize("seq", [2, 6])
def test_an_altered_entry(labs: Lab, column: str, seq: int) -> None:
    busy(labs)
    with labs.store.transaction() as session:
        assert session.run(f"UPDATE audit SET {column} = {ALTERED[column]} WHERE seq = {seq}") == 1
    assert first_broken(labs) == seq


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_deleted_entry(labs: Lab, seq: int) -> None:
    busy(labs)
    with labs.store.transaction() as session:
        session.run("DELETE FROM audit WHERE seq = :seq", seq=seq)
    assert first_broken(labs) == seq


@pytest.mark.parametrize("last", [5, 3, 0])
def test_entries_cut_off_at_the_end(labs: Lab, last: int) -> None:
    """The chain that is left is whole. Every revision of an experiment has its entry, though, so some are missing."""
    busy(labs)
    with labs.store.transaction() as session:
        session.run("DELETE FROM audit WHERE seq > :last", last=last)
    assert first_broken(labs) == last + 1


@pytest.mark.parametrize("moved", [False, True])
def test_swapped_entries(labs: Lab, moved: bool) -> None:
    """Two change places, with their numbers or without."""
    busy(labs)
    columns = [name for name in audit.COLUMNS if moved or name not in ("seq", "previous_hash", "hash")]
    rows = {seq: labs.rows(f"SELECT {', '.join(audit.COLUMNS)} FROM audit WHERE seq = {seq}")[0] for seq in (3, 4)}
    with labs.store.transaction() as session:
        session.run("DELETE FROM audit WHERE seq IN (3, 4)")
        for seq, other in ((3, 4), (4, 3)):
            mixed = dict(zip(audit.COLUMNS, rows[seq], strict=True))
            mixed |= {name: dict(zip(audit.COLUMNS, rows[other], strict=True))[name] for name in columns}
            session.insert("audit", audit.COLUMNS, [tuple((mixed | {"seq": seq}).values())])
    assert first_broken(labs) == 3


@pytest.mark.parametrize("chained", [False, True])
def test_an_inserted_entry(labs: Lab, chained: bool) -> None:
    """Put between two others, even with a hash that fits the one before."""
    busy(labs)
    with labs.store.transaction() as session:
        session.run("UPDATE audit SET seq = seq + 1 WHERE seq = 6")
        session.run("UPDATE audit SET seq = seq + 1 WHERE seq = 5")
        before = session.rows("SELECT hash FROM audit WHERE seq = 4")[0][0]
        row = (5, labs.clock.now(), "mallory", "change", "x", "{}", "{}", before if chained else "0" * 64)
        session.insert("audit", audit.COLUMNS, [(*row, audit.hash_of(row))])
    assert first_broken(labs) == (6 if chained else 5)
