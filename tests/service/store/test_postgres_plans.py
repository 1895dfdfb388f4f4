"""What a batch reads does not grow with the log: plans are made while tables are empty, and must do for full ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.service.conftest import new_database
from turncoat.service import engine
from turncoat.service.experiments import early_rewards, learn, record, retention, rewards, waiting
from turncoat.service.experiments.aggregates import KEYS, SUMS
from turncoat.service.experiments.draw import COLUMNS
from turncoat.service.store.postgres import PostgresSession, PostgresStore

# Rows read on this connection and not yet reported to the server's statistics. A backend reports at most once per
# second, so that these counts include earlier transactions: only their growth belongs to the present one.
READ = """
    SELECT relname, seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
    WHERE seq_tup_read + idx_tup_fetch > 0
"""
N = 20_000
BATCH = [f"d{i:06}" for i in range(5_000, 5_010)]
UNITS = [f"u{i:06}" for i in range(5_000, 5_010)]


def statements(session: PostgresSession) -> None:
    """Every statement that is sent while decisions are made, rewards told and applied, for 10 of them."""
    session.rows(record.REPEATED, keys=UNITS)
    session.rows(record.HELD, units=UNITS)
    session.run(record.LET_GO, experiment=1, unit=UNITS[0], id=BATCH[0])
    session.rows(record.USED, ids=BATCH)
    session.rows(rewards.KNOWN, ids=BATCH)
    session.rows(rewards.EARLY, limit=10)
    session.rows(rewards.PARTS, ids=BATCH)
    session.rows(rewards.CLOSED, ids=BATCH)
    session.run(rewards.HOLD, ids=BATCH)
    session.run(rewards.WAIT_ON, now=1.0, ids=BATCH)
    session.rows(early_rewards.FOUND_SOME, ids=BATCH)
    session.rows(early_rewards.ORPHANS, before=1.0, limit=10)
    session.run(early_rewards.UNMARK, ids=BATCH)
    session.rows(early_rewards.TOLD, ids=BATCH)
    session.run(early_rewards.FORGET, ids=BATCH)
    session.run(early_rewards.CLAIM, experiment=1, ids=BATCH)
    session.run(engine.BEGIN_WINDOW, at=1.0, id=BATCH[0])
    session.rows(learn.DUE, experiment=1, now=10.0, limit=10)
    session.rows(learn.PENDING, experiment=1, limit=10)
    session.rows(waiting.WAITING, experiment=1, after=-1.0, limit=10)
    session.rows(waiting.GROWING, after=0.5)
    session.rows(learn.PLANNED, experiment=1, versions=[5_000, 5_001])
    session.rows(learn.PARTS, ids=BATCH)
    session.rows(rewards.PRUNED_TO)
    session.rows(retention.OLDEST_AT)
    session.rows(retention.OLDEST, experiment=1, first=5_000, limit=10)
    session.rows(retention.SO_FAR, experiment=1)
    session.run(retention.DELETE_STICKY, units=UNITS, ids=BATCH)
    session.run(retention.DELETE_PARTS, ids=BATCH)
    session.run(retention.DELETE_REFUSED, ids=BATCH)
    session.run(retention.DELETE_DECISIONS, ids=BATCH)
    session.run(retention.MARK, experiment=1, version=1, at=1.0)
    session.run(learn.TAKEN, ids=BATCH)
    session.update("decision", learn.CLOSING, [(one, "rewarded", 1.0, 1.0, None, 1, 1) for one in BATCH])
    rows = [(1, 10, int(one[1:]), "x", "learn", *[1] * len(SUMS)) for one in BATCH]
    session.add_up("bucket", KEYS, SUMS, rows)
    session.insert_new("inbox", early_rewards.INBOX, [(one, 1, 1.0, 1.0, None, "real") for one in BATCH], key=1)
    session.insert_new("decision", COLUMNS, [decision(i) for i in range(5_000, 5_010)], key=1)


def decision(i: int) -> tuple[object, ...]:
    return (f"d{i:06}", 1, "x", 0.5, None, None, 1, "learn", "split", None, None, 0.0, float(i))


@contextmanager
def emptied(store: PostgresStore) -> Iterator[PostgresSession]:
    """A transaction of which nothing is kept."""
    with pytest.raises(ZeroDivisionError), store.transaction() as session:  # noqa: PT012
        yield session
        raise ZeroDivisionError


@pytest.fixture
def postgres(request: pytest.FixtureRequest, migrated: str) -> Iterator[PostgresStore]:
    with new_database(request, like=migrated) as url:  # one of which PostgreSQL has no statistics
        store = PostgresStore(url)
        yield store
        store.close()


def test_what_a_batch_reads_does_not_grow_with_the_log(postgres: PostgresStore) -> None:
    for _ in range(6):  # long enough for any plan to be made for good
        with emptied(postgres) as session:
            statements(session)
    with postgres.transaction() as session:
        session.insert("inbox", early_rewards.INBOX, [(f"f{i:06}", 1, 1.0, 1.0, None, "real") for i in range(N)])
    with postgres.transaction() as session:
        session.run("DELETE FROM inbox")
    postgres.tidy()  # from now on PostgreSQL believes that there is next to nothing in it
    with postgres.transaction() as session:
        session.insert("decision", COLUMNS, [decision(i) for i in range(N)])
        closed = [(f"d{i:06}", "rewarded", 1.0, 1.0, None, 1, i) for i in range(0, N, 2)]
        session.update("decision", learn.CLOSING, closed)
        session.insert(
            "inbox", early_rewards.INBOX, [(f"d{i:06}", 1, 1.0, float(i), None, "real") for i in range(1, N, 2)]
        )
        session.insert(
            "inbox", early_rewards.INBOX, [(f"e{i:06}", None, None, 2.0 + i, None, "early") for i in range(N)]
        )
        session.insert(
            "refused", early_rewards.REFUSED, [(f"d{i:06}", None, None, 1.0, 1.0, "orphan") for i in range(N)]
        )
        session.insert("part", early_rewards.PART, [(f"d{i:06}", "", 1.0, 1.0, None) for i in range(N)])
        keys = ("experiment", "key", "body_hash", "answer", "expires_at")
        session.insert("idempotency", keys, [(1, f"u{i:06}", "", b"", 1.0) for i in range(N)])
        held = ("experiment", "unit", "decision_id", "answer")
        session.insert("sticky", held, [(1, f"u{i:06}", f"d{i:06}", b"") for i in range(N)])
        session.insert("version", learn.VERSION, [(1, i, 0.0, "rewards", None, 1, "{}", "", 1, None) for i in range(N)])
        session.insert("bucket", (*KEYS, *SUMS), [(1, 10, i, "x", "learn", *[1] * len(SUMS)) for i in range(N)])
    with emptied(postgres) as session:
        before: dict[str, int] = dict(session.rows(READ))
        statements(session)
        read = {table: n - before.get(table, 0) for table, n in session.rows(READ)}
    assert set(read) >= {"decision", "inbox", "part", "refused", "idempotency", "sticky", "bucket", "version"}
    assert {table: n for table, n in read.items() if n > 300} == {}  # of 20,000; some are read by several statements


def test_a_tidied_inbox_does_not_grow(postgres: PostgresStore) -> None:
    def size() -> int:
        with postgres.reading() as session:
            return int(session.rows("SELECT pg_relation_size('inbox')")[0][0])

    sizes = []
    for i in range(6):
        with postgres.transaction() as session:
            session.insert(
                "inbox", early_rewards.INBOX, [(f"{i}-{n}", 1, 1.0, 1.0, None, "real") for n in range(2_000)]
            )
        with postgres.transaction() as session:
            session.run("DELETE FROM inbox")
        postgres.tidy()
        sizes.append(size())
    assert sizes[-1] <= 1.5 * sizes[0]
    with postgres.reading() as session:
        assert session.rows("SHOW statement_timeout") == [("30s",)]
