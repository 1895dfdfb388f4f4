"""What is read back: one decision, versions, the switches a learner believes in, the log. From any thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import NotFound
from turncoat.service.experiments.snapshot_cache import read_learner, read_present
from turncoat.service.store.interface import Row, Session, Store

PAGE = 2000
MOST_REFUSED = 100  # shown of one decision
DECISION = """
    SELECT d.id, e.key, d.arm, d.propensity, COALESCE(d.probabilities, v.probabilities), d.version, d.stream, d.reason,
           d.decided_at, d.expires_at, d.context, d.outcome, d.reward, d.rewarded_at, d.applied_version,
           d.applied_position, d.unit
    FROM decision d JOIN experiment e ON e.id = d.experiment
    JOIN version v ON v.experiment = d.experiment AND v.version = d.version
"""
ONE = DECISION + " WHERE d.id = :id"
MANY = DECISION + " WHERE d.experiment = :experiment AND d.id > :after ORDER BY d.id LIMIT :limit"
REFUSED = """
    SELECT value, status, received_at, reward_id FROM refused WHERE decision_id = :id ORDER BY received_at LIMIT :limit
"""
THINNED = """
    SELECT version, at, kind, n_learned, probabilities FROM version
    WHERE experiment = :experiment AND (kind <> 'rewards' OR version % :step = :rest) ORDER BY version
"""
COUNTS = """
    SELECT (SELECT COUNT(*) FROM inbox WHERE experiment = :experiment),
           (SELECT COUNT(*) FROM decision WHERE experiment = :experiment AND applied_version IS NULL)
"""
LEARNED = "SELECT version, at, n_learned FROM version WHERE experiment = :experiment AND n_learned > 0 ORDER BY version"


def read_decision(session: Session, decision_id: str) -> messages.DecisionRecord:
    """Everything known about a decision."""
    found = session.rows(ONE, id=decision_id)
    if not found:
        raise NotFound(f"there is no decision {decision_id!r}", field="decision_id")
    row = found[0]
    waiting = session.rows("SELECT value, received_at FROM inbox WHERE decision_id = :id", id=decision_id)
    common = _common(row)
    if row[11] is None and waiting:
        common |= {"outcome": "waiting", "reward": waiting[0][0], "rewarded_at": as_datetime(waiting[0][1])}
    refused = [
        messages.RefusedReward(value=value, status=status, received_at=as_datetime(at), reward_id=reward_id)
        for value, status, at, reward_id in session.rows(REFUSED, id=decision_id, limit=MOST_REFUSED)
    ]
    expires_at = None if row[9] is None else as_datetime(row[9])
    return messages.DecisionRecord(**common, expires_at=expires_at, refused=refused)


def read_log(store: Store, key: str) -> Iterator[messages.LogLine]:
    """Every decision with its outcome, in the order of their ids, a page at a time."""
    after = ""
    with store.reading() as session:
        experiment = read_present(session, key).id
    while True:
        with store.reading() as session:
            rows = session.rows(MANY, experiment=experiment, after=after, limit=PAGE)
        for row in rows:
            yield messages.LogLine(**_common(row), unit=row[16])
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def _common(row: Row) -> dict[str, Any]:
    return {
        "decision_id": row[0],
        "experiment": row[1],
        "arm": row[2],
        "propensity": row[3],
        "probabilities": msgspec.json.decode(row[4]),
        "state_version": row[5],
        "stream": row[6],
        "reason": row[7],
        "decided_at": as_datetime(row[8]),
        "context": None if row[10] is None else msgspec.json.decode(row[10]),
        "outcome": row[11] or "open",
        "reward": row[12],
        "rewarded_at": None if row[13] is None else as_datetime(row[13]),
        "applied_version": row[14],
        "applied_position": row[15],
    }


def read_timeline(session: Session, key: str, limit: int) -> list[messages.VersionPoint]:
    """Versions evenly over its life; those of arms and settings all, the latest last."""
    snapshot = read_present(session, key)
    step = max(-(-snapshot.version // max(limit, 1)), 1)
    rows = session.rows(THINNED, experiment=snapshot.id, step=step, rest=snapshot.version % step)
    return [
        messages.VersionPoint(
            version=version, at=as_datetime(at), kind=kind, n_learned=n, probabilities=msgspec.json.decode(served)
        )
        for version, at, kind, n, served in rows
    ]


def read_state(session: Session, key: str) -> messages.LearnerState:
    """What the learner makes of it all."""
    snapshot = read_present(session, key)
    _, learner = read_learner(session, snapshot.id)
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
    snapshot = read_present(session, key)
    _, learner = read_learner(session, snapshot.id)
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
