"""Rewards become learning: one applier an experiment at a time, in one transaction a pass.

A pass takes what waits in the inbox, in the order it was received, and what is due (windows that have ended). It
tells the learner, closes the decisions, and writes the new state with them: all of it or nothing. So the log alone
says what was learned, in which order, and replaying it leads to the same state.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from turncoat.service import messages
from turncoat.service.clock import Clock
from turncoat.service.experiments.aggregates import KEYS, SUMS, Closed, bucket_rows
from turncoat.service.experiments.rewards import HOLD
from turncoat.service.experiments.snapshot import Learner, Snapshot, served_by, to_json
from turncoat.service.experiments.snapshot_cache import Book, checksum, read_present, written
from turncoat.service.store.interface import Later, Row, Session, Store
from turncoat.service.tables import INBOX, REFUSED

MOST = 1000  # decisions closed in a pass

DUE = """
    SELECT d.id FROM decision d
    WHERE d.experiment = :experiment AND d.applied_version IS NULL AND d.expires_at <= :now
      AND (SELECT 1 FROM inbox i WHERE i.decision_id = d.id) IS NULL
    ORDER BY d.expires_at, d.id LIMIT :limit
"""
PENDING = """
    SELECT i.decision_id, i.value, i.received_at, i.observed_at, i.source,
           d.arm, d.propensity, d.allowed, d.stream, d.decided_at, d.applied_version
    FROM inbox i JOIN decision d ON d.id = i.decision_id
    WHERE i.experiment = :experiment ORDER BY i.received_at, i.decision_id LIMIT :limit
