"""Ways to break the service on purpose: the checker must find each, or it would find nothing else either.

early     answers go out before the commit, which follows every fiftieth batch
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


def _early() -> None:
    n = 0

    @contextmanager
    def transaction(store: sqlite.SQLiteStore) -> Iterator[sqlite.SQLiteSession]:
        nonlocal n
        n += 1
        writer = store._writer
        if not writer.in_transaction:
            writer.execute("BEGIN IMMEDIATE")
        yield sqlite.SQLiteSession(writer)
        if n < 10 or n % 50 == 0:
            writer.execute("COMMIT")

    sqlite.SQLiteStore.transaction = transaction  # type: ignore[assignment,method-assign]


def _cursor() -> None:
    seen = "SELECT MAX(rewarded_at) FROM decision WHERE experiment = :experiment AND outcome = 'rewarded'"
    behind = f"AND i.received_at > COALESCE(({seen}), 0) ORDER BY"
    learn.PENDING = learn.PENDING.replace("ORDER BY", behind)


def _twice() -> None:
    is_good: Any = learn._Pass._is_good

    def over(known: rewards.Known, now: float) -> bool:
        return known.expires_at is not None and known.expires_at <= now

    rewards.Known.is_over = over  # type: ignore[assignment,method-assign]
    learn._Pass._is_good = lambda self, one: is_good(self, one._replace(applied_version=None))  # type: ignore[method-assign]


def _forget() -> None:
    record._Recording._asked_before = lambda self: {}  # type: ignore[method-assign]
    write: Any = record._Recording._add

    def add(self: Any, table: str, *words: Any) -> None:
        if table != "idempotency":
            write(self, table, *words)

    record._Recording._add = add  # type: ignore[assignment,method-assign]


BREAKAGES: dict[str, Callable[[], None]] = {"early": _early, "cursor": _cursor, "twice": _twice, "forget": _forget}
