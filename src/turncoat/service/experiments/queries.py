"""Queries: one decision, versions, the learner's switches, the log. They may run on any thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import NotFound
from turncoat.service.experiments.damage import read_damage
from turncoat.service.experiments.snapshot import read_row
from turncoat.service.experiments.snapshot_cache import (
    UNREADABLE,
    Unreadable,
    damaging,
    read_learner,
    read_snapshot,
    read_snapshots,
)
from turncoat.service.store.interface import Row, Session, Store, StoreDown, StoreError

log = logging.getLogger("turncoat.engine")

PAGE = 2000
MOST_REFUSED = 100  # listed per decision
DECISION = """
    SELECT d.id, e.key, d.arm, d.propensity, COALESCE(d.probabilities, v.probabilities), d.version, d.stream, d.reason,
           d.decided_at, d.expires_at, d.context, d.outcome, d.reward, d.rewarded_at, d.applied_version,
           d.applied_position, d.unit, v.m
    FROM decision d JOIN experiment e ON e.id = d.experiment
    LEFT JOIN version v ON v.experiment = d.experiment AND v.version = d.version
"""
FIELDS = (
    *("decision_id", "experiment", "arm", "propensity", "probabilities", "state_version", "stream", "reason"),
    *("decided_at", "expires_at", "context", "outcome", "reward", "rewarded_at", "applied_version"),
    *("applied_position", "unit", "m"),
)
VERSION = ("version", "at", "kind", "n_learned", "probabilities", "m")
REFUSAL = ("value", "status", "received_at", "reward_id")
NEXT = "SELECT id FROM decision WHERE id > :after ORDER BY id LIMIT 1"  # of any experiment: the index has no others
ONE = DECISION + " WHERE d.id = :id"
MANY = DECISION + " WHERE d.experiment = :experiment AND d.id > :after ORDER BY d.id LIMIT :limit"
REFUSED = """
    SELECT value, status, received_at, reward_id FROM refused WHERE decision_id = :id ORDER BY received_at LIMIT :limit
"""
THINNED = """
    SELECT version, at, kind, n_learned, probabilities, m FROM version
    WHERE experiment = :experiment AND (kind NOT IN ('rewards', 'planned') OR version % :step = 0 OR version = :last)
    ORDER BY version
"""
COUNTS = """
    SELECT (SELECT COUNT(*) FROM inbox WHERE experiment = :experiment),
           (SELECT COUNT(*) FROM decision WHERE experiment = :experiment AND applied_version IS NULL)