"""
PARTS = "SELECT decision_id, value FROM part WHERE decision_id IN :ids ORDER BY received_at, reward_id"
TAKEN = "DELETE FROM inbox WHERE decision_id IN :ids"
CLOSING = ("id", "outcome", "reward", "rewarded_at", "observed_at", "applied_version", "applied_position")
VERSION = ("experiment", "version", "at", "kind", "detail", "n_learned", "probabilities", "checksum")
ADVANCE = "UPDATE experiment SET version = :new, revision = :revision WHERE id = :id AND version = :old"
TRIED = "UPDATE arm SET tried = 1 WHERE experiment = :experiment AND arm IN :arms"
KEEP = "UPDATE learner SET version = :version, state = :state, checksum = :checksum WHERE experiment = :id"


def _mean(values: Sequence[float]) -> float:
    """Never outside what it is the mean of: 0.1 three times, added up and divided, is more than 0.1."""
    return min(max(statistics.fmean(values), min(values)), max(values))


AGGREGATES: dict[messages.Aggregation, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "sum": sum,
    "mean": _mean,
    "min": min,
    "max": max,
}


class Waiting(NamedTuple):
    """A reward in the inbox, with its decision."""

    decision_id: str
    value: float | None
    received_at: float
    observed_at: float | None
    source: str
    arm: str
    propensity: float
    allowed: str | None
    stream: str
    decided_at: float
    applied_version: int | None


def apply(store: Store, book: Book, clock: Clock, snapshot: Snapshot) -> int:
    """One pass over one experiment; how many rewards it took out of the inbox (MOST: there may be more)."""
    try:
        with store.transaction() as session:
            now = clock.now()
            version = session.lock_experiment(snapshot.id)
            due = session.send(DUE, experiment=snapshot.id, now=now, limit=MOST)
            pending = session.send(PENDING, experiment=snapshot.id, limit=MOST)
            found = version()
            if found is None:
                return 0
            if found != snapshot.version:
                snapshot = read_present(session, snapshot.key)
            taken, after, learner = _Pass(session, book, snapshot, now, shared=store.shared).run(due, pending)
    except BaseException:
        book.doubt(snapshot.id)
        raise
    book.publish(after, learner)
    return taken


class _Pass:
    """One transaction."""

    def __init__(self, session: Session, book: Book, snapshot: Snapshot, now: float, *, shared: bool) -> None:
        self._session, self._book, self._before, self._now = session, book, snapshot, now
        self._shared = shared
        self._rule = snapshot.config.reward
        self._refused: list[Row] = []

    def run(self, due: Later[list[Row]], pending: Later[list[Row]]) -> tuple[int, Snapshot, Learner | None]:
        """How many were taken, the snapshot to publish, and its learner if it was needed."""
        ids = [row[0] for row in due()]
        if ids:
            self._end_windows(ids)
            pending = self._session.send(PENDING, experiment=self._before.id, limit=MOST)
        waiting = [Waiting(*row) for row in pending()]
        if not waiting:
            return 0, self._before, None
        good = [one for one in waiting if self._is_good(one)]
        learner = self._book.learner_at(self._session, self._before)
        n_learned = self._learn(learner, good)
        if self._refused:
            self._session.insert("refused", REFUSED, self._refused)
        after = self._close(learner, good, n_learned) if good else self._before
        self._session.send(TAKEN, ids=[one.decision_id for one in waiting])
        return len(waiting), after, learner

    def _end_windows(self, ids: Sequence[str]) -> None:
        """What is due joins the inbox, unless a real reward is there first."""
        collected = self._collected(ids) if self._rule.aggregation != "first" else {}
        default = self._before.config.default_reward
        rows: list[Row] = [
            (one, self._before.id, collected[one], self._now, None, "collected")
            if one in collected
            else (one, self._before.id, default, self._now, None, "default")
            for one in sorted(ids)
        ]
        self._session.insert_new("inbox", INBOX, rows, key=1)

    def _collected(self, ids: Sequence[str]) -> dict[str, float]:
        """The rewards of each made into one. One outside the range does not count, and is kept apart."""
        if self._shared:
            self._session.run(HOLD, ids=ids)  # whoever is adding to one is done after this, or comes too late
        values: dict[str, list[float]] = {}
        for decision, value in self._session.rows(PARTS, ids=ids):
            values.setdefault(decision, []).append(value)
        made = {decision: AGGREGATES[self._rule.aggregation](several) for decision, several in values.items()}
        for decision, value in made.items():
            if not self._fits(value):
                shown = min(max(value, -1e308), 1e308)
                self._refused.append((decision, self._before.id, None, shown, self._now, "out_of_range"))
        return {decision: value for decision, value in made.items() if self._fits(value)}

    def _fits(self, value: float) -> bool:
        return self._rule.min <= value <= self._rule.max

    def _is_good(self, one: Waiting) -> bool:
        """Whether it closes its decision: nothing has before."""
        if one.applied_version is None:
            return True
        self._refused.append((one.decision_id, self._before.id, None, one.value, one.received_at, "late"))
        return False

    def _learn(self, learner: Learner, good: Sequence[Waiting]) -> int:
        """Tell the learner, in order. Only its own stream trains it."""
        index_of = {label: index for index, label in enumerate(learner.arms)}
        n_learned = 0
        for one in good:
            if one.stream == "learn" and one.value is not None:
                learner.observe(
                    index_of[one.arm],
                    loss_of(one.value, self._rule),
                    one.propensity,
                    allowed=allowed_indices(one.allowed, index_of),
                )
                n_learned += 1
        return n_learned

    def _close(self, learner: Learner, good: Sequence[Waiting], n_learned: int) -> Snapshot:
        version = self._before.version + 1
        rows: list[Row] = []
        closed: list[Closed] = []
        for position, one in enumerate(good):
            outcome = "rewarded" if one.source != "default" else "expired" if one.value is None else "defaulted"
            rows.append((one.decision_id, outcome, one.value, one.received_at, one.observed_at, version, position))
            closed.append(Closed(one.decided_at, one.arm, one.stream, outcome, one.value, one.propensity))
        self._session.update("decision", CLOSING, rows)
        self._session.add_up("bucket", KEYS, SUMS, bucket_rows(self._before.id, closed))
        taught = {one.arm for one in good if one.stream == "learn" and one.value is not None}
        between = self._mark_tried(taught)
        return advance(self._session, between, learner, "rewards", self._now, n_learned=n_learned)

    def _mark_tried(self, taught: set[str]) -> Snapshot:
        """Arms whose first reward this was."""
        new = {row.arm for row in self._before.arms if row.arm in taught and not row.tried}
        if not new:
            return self._before
        self._session.send(TRIED, experiment=self._before.id, arms=sorted(new))
        arms = tuple(row._replace(tried=True) if row.arm in new else row for row in self._before.arms)
        return replace(self._before, arms=arms)


def advance(
    session: Session,
    snapshot: Snapshot,
    learner: Learner,
    kind: str,
    now: float,
    *,
    n_learned: int = 0,
    detail: str | None = None,
) -> Snapshot:
    """Write the experiment's next version: what the learner is now, and what is served from now on.

    `snapshot` is the one before, already with the arms and settings that are to be. Only rewards leave its revision.
    A version is a key, so nobody writes over a newer state: whoever comes second is told Raced, and keeps nothing.
    """
    version = snapshot.version + 1
    revision = snapshot.revision + (kind != "rewards")
    learned = n_learned > 0 or kind in ("opened", "arm_added", "arm_changed")
    served = served_by(learner, snapshot.active()) if learned or kind != "rewards" else snapshot.probabilities
    session.send(ADVANCE, id=snapshot.id, old=snapshot.version, new=version, revision=revision)
    digest = snapshot.checksum
    if learned:
        state = written(learner)
        digest = checksum(state)
        session.send(KEEP, id=snapshot.id, version=version, state=state, checksum=digest)
    session.insert("version", VERSION, [(snapshot.id, version, now, kind, detail, n_learned, to_json(served), digest)])
    return replace(
        snapshot,
        version=version,
        revision=revision,
        probabilities=served,
        learner_version=version if learned else snapshot.learner_version,
        checksum=digest,
        offers={},
    )


def loss_of(reward: float, rule: messages.RewardRule) -> float:
    """A reward as a loss in [0, 1]: the best is 0."""
    return min(max((rule.max - reward) / (rule.max - rule.min), 0.0), 1.0)


def allowed_indices(allowed: str | None, index_of: dict[str, int]) -> list[int] | None:
    """The arms a decision was drawn from, as its learner counts them."""
    return None if allowed is None else [index_of[arm] for arm in msgspec.json.decode(allowed)]
