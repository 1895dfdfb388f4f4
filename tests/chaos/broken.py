"""Ways to break the service on purpose: the checker must find each, or it would find nothing else either.

early     answers go out before the commit, which never comes after the first few; a restarted process commits
cursor    the applier looks only for rewards that came after the last one it has applied
twice     a reward told again counts again
forget    an idempotency key is forgotten at once
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from turncoat.service.experiments import learn, record, rewards
from turncoat.service.store import sqlite

COMMITTED = 9  # transactions that `early` commits: the experiments must be there


def _early() -> None:
    n = 0
    sound: Any = sqlite.SQLiteStore.transaction

    @contextmanager
    def transaction(store: sqlite.SQLiteStore) -> Iterator[sqlite.SQLiteSession]:
        nonlocal n
        writer = store._writer
        if n == 0 and writer.execute("SELECT 1 FROM sqlite_master WHERE name = 'decision'").fetchone():
            sqlite.SQLiteStore.transaction = sound  # type: ignore[method-assign]
            with sound(store) as session:
                yield session
            return
        n += 1
        if not writer.in_transaction:
            writer.execute("BEGIN IMMEDIATE")
        yield sqlite.SQLiteSession(writer)
        if n <= COMMITTED:
            writer.execute("COMMIT")

    sqlite.SQLiteStore.transaction = transaction  # type: ignore[assignment,method-assign]


def _cursor() -> None:
    seen = "SELECT MAX(rewarded_at) FROM decision WHERE experiment = :experiment AND outcome = 'rewarded'"
    behind = f"AND i.received_at > COALESCE(({seen}), 0) ORDER BY"
    learn.PENDING = learn.PENDING.replace("ORDER BY", behind)


def _twice() -> None:
    is_good: Any = learn._Pass._is_good

    def over(known: rewards.KnownDecision, now: float) -> bool:
        return known.expires_at is not None and known.expires_at <= now

    rewards.KnownDecision.is_over = over  # type: ignore[assignment,method-assign]
    learn._Pass._is_good = lambda self, one: is_good(self, one._replace(applied_version=None))  # type: ignore[method-assign]


def _forget() -> None:
    record._Recording._asked_before = lambda self: {}  # type: ignore[method-assign]
    write: Any = record._Recording._add

    def add(self: Any, table: str, *arguments: Any) -> None:
        if table != "idempotency":
            write(self, table, *arguments)

    record._Recording._add = add  # type: ignore[assignment,method-assign]


BREAKAGES: dict[str, Callable[[], None]] = {"early": _early, "cursor": _cursor, "twice": _twice, "forget": _forget}
