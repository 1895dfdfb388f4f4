"""All of it or nothing, both stores."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from turncoat.service.store import Store, StoreError, open_store

PUT = "INSERT INTO fact (name, value) VALUES (:name, :value)"
NAMES = "SELECT name FROM fact ORDER BY name"


def names(store: Store) -> list[str]:
    with store.reading() as session:
        return [name for (name,) in session.rows(NAMES)]


def put(store: Store, *some: str) -> None:
    with store.transaction() as session:
        session.insert("fact", ("name", "value"), [(name, "") for name in some])


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_raises_leaves_nothing_behind(store: Store, raised: type[BaseException]) -> None:
    put(store, "a")
    with pytest.raises(raised), store.transaction() as session:  # noqa: PT012
        session.run(PUT, name="b", value="")
        assert session.rows(NAMES) == [("a",), ("b",)]
        raise raised
    assert names(store) == ["a"]
    put(store, "c")
    assert names(store) == ["a", "c"]


def test_a_statement_that_fails_leaves_nothing_behind_and_the_next_transaction_works(store: Store) -> None:
    put(store, "a")
    for sql in (PUT, "SELECT nonsense FROM nowhere"):
        with pytest.raises(StoreError), store.transaction() as session:  # noqa: PT012
            session.run(PUT, name="b", value="")
            session.run(sql, name="a", value="") if sql is PUT else session.rows(sql)
    put(store, "c")
    assert names(store) == ["a", "c"]


def test_a_failure_that_is_swallowed_is_not_taken_for_a_commit(store: Store) -> None:
    """PostgreSQL answers COMMIT with a quiet ROLLBACK once a statement has failed: it must not look like success."""
    put(store, "a")
    kept = True
    try:
        with store.transaction() as session:
            session.run(PUT, name="b", value="")
            with suppress(Exception):
                session.run(PUT, name="a", value="")
    except StoreError:
        kept = False
    assert names(store) == (["a", "b"] if kept else ["a"])
    put(store, "c")


def test_one_transaction_at_a_time(store: Store) -> None:
    with store.transaction() as session:
        session.run(PUT, name="a", value="")
        with pytest.raises(StoreError), store.transaction():
            pass
        session.run(PUT, name="b", value="")
    assert names(store) == ["a", "b"]


def test_who_reads_sees_one_moment_and_nothing_unfinished(store: Store) -> None:
    put(store, "a")
    with store.reading() as session:
        assert session.rows(NAMES) == [("a",)]
        put(store, "b")
        assert session.rows(NAMES) == [("a",)]
    with store.transaction() as writing:
        writing.run(PUT, name="c", value="")
        assert names(store) == ["a", "b"]
    assert names(store) == ["a", "b", "c"]


def test_who_reads_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError), store.reading() as session:
        session.run(PUT, name="a", value="")
    assert names(store) == []
    put(store, "b")
    assert names(store) == ["b"]


def test_a_reader_that_raises_harms_nobody(store: Store) -> None:
    put(store, "a")
    for _ in range(20):
        with pytest.raises(StoreError), store.reading() as session:
            session.rows("SELECT nonsense FROM nowhere")
        with pytest.raises(ValueError), store.reading():
            raise ValueError
    assert names(store) == ["a"]


def test_many_threads_read_while_one_writes(store: Store) -> None:
    done = threading.Event()

    def look() -> int:
        looks, seen = 0, 0
        while not done.is_set() or not looks:
            now = len(names(store))
            assert now >= seen and now % 2 == 0
            looks, seen = looks + 1, now
        return looks

    with ThreadPoolExecutor(12) as pool:
        looking = [pool.submit(look) for _ in range(12)]
        for i in range(20):
            put(store, f"{i:03}a", f"{i:03}b")
        done.set()
        assert all(one.result(60) > 0 for one in looking)
    assert len(names(store)) == 40


def test_what_is_kept_is_there_when_opened_again(store_url: str) -> None:
    first = open_store(store_url)
    put(first, "a")
    first.close()
    second = open_store(store_url)
    assert names(second) == ["a"]
    second.close()


def test_a_store_that_was_closed_is_refused(store_url: str) -> None:
    store = open_store(store_url)
    put(store, "a")
    assert names(store) == ["a"]
    store.close()
    store.close()
    with pytest.raises(StoreError):
        put(store, "b")
    with pytest.raises(StoreError):
        names(store)
    again = open_store(store_url)
    assert names(again) == ["a"]
    again.close()


def test_a_backup_is_whole_and_never_written_over(store: Store, tmp_path: Path) -> None:
    put(store, "a")
    copy = tmp_path / "copy"
    with store.reading():  # others go on meanwhile
        store.backup(copy)
    assert copy.stat().st_size > 0
    assert copy.stat().st_mode & 0o777 == 0o600  # it holds contexts, and what keys are known by
    before = copy.read_bytes()
    put(store, "b")
    with pytest.raises(StoreError, match="exists already"):
        store.backup(copy)
    assert copy.read_bytes() == before
    if not store.shared:
        restored = open_store(str(copy))
        assert names(restored) == ["a"]
        restored.close()


def test_tidying_up_changes_nothing_and_holds_nobody_up(store: Store) -> None:
    put(store, "a")
    with store.transaction() as session:
        session.run(PUT, name="b", value="")
        store.tidy()
        session.run(PUT, name="c", value="")
    with store.reading() as reading:
        store.tidy()
        assert len(reading.rows(NAMES)) == 3
    assert names(store) == ["a", "b", "c"]
