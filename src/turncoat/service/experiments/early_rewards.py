"""Early rewards: those received before their decision.

Their experiment is not known yet, so they are stored as parts, one per reward_id, with one marker row in the inbox that
has no experiment. Once the decision is recorded they are joined to it, in the order of receipt, as if received just
after it. Without a decision within an hour of the last of them they are recorded as orphans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turncoat.service import messages
from turncoat.service.experiments.snapshot_cache import SnapshotCache
from turncoat.service.store.interface import Row, Session, WriteConflict

# The columns of the tables that rewards are written to.
INBOX = ("decision_id", "experiment", "value", "received_at", "observed_at", "source")
PART = ("decision_id", "reward_id", "value", "received_at", "observed_at")
REFUSED = ("decision_id", "experiment", "reward_id", "value", "received_at", "status")

ORPHAN_SECONDS = 3_600.0  # that a reward waits for its decision
MOST = 1000  # decisions per transaction: callers wait for its end

FOUND = """
    SELECT d.id, d.experiment, d.outcome, d.reward FROM inbox i JOIN decision d ON d.id = i.decision_id
"""
FOUND_ALL = FOUND + " WHERE i.experiment IS NULL LIMIT :limit"
FOUND_SOME = FOUND + " WHERE i.source = 'early' AND i.decision_id IN :ids"
ORPHANS = """
    SELECT i.decision_id FROM inbox i WHERE i.experiment IS NULL AND i.received_at <= :before
      AND (SELECT 1 FROM decision d WHERE d.id = i.decision_id) IS NULL LIMIT :limit
"""
UNMARK = "DELETE FROM inbox WHERE source = 'early' AND decision_id IN :ids"
TOLD = f"SELECT {', '.join(PART)} FROM part WHERE decision_id IN :ids ORDER BY received_at, reward_id"
FORGET = "DELETE FROM part WHERE decision_id IN :ids"
CLAIM = "UPDATE refused SET experiment = :experiment WHERE decision_id IN :ids"


class EarlyReward(NamedTuple):
    """A reward received before its decision."""

    decision_id: str
    reward_id: str
    value: float
    received_at: float
    observed_at: float | None


class FoundDecision(NamedTuple):
    """The decision of an early reward."""

    id: str
    experiment: int
    outcome: str | None
    reward: float | None


def join_decisions(session: Session, cache: SnapshotCache, ids: Sequence[str] | None = None) -> None:
    """Join early rewards to their decisions, for these decisions or for all."""
    rows = session.rows(FOUND_ALL, limit=MOST) if ids is None else session.rows(FOUND_SOME, ids=ids)
    found = {row[0]: FoundDecision(*row) for row in rows if not cache.lacks_config(row[1])}
    if not found:
        return
    rules = {one.id: cache.config(one.experiment).reward for one in found.values()}
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


def _claim(session: Session, found: Iterable[FoundDecision]) -> None:
    """Rewards refused before their decision was recorded get its experiment."""
    ids: dict[int, list[str]] = {}
    for one in found:
        ids.setdefault(one.experiment, []).append(one.id)
    for experiment, ours in sorted(ids.items()):
        session.run(CLAIM, experiment=experiment, ids=ours)


def expire_orphans(session: Session, now: float) -> None:
    """Record early rewards that have waited too long as orphans."""
    ids = [row[0] for row in session.rows(ORPHANS, before=now - ORPHAN_SECONDS, limit=MOST)]
    if ids:
        session.insert("refused", REFUSED, [_refused(one, None, "orphan") for one in _taken(session, ids)])


def _taken(session: Session, ids: Sequence[str]) -> list[EarlyReward]:
    """Delete and return these decisions' early rewards. A second taker finds the markers gone: WriteConflict."""
    if session.run(UNMARK, ids=ids) != len(ids):
        raise WriteConflict("another process takes them as well")
    told = [EarlyReward(*row) for row in session.rows(TOLD, ids=ids)]
    session.run(FORGET, ids=ids)
    return told


def _refused(one: EarlyReward, experiment: int | None, status: str) -> Row:
    return (one.decision_id, experiment, one.reward_id or None, one.value, one.received_at, status)


def fits(value: float, rule: messages.RewardRule) -> bool:
    """Whether a reward is in its range. Parts of a sum may have any value: the sum must be in the range."""
    return rule.aggregation == "sum" or rule.min <= value <= rule.max
