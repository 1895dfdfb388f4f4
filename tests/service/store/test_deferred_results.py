"""What is sent now and read later: the same on both stores, though on one of them nothing travels."""

from __future__ import annotations

import pytest

from turncoat.service.store import Store, StoreError
from turncoat.service.store.interface import WriteConflict

COLUMNS = ("id", "n")
ONE = "SELECT n FROM scratch WHERE id = :id"
ALL = "SELECT id FROM scratch ORDER BY id"


def ids(store: Store) -> list[str]:
    with store.reading() as session:
        return [row[0] for row in session.rows(ALL)]


def test_answers_are_to_what_was_asked_in_whatever_order_they_are_read(scratch: Store) -> None:
    with scratch.transaction() as session:
        session.insert("scratch", COLUMNS, [(f"k{i}", i) for i in range(50)])
        sent = [session.send(ONE, id=f"k{i}") for i in range(50)]
        session.run("UPDATE scratch SET n = n + 1000")
        after = session.send(ONE, id="k7")
        assert after() == [(1007,)]
        assert [sent[i]() for i in (49, 0, 7)] == [[(49,)], [(0,)], [(7,)]]
        assert sent[7]() == [(7,)]  # as often as one likes


def test_what_nobody_reads_is_done(scratch: Store) -> None:
    with scratch.transaction() as session:
        session.insert("scratch", COLUMNS, [("a", 1), ("b", 2)])
        session.send("DELETE FROM scratch WHERE id = :id", id="a")
    assert ids(scratch) == ["b"]


def test_a_row_that_is_there_is_somebody_elses(scratch: Store) -> None:
    """Told at the end at the latest, and nothing is kept; the connection is as good as before."""
    with scratch.transaction() as session:
        session.insert("scratch", COLUMNS, [("a", 1)])
    for _ in range(3):
        with pytest.raises(WriteConflict), scratch.transaction() as session:  # noqa: PT012
            session.send("DELETE FROM scratch WHERE id = :id", id="nobody")
            session.insert("scratch", COLUMNS, [("b", 1), ("a", 2)])
        with pytest.raises(WriteConflict), scratch.transaction() as session:  # noqa: PT012
            session.insert("scratch", COLUMNS, [("a", 2)])
            session.rows(ALL)
        assert ids(scratch) == ["a"]


def test_a_missing_value_is_not_somebody_elses(scratch: Store) -> None:
    """Trying again would be in vain."""
    with pytest.raises(StoreError) as found, scratch.transaction() as session:
        session.insert("pairs", ("a", "b", "n", "x"), [(1, "b", None, 1.0)])
    assert not isinstance(found.value, WriteConflict)


@pytest.mark.parametrize("wrong", ["SELECT nonsense", "SELECT * FROM nowhere", "SELECT 'one"])
def test_statements_first_sent_behind_one_that_fails_can_be_sent_again(scratch: Store, wrong: str) -> None:
    for _ in range(2):
        with pytest.raises(StoreError), scratch.transaction() as session:  # noqa: PT012
            session.send(wrong)
            session.send("SELECT COUNT(*) FROM scratch")
            session.insert("scratch", COLUMNS, [("a", 1)])
            session.rows(ALL)
    with scratch.transaction() as session:
        assert session.rows("SELECT COUNT(*) FROM scratch") == [(0,)]
        session.insert("scratch", COLUMNS, [("a", 1)])
    assert ids(scratch) == ["a"]


def test_much_may_be_under_way_at_once(scratch: Store) -> None:
    """More than the buffers between us and a server hold, both ways."""
    text = "x" * 100_000
    with scratch.transaction() as session:
        session.insert("scratch", ("id", "note"), [(f"k{i:03}", text) for i in range(100)])
        sent = [session.send("SELECT note FROM scratch") for _ in range(3)]
        session.insert("scratch", ("id", "note"), [(f"l{i:03}", text) for i in range(100)])
        assert [len(one()) for one in sent] == [100, 100, 100]
    assert len(ids(scratch)) == 200
