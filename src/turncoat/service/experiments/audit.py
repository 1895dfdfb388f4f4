"""Who changed what. Every entry holds the hash of the one before, so that one altered or taken out later shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.experiments.snapshot import to_json
from turncoat.service.store.interface import Row, Session

COLUMNS = ("seq", "at", "actor", "action", "experiment", "before", "after", "previous_hash", "hash")
LAST = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"
BEGINNING = "0" * 64


def write_down(
    session: Session, at: float, actor: str, action: str, experiment: str | None, *, before: Any, after: Any
) -> None:
    """One more entry."""
    session.lock_everything()
    last = session.rows(LAST)
    seq, previous = (last[0][0] + 1, last[0][1]) if last else (1, BEGINNING)
    row: Row = (seq, at, actor, action, experiment, to_json(before), to_json(after), previous)
    session.insert("audit", COLUMNS, [(*row, hash_of(row))])


def hash_of(row: Row) -> str:
    """Of everything in an entry but its own hash."""
    return hashlib.sha256(msgspec.json.encode(row)).hexdigest()


def read(session: Session, experiment: str | None = None) -> list[messages.AuditEntry]:
    """All entries, or those of one experiment."""
    where = "" if experiment is None else "WHERE experiment = :experiment"
    values = {} if experiment is None else {"experiment": experiment}
    rows = session.rows(f"SELECT {', '.join(COLUMNS)} FROM audit {where} ORDER BY seq", **values)
    return [
        messages.AuditEntry(
            seq=seq,
            at=as_datetime(at),
            actor=actor,
            action=action,
            experiment=key,
            before=msgspec.json.decode(before),
            after=msgspec.json.decode(after),
            previous_hash=previous,
            hash=own,
        )
        for seq, at, actor, action, key, before, after, previous, own in rows
    ]


def first_broken(rows: Iterable[Row]) -> int | None:
    """The number of the first entry that is not as it was written; None if all are. `rows` as in COLUMNS, in order."""
    expected, previous = 1, BEGINNING
    for row in rows:
        if row[0] != expected or row[7] != previous or row[8] != hash_of(tuple(row[:8])):
            return expected
        expected, previous = expected + 1, row[8]
    return None
