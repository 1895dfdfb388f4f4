"""Several workers on one PostgreSQL database: who waits, who gets nothing, who is told to try again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from turncoat.service.store.interface import StoreError, WriteConflict
from turncoat.service.store.postgres import PostgresStore

EXPERIMENT = ("id", "key", "created_at", "config", "state", "revision", "version", "seed", "salt", "machine")


@pytest.fixture
def two(postgres_store_url: str) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    """Two workers' stores, with two experiments in them."""
    one, other = PostgresStore(postgres_store_url), PostgresStore(postgres_store_url)
    with one.transaction() as session:
        rows = [(number, f"e{number}", 0.0, "{}", "running", 0, 5, 1, "", "") for number in (1, 2)]
        session.insert("experiment", EXPERIMENT, rows)
    yield one, other
    one.close()
    other.close()


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """A thread for what has to wait."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def waits(future: Future[Any], url: str) -> bool:
    """Whether PostgreSQL reports that it waits for a lock."""
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(500):
            stuck = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            if connection.execute(stuck).fetchall():
                return not future.done()
            if future.done():
                return False
            time.sleep(0.01)
    return False


def added(store: PostgresStore, *names: str) -> set[tuple[Any, ...]]:
    with store.transaction() as session:
        return session.insert_new("fact", ("name", "value"), [(name, "") for name in names], key=1)


def test_who_adds_the_same_waits_and_then_gets_nothing(
    two: tuple[PostgresStore, PostgresStore], aside: ThreadPoolExecutor, postgres_store_url: str
) -> None:
    one, other = two
    with one.transaction() as session:
        assert session.insert_new("fact", ("name", "value"), [("a", "one's")], key=1) == {("a",)}
        later = aside.submit(added, other, "a", "b")
        assert waits(later, postgres_store_url)
    assert later.result(10) == {("b",)}
    with one.reading() as reading:
        assert reading.rows("SELECT value FROM fact WHERE name = 'a'") == [("one's",)]


def test_who_waited_for_one_that_failed_gets_it(
    two: tuple[PostgresStore, PostgresStore], aside: ThreadPoolExecutor, postgres_store_url: str
) -> None:
    one, other = two
    with pytest.raises(ValueError), one.transaction() as session:  # noqa: PT012
        session.insert_new("fact", ("name", "value"), [("a", "")], key=1)
        later = aside.submit(added, other, "a")
        assert waits(later, postgres_store_url)
        raise ValueError
    assert later.result(10) == {("a",)}


def test_an_experiment_that_somebody_has_is_passed_over(two: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = two
    with one.transaction() as mine:
        assert mine.lock_experiment(1)() == 5
        with other.transaction() as theirs:
            assert theirs.lock_experiment(1)() is None
            assert theirs.lock_experiment(2)() == 5
    with other.transaction() as theirs:
        assert theirs.lock_experiment(1)() == 5


def test_who_can_wait_gets_it_as_it_is_afterwards(
    two: tuple[PostgresStore, PostgresStore], aside: ThreadPoolExecutor, postgres_store_url: str
) -> None:
    one, other = two

    def wait() -> int | None:
        with other.transaction() as session:
            return session.lock_experiment(1, wait=True)()

    with one.transaction() as session:
        session.lock_experiment(1)()
        session.run("UPDATE experiment SET version = 6 WHERE id = 1")
        later = aside.submit(wait)
        assert waits(later, postgres_store_url)
    assert later.result(10) == 6


def test_what_a_look_has_prepared_stays_so(two: tuple[PostgresStore, PostgresStore]) -> None:
    """A failure later on is no reason to prepare it again, under another name, for as long as the connection lives."""
    one, _ = two
    count = "SELECT COUNT(*) FROM pg_prepared_statements"
    for _ in range(4):
        with one.reading() as session:
            assert session.rows("SELECT 1") == [(1,)]
            before = session.rows(count)
        with pytest.raises(StoreError), one.reading() as session:
            session.rows("SELECT nonsense")
    with one.reading() as session:
        assert session.rows("SELECT 1") == [(1,)]
        assert session.rows(count) == before


def test_who_has_looked_holds_nothing(two: tuple[PostgresStore, PostgresStore], postgres_store_url: str) -> None:
    """Ending a read is not waited for, but it happens: an open snapshot would block every vacuum."""
    one, _ = two
    for _ in range(3):
        with one.reading() as session:
            session.send("SELECT 1")
            assert session.rows("SELECT COUNT(*) FROM experiment") == [(2,)]
        with psycopg.connect(postgres_store_url, autocommit=True) as connection:
            held = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
            for _ in range(500):
                if not connection.execute(held).fetchall():
                    break
                time.sleep(0.01)
            else:
                pytest.fail("the transaction is still open")


def test_settings_are_changed_by_one_at_a_time(
    two: tuple[PostgresStore, PostgresStore], aside: ThreadPoolExecutor, postgres_store_url: str
) -> None:
    one, other = two

    def count() -> int:
        with other.transaction() as session:
            session.lock_settings()
            return len(session.rows("SELECT * FROM fact"))

    with one.transaction() as session:
        session.lock_settings()
        later = aside.submit(count)
        assert waits(later, postgres_store_url)
        session.insert("fact", ("name", "value"), [("a", "")])
    assert later.result(10) == 1


def test_two_that_wait_for_each_other_are_told_to_try_again(
    two: tuple[PostgresStore, PostgresStore], aside: ThreadPoolExecutor, postgres_store_url: str
) -> None:
    one, other = two
    touch = "UPDATE experiment SET revision = revision + 1 WHERE id = :id"

    def both(store: PostgresStore, between: Callable[[], object]) -> bool:
        numbers = (1, 2) if store is one else (2, 1)
        try:
            with store.transaction() as session:
                session.run(touch, id=numbers[0])
                between()
                session.run(touch, id=numbers[1])
        except WriteConflict:
            return False
        return True

    started: list[Future[bool]] = []

    def meanwhile() -> None:
        started.append(aside.submit(both, other, lambda: None))
        assert waits(started[0], postgres_store_url)

    outcomes = [both(one, meanwhile), started[0].result(10)]
    assert sorted(outcomes) == [False, True]
    with one.reading() as session:
        assert session.rows("SELECT revision FROM experiment") == [(1,), (1,)]
    assert both(one, lambda: None) and both(other, lambda: None)  # the same again will do


def test_threads_of_one_worker_write_one_after_the_other(two: tuple[PostgresStore, PostgresStore]) -> None:
    store = two[0]

    def count_up(_: int) -> None:
        with store.transaction() as session:
            ((n,),) = session.rows("SELECT revision FROM experiment WHERE id = 1")
            session.run("UPDATE experiment SET revision = :n WHERE id = 1", n=n + 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, range(80)))
    with store.reading() as session:
        assert session.rows("SELECT revision FROM experiment WHERE id = 1") == [(80,)]


def test_a_transaction_inside_another_is_refused_not_mixed_with_it(two: tuple[PostgresStore, PostgresStore]) -> None:
    store = two[0]
    with store.transaction() as session:
        session.run("UPDATE experiment SET revision = 1")
        with pytest.raises(StoreError, match="open already"), store.transaction():
            pass
    with store.reading() as session:
        assert session.rows("SELECT revision FROM experiment") == [(1,), (1,)]