"""
LEARNED = "SELECT version, at, n_learned FROM version WHERE experiment = :experiment AND n_learned > 0 ORDER BY version"


def unknown_decision(decision_id: str) -> NotFound:
    """What is said of a decision that is not there, and of one that the caller may not see."""
    return NotFound(f"there is no decision {decision_id!r}", field="decision_id")


def read_experiment(session: Session, key: str) -> messages.Experiment:
    """An experiment, with its damage if it has any. Raises Damaged if it cannot be read."""
    snapshot = read_snapshot(session, key)
    return snapshot.to_experiment(read_damage(session).get(snapshot.id))


def read_experiments(session: Session) -> list[messages.Experiment]:
    """All experiments that can be read, in the order in which they were opened."""
    unreadable: list[Unreadable] = []
    damage = read_damage(session)
    found = read_snapshots(session, unreadable=unreadable)
    return [snapshot.to_experiment(damage.get(snapshot.id)) for snapshot in found]


def read_decision(session: Session, decision_id: str) -> messages.DecisionRecord:
    """Everything known about a decision."""
    found = session.rows(ONE, id=decision_id)
    if not found:
        raise unknown_decision(decision_id)
    waiting = session.rows("SELECT value, received_at FROM inbox WHERE decision_id = :id", id=decision_id)
    with damaging(found[0][1], "log", f"the row of decision {decision_id} cannot be read"):
        record = record_of(found[0])
    if record["outcome"] == "open" and waiting:
        record |= {"outcome": "waiting", "reward": waiting[0][0], "rewarded_at": as_datetime(waiting[0][1])}
    del record["unit"]
    refused = session.rows(REFUSED, id=decision_id, limit=MOST_REFUSED)
    return messages.DecisionRecord(
        **record, refused=[messages.RefusedReward(**read_row(REFUSAL, row)) for row in refused]
    )


def record_of(row: Row) -> dict[str, Any]:
    """A row of DECISION as the fields of a message."""
    record = read_row(FIELDS, row, json=("probabilities", "context"))
    if record["probabilities"] is None or record["m"] is None:
        raise ValueError("the version that it was drawn from is missing")
    return record | {"outcome": record["outcome"] or "open"}


def _log_left_out(decision_id: str, why: str) -> None:
    log.error("the decision %s is left out of the log that is read: %s", decision_id, why)


def read_log(
    store: Store, key: str, left_out: Callable[[str, str], None] = _log_left_out
) -> Iterator[messages.LogLine]:
    """Every decision with its outcome, in the order of their ids, a page at a time.

    `left_out` is told the id of each decision whose row cannot be read, and why.
    """
    with store.reading() as session:
        found = session.rows("SELECT id FROM experiment WHERE key = :key", key=key)
    if not found:
        raise NotFound(f"there is no experiment {key!r}", field="key")
    for row in _log_rows(store, found[0][0], left_out):
        try:
            record = record_of(row)
            del record["expires_at"]
            line = messages.LogLine(**record)
            msgspec.json.encode(line)  # text that is no UTF-8 is found here
        except (*UNREADABLE, ArithmeticError) as problem:
            left_out(row[0], str(problem))
        else:
            yield line


def _log_rows(store: Store, experiment: int, left_out: Callable[[str, str], None]) -> Iterator[Row]:
    """The rows, a page at a time; one by one where the database cannot read a page."""
    after, limit = "", PAGE
    while True:
        try:
            with store.reading() as session:
                rows = session.rows(MANY, experiment=experiment, after=after, limit=limit)
        except StoreDown:
            raise
        except StoreError as problem:
            if limit > 1:
                limit = max(limit // 8, 1)
                continue
            with store.reading() as session:
                ((unreadable,),) = session.rows(NEXT, after=after)
            left_out(unreadable, str(problem))
            after, limit = unreadable, PAGE
            continue
        yield from rows
        if len(rows) < limit:
            return
        after, limit = rows[-1][0], min(2 * limit, PAGE)


def read_timeline(session: Session, key: str, limit: int) -> list[messages.VersionPoint]:
    """Versions: of rewards and plans thinned evenly to `limit`, of arms and settings all of them, the latest last."""
    snapshot = read_snapshot(session, key)
    step = even_step(snapshot.version, limit)
    rows = session.rows(THINNED, experiment=snapshot.id, step=step, last=snapshot.version)
    return [messages.VersionPoint(**read_row(VERSION, row, json=("probabilities",))) for row in rows]


def even_step(n_versions: int, limit: int) -> int:
    """The step between versions of which at most `limit` are shown, multiples of it and the last: a power of two.

    So what is shown is there after `retention.thin`, too.
    """
    step = 1
    while n_versions > limit and n_versions // step >= max(limit, 1):
        step *= 2
    return step


def read_state(session: Session, key: str) -> messages.LearnerState:
    """The learner's probabilities and explanation, and how many rewards and decisions are not applied yet."""
    snapshot = read_snapshot(session, key)
    _, learner = read_learner(session, snapshot)
    pending, still_open = session.rows(COUNTS, experiment=snapshot.id)[0]
    explanation = learner.explain()
    return messages.LearnerState(
        key=key,
        version=snapshot.version,
        probabilities=snapshot.probabilities,
        pending_rewards=pending,
        open_decisions=still_open,
        explanation=explanation.to_dict(),
        explanation_text=str(explanation),
        checksum=snapshot.checksum,
    )


def read_switches(session: Session, key: str) -> list[messages.Switch]:
    """The learner's believed switches, with the versions in which their rounds were learned."""
    snapshot = read_snapshot(session, key)
    _, learner = read_learner(session, snapshot)
    believed = list(learner.explain().switches)
    switches: list[messages.Switch] = []
    rounds = 0
    for version, at, n in session.rows(LEARNED, experiment=snapshot.id) if believed else []:
        rounds += n
        while believed and believed[0].when <= rounds:
            one = believed.pop(0)
            switches.append(
                messages.Switch(version=version, at=as_datetime(at), before=str(one.left), after=str(one.to))
            )
    return switches
