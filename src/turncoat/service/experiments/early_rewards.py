"""Rewards that came before their decision.

Nothing is known yet of their experiment, so they are kept as parts, one for each reward_id, with one mark in the inbox
that has no experiment. Once the decision is there they are taken as if they had been told just after it, in the order
they came. If it does not come within an hour of the last of them, they are given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turncoat.service import messages
from turncoat.service.experiments.snapshot_cache import Book
from turncoat.service.store.interface import Raced, Row, Session
from turncoat.service.tables import INBOX, PART, REFUSED

ORPHANED = 3_600.0  # seconds for which a reward waits for its decision
MOST = 1000  # decisions in one transaction: callers wait for its end

FOUND = """
    SELECT d.id, d.experiment, d.outcome, d.reward FROM inbox i JOIN decision d ON d.id = i.decision_id
"""
FOUND_ALL = FOUND + " WHERE i.experiment IS NULL LIMIT :limit"
FOUND_SOME = FOUND + " WHERE i.source = 'early' AND i.decision_id IN :ids"
ALONE = "SELECT decision_id FROM inbox WHERE experiment IS NULL AND received_at <= :before LIMIT :limit"
UNMARK = "DELETE FROM inbox WHERE source = 'early' AND decision_id IN :ids"
TOLD = f"SELECT {', '.join(PART)} FROM part WHERE decision_id IN :ids ORDER BY received_at, reward_id"
FORGET = "DELETE FROM part WHERE decision_id IN :ids"
CLAIM = "UPDATE refused SET experiment = :experiment WHERE decision_id IN :ids"


class Told(NamedTuple):
    """A reward that came early."""

    decision_id: str
    reward_id: str
    value: float
    received_at: float
    observed_at: float | None


class Found(NamedTuple):
    """Its decision."""

    id: str
    experiment: int
    outcome: str | None
    reward: float | None


def adopt(session: Session, book: Book, ids: Sequence[str] | None = None) -> None:
    """Rewards whose decision has come, of these decisions or of all, go where they belong."""
    rows = session.rows(FOUND_ALL, limit=MOST) if ids is None else session.rows(FOUND_SOME, ids=ids)
    if not rows:
        return
    found = {row[0]: Found(*row) for row in rows}
    rules = {one.id: _rule(book, one) for one in found.values()}
    counted = {one.id: one.reward for one in found.values() if one.outcome == "rewarded"}
    inbox: list[Row] = []
    parts: list[Row] = []
    refused: list[Row] = []
    for one in _taken(session, list(found)):
        decision, rule = found[one.decision_id], rules[one.decision_id]
        if not fits(one.value, rule):
            refused.append(_refused(one, decision.experiment, "out_of_range"))
        elif rule.aggregation == "first" and one.decision_id in counted:
            again = "duplicate" if one.value == counted[one.decision_id] else "conflict"
            refused.append(_refused(one, decision.experiment, again))
        elif decision.outcome is not None:
            refused.append(_refused(one, decision.experiment, "late"))
        elif rule.aggregation == "first":
            counted[one.decision_id] = one.value
            inbox.append((one.decision_id, decision.experiment, one.value, one.received_at, one.observed_at, "real"))
        else:
            parts.append(one)
    for table, columns, several in (("inbox", INBOX, inbox), ("part", PART, parts), ("refused", REFUSED, refused)):
        if several:
            session.insert(table, columns, several)
    _claim(session, found.values())


def _rule(book: Book, decision: Found) -> messages.RewardRule:
    snapshot = book.of(decision.experiment)
    if snapshot is None:  # opened by another process a moment ago
        raise Raced("the experiment is new here")
    return snapshot.config.reward


def _claim(session: Session, found: Iterable[Found]) -> None:
    """What was refused before the decision came belongs to its experiment too."""
    ids: dict[int, list[str]] = {}
    for one in found:
        ids.setdefault(one.experiment, []).append(one.id)
    for experiment, ours in sorted(ids.items()):
        session.run(CLAIM, experiment=experiment, ids=ours)


def give_up(session: Session, now: float) -> None:
    """Those that have waited too long are kept apart."""
    ids = [row[0] for row in session.rows(ALONE, before=now - ORPHANED, limit=MOST)]
    if ids:
        session.insert("refused", REFUSED, [_refused(one, None, "orphan") for one in _taken(session, ids)])


def _taken(session: Session, ids: Sequence[str]) -> list[Told]:
    """The rewards of these decisions, no longer kept; whoever comes second finds their marks gone."""
    if session.run(UNMARK, ids=ids) != len(ids):
        raise Raced("somebody else takes them as well")
    told = [Told(*row) for row in session.rows(TOLD, ids=ids)]
    session.run(FORGET, ids=ids)
    return told


def _refused(one: Told, experiment: int | None, status: str) -> Row:
    return (one.decision_id, experiment, one.reward_id or None, one.value, one.received_at, status)


def fits(value: float, rule: messages.RewardRule) -> bool:
    """A reward is in its range. One that is added to others may be anything: their sum must be in it."""
    return rule.aggregation == "sum" or rule.min <= value <= rule.max
