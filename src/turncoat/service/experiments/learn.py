"""The applier: rewards in the inbox become learning. One applier per experiment at a time, one transaction per pass.

A pass takes the inbox in the order of receipt, and the decisions whose windows have ended. It tells the learner, closes
the decisions and writes the new state, atomically. So the log alone determines what was learned and in which order, and
replaying it gives the same state.

m: each pass counts how many pulls the next version plans (waiting.py). Where no reward waits, and m has doubled, it
writes a version of the kind `planned`, with the same learner.

Checkpoint: where the stored state is of an older version of the learner's rule, the next to write (a pass, or a change
of settings or arms) begins with a version of the kind `checkpoint`, in the same transaction. Its state is the migrated
learner, and replaying begins there. Rewards of decisions made before it are learned like any that come late.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from turncoat.service import messages
from turncoat.service.clock import Clock
from turncoat.service.experiments.aggregates import KEYS, SUMS, Closed, bucket_rows
from turncoat.service.experiments.audit import append_entry
from turncoat.service.experiments.comparisons import Compared, Version, add_comparisons, control_json
from turncoat.service.experiments.early_rewards import INBOX, REFUSED
from turncoat.service.experiments.rewards import HOLD
from turncoat.service.experiments.snapshot import Learner, Snapshot, served_by, to_json
from turncoat.service.experiments.snapshot_cache import SnapshotCache, checksum, dump_learner, read_snapshot, rule_now
from turncoat.service.experiments.waiting import has_doubled, pulls_to_plan, with_delays
from turncoat.service.store.interface import DeferredResult, Row, Session, Store

MOST = 1000  # decisions closed per pass
MOST_PLANNED = 50_000  # arms that a pass plans for: each reward plans again, at 0.5 to 1 µs per arm
MOST_PLANNED_AT_ONCE = 1000  # and that one call does: meanwhile no other thread runs
FEW = 4  # rewards that are told one by one: a call for many takes 20 µs more
_M_AND_ALLOWED = itemgetter(3, 2)

DUE = """
    SELECT d.id FROM decision d
    WHERE d.experiment = :experiment AND d.applied_version IS NULL AND d.expires_at <= :now
      AND (SELECT 1 FROM inbox i WHERE i.decision_id = d.id) IS NULL
    ORDER BY d.expires_at, d.id LIMIT :limit
"""
PENDING = """
    SELECT i.decision_id, i.value, i.received_at, i.observed_at, i.source,
           d.arm, d.propensity, d.allowed, d.stream, d.decided_at, d.applied_version, d.version,
           d.probabilities, d.unit
    FROM inbox i JOIN decision d ON d.id = i.decision_id
    WHERE i.experiment = :experiment ORDER BY i.received_at, i.decision_id LIMIT :limit
"""
PLANNED = """
    SELECT version, m, control, probabilities FROM version WHERE experiment = :experiment AND version IN :versions
"""
PARTS = "SELECT decision_id, value FROM part WHERE decision_id IN :ids ORDER BY received_at, reward_id"
TAKEN = "DELETE FROM inbox WHERE decision_id IN :ids"
CLOSING = ("id", "outcome", "reward", "rewarded_at", "observed_at", "applied_version", "applied_position")
VERSION = ("experiment", "version", "at", "kind", "detail", "n_learned", "probabilities", "checksum", "m", "control")
ADVANCE = "UPDATE experiment SET version = :new, revision = :revision WHERE id = :id AND version = :old"
TRIED = "UPDATE arm SET tried = 1 WHERE experiment = :experiment AND arm IN :arms"
KEEP = """
    UPDATE learner SET version = :version, state = :state, checksum = :checksum, rule = :rule, delays = :delays
    WHERE experiment = :id
"""
CHECKPOINT = ("experiment", "version", "older_rule", "state")


def _mean(values: Sequence[float]) -> float:
    """The mean, clamped to the values' range: the mean of 0.1 three times, in floats, is more than 0.1."""
    return min(max(statistics.fmean(values), min(values)), max(values))


