"""The decisions that pass a filter, the newest first, a page at a time by key: no page costs more as the log grows.

They come in the descending order of their ids. Ids that the service makes begin with the time; one that a caller chose
stands where it sorts. No index holds what is filtered by, so one call looks at SCANNED decisions at most, and says
from where to go on.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from turncoat.service.experiments.queries import DECISION, record_of
from turncoat.service.messages import DecisionFields, Stream
from turncoat.service.store.interface import Session

Outcome = Literal["open", "rewarded", "defaulted", "expired"]
SCANNED = 100_000  # decisions that one call looks at
AFTER_ALL = "g"  # above every id, which are hexadecimal
FLOOR = "SELECT id FROM decision WHERE id < :before ORDER BY id DESC LIMIT 1 OFFSET :skipped"
NUMBER = "SELECT id FROM experiment WHERE key = :key"
CONDITIONS = {
    "arm": "d.arm = :arm",
    "stream": "d.stream = :stream",
    "since": "d.decided_at >= :since",
    "until": "d.decided_at < :until",
}


class Filter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What decisions are to have; what is left out may be anything. Times: since 1970, `until` not included."""

    experiment: str | None = None
    arm: str | None = None
    stream: Stream | None = None
    outcome: Outcome | None = None
    since: float | None = None
    until: float | None = None


class FoundDecision(DecisionFields, frozen=True, kw_only=True):
    """A decision in a list or a download: all but its unit."""

    outcome: Outcome


class Found(NamedTuple):
    """Some decisions. `older`: decisions before this id were not looked at; None: there are no others."""

    decisions: list[FoundDecision]
    older: str | None


def find_decisions(session: Session, wanted: Filter, limit: int, before: str | None = None) -> Found:
    """At most `limit` decisions whose ids are below `before`. Steps: more are looked at while too few were found."""
    values = {name: value for name in CONDITIONS if (value := getattr(wanted, name)) is not None}
    conditions = [CONDITIONS[name] for name in values]
    if wanted.experiment is not None:
        number = session.rows(NUMBER, key=wanted.experiment)
        if not number:
            return Found([], None)
        conditions, values["number"] = [*conditions, "d.experiment = :number"], number[0][0]
    if wanted.outcome == "open":
        conditions.append("d.outcome IS NULL")
    elif wanted.outcome is not None:
        conditions, values["outcome"] = [*conditions, "d.outcome = :outcome"], wanted.outcome
    sql = " AND ".join([f"{DECISION} WHERE d.id < :before AND d.id >= :floor", *conditions])
    found: list[FoundDecision] = []
    below, looked, step = before or AFTER_ALL, 0, min(2 * limit, SCANNED)
    while True:
        floor = next((number for (number,) in session.rows(FLOOR, before=below, skipped=step - 1)), None)
        span = {"before": below, "floor": floor or "", "limit": limit - len(found)}
        found += map(_found, session.rows(f"{sql} ORDER BY d.id DESC LIMIT :limit", **span, **values))
        if len(found) == limit:
            return Found(found, found[-1].decision_id)
        looked += step
        if floor is None or looked >= SCANNED:
            return Found(found, floor)
        below, step = floor, min(4 * step, SCANNED - looked)


def _found(row: tuple[object, ...]) -> FoundDecision:
    record = record_of(row)
    del record["unit"], record["expires_at"]
    return FoundDecision(**record)
