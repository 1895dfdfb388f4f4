"""Retention: decisions that closed more than `keep_days` ago are deleted, in the order in which they were applied.

A transaction deletes a batch. Sums of closed decisions (aggregates.py) and open decisions stay. Replaying begins at a
checkpoint (learn.py), so whatever was applied before the latest one may go: where a batch holds a decision that was
applied after it, the same transaction first writes another, of the kind `checkpoint`, with the stored state as it is.

`pruned_to` is the time of the latest decision that was pruned. An unknown decision whose id says an earlier time was
pruned, or never made, and a reward of it is late (rewards.py).

Versions that no decision refers to any more are thinned to a thousand or two by `thin`, evenly. It reads all remaining
decisions, so `turncoat prune` does it, and not the service.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import msgspec

from turncoat.service.errors import Damaged
from turncoat.service.experiments.audit import append_entry
from turncoat.service.experiments.comparisons import control_json
from turncoat.service.experiments.learn import ADVANCE, CHECKPOINT, VERSION, checkpoint_entry
from turncoat.service.experiments.snapshot import Config, Snapshot, to_json
from turncoat.service.experiments.snapshot_cache import STATE, UNREADABLE, SnapshotCache, checksum, read_snapshots
from turncoat.service.store.interface import Session, Store, StoreDown, StoreError, WriteConflict

DAY = 86_400.0
LOOK = 60.0  # seconds between looks for what is due
MOST = 250  # decisions deleted per transaction: callers wait for its end
LEAST_KEPT = 1000  # versions to which the pruned ones are thinned, at least
TRIES = 20  # after write conflicts
THINNED = 2048  # versions thinned per transaction, at least

OLDEST_AT = """
    SELECT e.id, e.config,
           (SELECT v.at FROM version v WHERE v.experiment = e.id AND v.version =
               (SELECT MIN(d.applied_version) FROM decision d
                WHERE d.experiment = e.id AND d.applied_version >= e.pruned_version))
    FROM experiment e ORDER BY e.id
"""
OLDEST = """
    SELECT d.id, d.applied_version, d.unit, d.decided_at, v.at
    FROM decision d JOIN version v ON v.experiment = d.experiment AND v.version = d.applied_version
    WHERE d.experiment = :experiment AND d.applied_version >= :first
    ORDER BY d.applied_version, d.applied_position LIMIT :limit
"""
DUE = """
    SELECT COUNT(*) FROM decision d JOIN version v ON v.experiment = d.experiment AND v.version = d.applied_version
    WHERE d.experiment = :experiment AND d.applied_version IS NOT NULL AND v.at <= :until
"""
# Searches begin at `pruned_version`: PostgreSQL would pass all that was pruned since the last vacuum.
SO_FAR = """
    SELECT e.pruned_version, COALESCE((SELECT MAX(c.version) FROM checkpoint c WHERE c.experiment = e.id), 0)
    FROM experiment e WHERE e.id = :experiment
"""
DELETE_PARTS = "DELETE FROM part WHERE decision_id IN :ids"
DELETE_REFUSED = "DELETE FROM refused WHERE decision_id IN :ids"
DELETE_STICKY = "DELETE FROM sticky WHERE unit IN :units AND decision_id IN :ids"
DELETE_DECISIONS = "DELETE FROM decision WHERE id IN :ids"
MARK = """
    UPDATE experiment SET pruned_version = :version, pruned_to = CASE WHEN pruned_to > :at THEN pruned_to ELSE :at END
    WHERE id = :experiment
"""

# The latest checkpoint, and the first version in which a decision that remains was closed. NULL: there is none.
PRUNED_BEFORE = """
    SELECT (SELECT COALESCE(MAX(c.version), 0) FROM checkpoint c WHERE c.experiment = :experiment),
           (SELECT MIN(d.applied_version) FROM decision d
            WHERE d.experiment = :experiment AND d.applied_version IS NOT NULL)
"""
# The version before a checkpoint, too: a service beside `turncoat prune` goes on drawing from it until its next write.
NEEDED = """
    SELECT DISTINCT d.version FROM decision d WHERE d.experiment = :experiment AND d.version <= :until
    UNION SELECT c.version - 1 FROM checkpoint c WHERE c.experiment = :experiment
"""
_SUPERFLUOUS = "{0}.kind IN ('rewards', 'planned') AND {0}.at <= :before AND NOT ({0}.version IN :needed)"
ADD_UP = f"""
    UPDATE version SET n_learned = n_learned + (
        SELECT COALESCE(SUM(o.n_learned), 0) FROM version o
        WHERE o.experiment = :experiment AND o.version > version.version - :step AND o.version < version.version
          AND {_SUPERFLUOUS.format("o")})
    WHERE experiment = :experiment AND version > :first AND version <= :last AND version % :step = 0
"""
THIN = f"""
    DELETE FROM version WHERE experiment = :experiment AND version > :first AND version <= :last
      AND version % :step <> 0 AND {_SUPERFLUOUS.format("version")}