AGGREGATES: dict[messages.Aggregation, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "sum": sum,
    "mean": _mean,
    "min": min,
    "max": max,
}


class PendingReward(NamedTuple):
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
    version: int
    probabilities: str | None
    unit: str | None


def apply(store: Store, cache: SnapshotCache, clock: Clock, snapshot: Snapshot) -> int:
    """One pass over one experiment; the number of rewards taken from the inbox (MOST: there may be more)."""
    try:
        with store.transaction() as session:
            now = clock.now()
            if snapshot.rule != rule_now():
                session.lock_settings()  # for the audit, and first, as changes do, so that the two cannot deadlock
            version = session.lock_experiment(snapshot.id)
            due = session.send(DUE, experiment=snapshot.id, now=now, limit=MOST)
            pending = session.send(PENDING, experiment=snapshot.id, limit=MOST)
            found = version()
            if found is None:
                return 0
            if found != snapshot.version:
                snapshot = read_snapshot(session, snapshot.key)
            taken, after, learner = _Pass(session, cache, snapshot, now, shared=store.shared).run(due, pending)
    except BaseException:
        cache.invalidate(snapshot.id)
        raise
    cache.publish(after, learner)
    return taken


class _Pass:
    """One pass, in one transaction."""

    def __init__(self, session: Session, cache: SnapshotCache, snapshot: Snapshot, now: float, *, shared: bool) -> None:
        self._session, self._cache, self._before, self._now = session, cache, snapshot, now
        self._shared = shared
        self._rule = snapshot.config.reward
        self._refused: list[Row] = []

    def run(
        self, due: DeferredResult[list[Row]], pending: DeferredResult[list[Row]]
    ) -> tuple[int, Snapshot, Learner | None]:
        """How many rewards were taken (MOST: there may be more), the snapshot to publish, and its learner if used."""
        ids = [row[0] for row in due()]
        if ids:
            self._end_windows(ids)
            pending = self._session.send(PENDING, experiment=self._before.id, limit=MOST)
        waiting = [PendingReward(*row) for row in pending()]
        if not waiting:
            return self._plan_ahead()
        n_waiting, self._versions = len(waiting), self._drawn_from(waiting)
        waiting = self._first_of(waiting)
        good = [one for one in waiting if self._is_good(one)]
        taught = [one for one in good if one.stream == "learn" and one.value is not None]  # the others do not train it
        self._before, learner = take_learner(self._session, self._cache, self._before, self._now)
        index_of = {label: index for index, label in enumerate(learner.arms)}
        rows = [(one.arm, one.propensity, one.allowed, self._versions[one.version].m, one.value) for one in taught]
        observe(learner, self._rule, index_of, rows)
        if self._refused:
            self._session.insert("refused", REFUSED, self._refused)
        after = self._close(learner, good, taught) if good else self._before
        self._session.send(TAKEN, ids=[one.decision_id for one in waiting])
        return n_waiting if n_waiting == len(waiting) else MOST, after, learner

    def _end_windows(self, ids: Sequence[str]) -> None:
        """Decisions whose windows have ended join the inbox, unless a real reward is there first."""
        collected = self._collected(ids) if self._rule.aggregation != "first" else {}
        default = self._before.config.default_reward
        rows: list[Row] = []
        for one in sorted(ids):
            source = "collected" if one in collected else "default"
            rows.append((one, self._before.id, collected.get(one, default), self._now, None, source))
        self._session.insert_new("inbox", INBOX, rows, key=1)

    def _collected(self, ids: Sequence[str]) -> dict[str, float]:
        """Each decision's rewards aggregated to one. An aggregate outside the range is recorded as refused."""
        if self._shared:  # row lock: a reward added concurrently is committed before this, or is late
            self._session.run(HOLD, ids=ids)
        values: dict[str, list[float]] = {}
        for decision, value in self._session.rows(PARTS, ids=ids):
            values.setdefault(decision, []).append(value)
        made = {decision: AGGREGATES[self._rule.aggregation](several) for decision, several in values.items()}
        fitting = {decision: value for decision, value in made.items() if self._rule.min <= value <= self._rule.max}
        for decision, value in made.items():
            if decision not in fitting:
                shown = min(max(value, -1e308), 1e308)
                self._refused.append((decision, self._before.id, None, shown, self._now, "out_of_range"))
        return fitting

    def _is_good(self, one: PendingReward) -> bool:
        """Whether it closes its decision. A decision that is closed already makes the reward late."""
        if one.applied_version is None:
            return True
        self._refused.append((one.decision_id, self._before.id, None, one.value, one.received_at, "late"))
        return False

    def _drawn_from(self, waiting: Sequence[PendingReward]) -> dict[int, Version]:
        """The versions that these decisions were drawn from."""
        now = self._before
        known = {now.version: Version(now.m, control_json(now), to_json(now.probabilities))}
        others = sorted({one.version for one in waiting} - set(known))
        rows = self._session.rows(PLANNED, experiment=self._before.id, versions=others) if others else []
        return known | {number: Version(*rest) for number, *rest in rows}

    def _first_of(self, waiting: list[PendingReward]) -> list[PendingReward]:
        """As many as are learned without delaying decisions: of hundreds of arms, where m is large, fewer than MOST."""
        K = len(self._before.learned())
        if K * len(waiting) <= MOST_PLANNED:
            return waiting
        planned = list(accumulate(min(K, self._versions[one.version].m) for one in waiting))
        return waiting[: max(bisect_right(planned, MOST_PLANNED), 1)]

    def _close(self, learner: Learner, good: Sequence[PendingReward], taught: Sequence[PendingReward]) -> Snapshot:
        version = self._before.version + 1
        rows: list[Row] = []
        closed: list[Closed] = []
        compared: list[Compared] = []
        for position, one in enumerate(good):
            outcome = "rewarded" if one.source != "default" else "expired" if one.value is None else "defaulted"
            rows.append((one.decision_id, outcome, one.value, one.received_at, one.observed_at, version, position))
            closed.append(Closed(one.decided_at, one.arm, one.stream, outcome, one.value, one.propensity))
            if one.value is not None:
                drawn = self._versions[one.version]
                fields = one.decided_at, one.arm, one.stream, one.value, one.propensity, one.allowed, one.unit
                compared.append(Compared(*fields, drawn.control, one.probabilities or drawn.probabilities))
        self._session.update("decision", CLOSING, rows)
        if taught:
            delays = with_delays(self._before.delays, [self._now - one.decided_at for one in taught])
            self._before = replace(self._before, delays=delays)
        m = self._pulls()
        self._session.add_up("bucket", KEYS, SUMS, bucket_rows(self._before.id, closed))
        add_comparisons(self._session, self._before.id, compared)
        between = replace(self._mark_tried({one.arm for one in taught}), m=m())
        return advance(self._session, between, learner, "rewards", self._now, n_learned=len(taught))

    def _pulls(self) -> DeferredResult[int]:
        return pulls_to_plan(self._session, self._before.id, self._before.delays, self._now)

    def _plan_ahead(self) -> tuple[int, Snapshot, Learner | None]:
        """A version without news, if m has doubled: at most one per doubling until the next reward is learned."""
        m = self._pulls()()
        if not has_doubled(self._before.m, m):
            return 0, self._before, None
        before, learner = take_learner(self._session, self._cache, self._before, self._now)
        return 0, advance(self._session, replace(before, m=m), learner, "planned", self._now), learner

    def _mark_tried(self, taught: set[str]) -> Snapshot:
        """Mark the arms whose first reward this was."""
        new = {row.arm for row in self._before.arms if row.arm in taught and not row.tried}
        if not new:
            return self._before
        self._session.send(TRIED, experiment=self._before.id, arms=sorted(new))
        arms = tuple(row._replace(tried=True) if row.arm in new else row for row in self._before.arms)
        return replace(self._before, arms=arms)


