"""The audit log, a hash chain: every entry holds the hash of the one before, so that tampering is detected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.experiments.snapshot import read_row, to_json
from turncoat.service.store.interface import Row, Session

COLUMNS = ("seq", "at", "actor", "action", "experiment", "before", "after", "previous_hash", "hash")
LAST = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"
BEGINNING = "0" * 64


def append_entry(
    session: Session, at: float, actor: str, action: str, experiment: str | None, *, before: Any, after: Any
) -> None:
    """Append an entry to the chain."""
    session.lock_settings()
    last = session.rows(LAST)
    seq, previous = (last[0][0] + 1, last[0][1]) if last else (1, BEGINNING)
    row: Row = (seq, at, actor, action, experiment, to_json(before), to_json(after), previous)
    session.insert("audit", COLUMNS, [(*row, hash_of(row))])


def hash_of(row: Row) -> str:
    """SHA-256 of an entry without its own hash. Of text that is damaged there is none: the hash is empty."""
    try:
        return hashlib.sha256(msgspec.json.encode(row)).hexdigest()
    except UnicodeEncodeError:
        return ""


def read(session: Session, experiment: str | None = None) -> list[messages.AuditEntry]:
    """All entries, or those of one experiment."""
    where = "" if experiment is None else "WHERE experiment = :experiment"
    values = {} if experiment is None else {"experiment": experiment}
    rows = session.rows(f"SELECT {', '.join(COLUMNS)} FROM audit {where} ORDER BY seq", **values)
    return [messages.AuditEntry(**read_row(COLUMNS, row, json=("before", "after"))) for row in rows]


def first_broken(rows: Iterable[Row]) -> int | None:
    """The number of the first entry that breaks the chain; None if none does. `rows` as in COLUMNS, in order."""
    expected, previous = 1, BEGINNING
    for row in rows:
        if row[0] != expected or row[7] != previous or row[8] != hash_of(tuple(row[:8])):
            return expected
        expected, previous = expected + 1, row[8]
    return None