"""


class OldDecision(NamedTuple):
    """One of the first that were closed, and when."""

    id: str
    applied_version: int
    unit: str | None
    decided_at: float
    closed_at: float


class Pruner:
    """Prunes while the service runs: at each call a batch of one experiment at most."""

    def __init__(self, store: Store, cache: SnapshotCache) -> None:
        self._store, self._cache = store, cache
        self.looked = float("-inf")
        self.due: list[int] = []  # experiments

    def work(self, now: float) -> None:
        """Delete a batch, if one is due. A damaged experiment is pruned once it is repaired."""
        if not 0.0 <= now - self.looked < LOOK:  # the clock may be set back
            self.looked = now
            with self._store.reading() as session:
                self.due = list(_due(session, now))
        if not self.due:
            return
        try:
            has_more = prune_some(self._store, self._cache, now, self.due[0]) == MOST
        except WriteConflict:
            has_more = True
        except StoreDown:
            raise
        except (StoreError, Damaged):
            has_more = False
        if not has_more:
            self.due.pop(0)


def _due(session: Session, now: float) -> Iterator[int]:
    for number, config, oldest in session.rows(OLDEST_AT):
        try:
            keep_days = msgspec.json.decode(config, type=Config).keep_days
        except UNREADABLE:  # it is pruned once it can be read
            continue
        if keep_days is not None and oldest is not None and oldest <= now - keep_days * DAY:
            yield number


def prune(store: Store, now: float, experiment: int, keep_days: float, actor: str) -> Iterator[int]:
    """Delete all that is due; how many decisions, for each transaction."""
    cache, n, tries = SnapshotCache(store), MOST, TRIES
    while n == MOST:
        try:
            n = prune_some(store, cache, now, experiment, keep_days=keep_days, actor=actor, wait=True)
        except WriteConflict:
            tries -= 1
            if not tries:
                raise
        else:
            yield n


def prune_some(
    store: Store,
    cache: SnapshotCache,
    now: float,
    experiment: int,
    *,
    keep_days: float | None = None,
    actor: str = "turncoat",
    wait: bool = False,
) -> int:
    """Delete a batch; how many decisions (MOST: there may be more). `keep_days`: in place of the experiment's own."""
    try:
        with store.transaction() as session:
            session.lock_settings()  # for the audit, and first, as changes do, so that the two cannot deadlock
            if session.lock_experiment(experiment, wait=wait)() is None:  # another process is at it
                return 0
            (before,) = read_snapshots(session, "WHERE e.id = :id", id=experiment)
            kept = before.config.keep_days if keep_days is None else keep_days
            first, checkpoint = session.rows(SO_FAR, experiment=experiment)[0]
            old = [] if kept is None else _older(session, experiment, first, now - kept * DAY)
            if kept is None or not old:
                return 0
            after = before
            if old[-1].applied_version > checkpoint:
                after = _write_checkpoint(session, before, now, kept, actor)
            _delete(session, experiment, old)
    except BaseException:
        cache.invalidate(experiment)
        raise
    if after is not before:
        cache.publish(after)
    return len(old)


def count_due(session: Session, experiment: int, until: float) -> int:
    """How many decisions closed by then."""
    return int(session.rows(DUE, experiment=experiment, until=until)[0][0])


def _older(session: Session, experiment: int, first: int, until: float) -> list[OldDecision]:
    """The first that were closed, as far as that was by then: a version dated later holds up what follows it."""
    rows = session.rows(OLDEST, experiment=experiment, first=first, limit=MOST)
    return list(takewhile(lambda one: one.closed_at <= until, (OldDecision(*row) for row in rows)))


def _write_checkpoint(session: Session, before: Snapshot, now: float, keep_days: float, actor: str) -> Snapshot:
    """A version that changes nothing, from which the log is replayed: the stored state, byte for byte."""
    ((_, state, digest),) = session.rows(STATE, id=before.id)
    if checksum(bytes(state)) != digest:
        raise StoreError(f"the learner's state in {before.key!r} is not as it was written; nothing was pruned")
    version = before.version + 1
    old = {"rule": before.rule, "checksum": digest}
    new = checkpoint_entry(before.rule, bytes(state), version) | {"reason": "pruned", "keep_days": keep_days}
    session.send(ADVANCE, id=before.id, old=before.version, new=version, revision=before.revision)
    served = to_json(before.probabilities)
    row = (before.id, version, now, "checkpoint", to_json(new), 0, served, digest, before.m, control_json(before))
    session.insert("version", VERSION, [row])
    session.insert("checkpoint", CHECKPOINT, [(before.id, version, before.rule, bytes(state))])
    append_entry(session, now, actor, "checkpoint", before.key, before=old, after=new)
    return replace(before, version=version, distributions={})


def _delete(session: Session, experiment: int, old: list[OldDecision]) -> None:
    """The decisions, and all that belongs to them."""
    ids = sorted(one.id for one in old)
    units = sorted({one.unit for one in old if one.unit is not None})
    if units:
        session.run(DELETE_STICKY, units=units, ids=ids)
    session.run(DELETE_PARTS, ids=ids)
    session.run(DELETE_REFUSED, ids=ids)
    session.run(DELETE_DECISIONS, ids=ids)
    until = max(one.decided_at for one in old)
    session.run(MARK, experiment=experiment, version=old[-1].applied_version, at=until)


def thin(store: Store, experiment: int, now: float) -> Iterator[int]:
    """Delete most versions of the time whose decisions are pruned; how many, for each transaction.

    Multiples of a power of two stay, and n_learned of what goes is added to the next of them. Charts and timeline show
    multiples of such a power (queries.even_step), so they lose nothing. Versions of arms and settings stay.
    """
    with store.reading() as session:
        until = (
            min(number for number in session.rows(PRUNED_BEFORE, experiment=experiment)[0] if number is not None) - 1
        )
        step = 1
        while until // (2 * step) >= LEAST_KEPT:
            step *= 2
        if step == 1:
            return
        needed = [version for (version,) in session.rows(NEEDED, experiment=experiment, until=until)]
    size = max(step, THINNED // step * step)
    for first in range(0, until // step * step, size):
        last = min(first + size, until // step * step)
        among = {"experiment": experiment, "first": first, "last": last, "step": step}
        kept = sorted(version for version in needed if first < version <= last)
        with store.transaction() as session:
            session.run(ADD_UP, **among, before=now - DAY, needed=kept)
            n = session.run(THIN, **among, before=now - DAY, needed=kept)
        yield n