def take_learner(session: Session, cache: SnapshotCache, snapshot: Snapshot, now: float) -> tuple[Snapshot, Learner]:
    """The learner to go on with, and the snapshot: that of a checkpoint, written here, if its rule was an older one."""
    learner = cache.take_learner(session, snapshot)
    if snapshot.rule == learner.rule_version:
        return snapshot, learner
    state = dump_learner(learner)
    old = {"rule": snapshot.rule, "checksum": snapshot.checksum}
    new = checkpoint_entry(learner.rule_version, state, snapshot.version + 1)
    after = advance(session, snapshot, learner, "checkpoint", now, detail=to_json(new))
    session.insert("checkpoint", CHECKPOINT, [(snapshot.id, after.version, snapshot.rule, state)])
    append_entry(session, now, "turncoat", "checkpoint", snapshot.key, before=old, after=new)
    return after, learner


def checkpoint_entry(rule: int, state: bytes, version: int) -> dict[str, Any]:
    """What version and audit say of a checkpoint."""
    return {"rule": rule, "checksum": checksum(state), "version": version}


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
    """Write the experiment's next version: the learner's state, and the probabilities served from this version on.

    `snapshot` is the previous one with the new arms, settings, m and delays. Only changes of arms and settings
    increment the revision.
    Version fence: a version is a primary key, so a second writer gets WriteConflict, and nothing of its pass is kept.
    """
    version = snapshot.version + 1
    revision = snapshot.revision + (kind not in ("rewards", "planned", "checkpoint", "repaired"))
    learned = n_learned > 0 or kind in ("opened", "checkpoint", "repaired", "arm_added", "arm_changed")
    served = served_by(learner, snapshot.active(), snapshot.m)
    session.send(ADVANCE, id=snapshot.id, old=snapshot.version, new=version, revision=revision)
    digest, rule = snapshot.checksum, snapshot.rule
    if learned:
        state, rule = dump_learner(learner), learner.rule_version
        digest = checksum(state)
        session.send(
            KEEP, id=snapshot.id, version=version, state=state, checksum=digest, rule=rule, delays=snapshot.delays
        )
    row = (
        snapshot.id,
        version,
        now,
        kind,
        detail,
        n_learned,
        to_json(served),
        digest,
        snapshot.m,
        control_json(snapshot),
    )
    session.insert("version", VERSION, [row])
    return replace(
        snapshot,
        version=version,
        revision=revision,
        probabilities=served,
        learner_version=version if learned else snapshot.learner_version,
        checksum=digest,
        rule=rule,
        distributions={},
    )


def observe(learner: Learner, rule: messages.RewardRule, index_of: Mapping[str, int], decisions: Iterable[Row]) -> None:
    """Tell the learner rewards, in this order, as losses in [0, 1]: the best is 0.

    A decision: its arm, propensity, the arms it was drawn from (JSON, or None for all), its version's m, its reward.
    """
    span = rule.max - rule.min
    for (m, allowed), together in groupby(decisions, key=_M_AND_ALLOWED):
        planned = m if m > 1 else None  # None: not checked
        told = [(index_of[arm], min(max((rule.max - value) / span, 0.0), 1.0), q) for arm, q, _, _, value in together]
        if allowed is None and len(told) > FEW:
            at_once = max(MOST_PLANNED_AT_ONCE // min(len(index_of), m), FEW)
            for begin in range(0, len(told), at_once):
                learner.observe_many(*zip(*told[begin : begin + at_once], strict=True), m=planned)
            continue
        among = None if allowed is None else [index_of[one] for one in msgspec.json.decode(allowed)]
        for index, loss, propensity in told:
            learner.observe(index, loss, propensity, allowed=among, m=planned)
