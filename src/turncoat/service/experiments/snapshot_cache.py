"""The snapshot cache: the snapshots that this process draws decisions from, and their learners."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from importlib import metadata
from typing import Any, cast

import msgspec

from turncoat._version import __version__
from turncoat.errors import StateError
from turncoat.optional_imports import require
from turncoat.service.errors import NotFound
from turncoat.service.experiments.snapshot import ArmRow, Config, Learner, Snapshot
from turncoat.service.store.interface import Row, Session, Store, StoreError, WriteConflict

NUMBERS = "SELECT id, version FROM experiment"
HEADS = """
    SELECT e.id, e.key, e.created_at, e.config, e.state, e.revision, e.version, e.seed, e.salt,
           v.probabilities, l.version, l.checksum, l.rule, v.m, l.delays
    FROM experiment e JOIN version v ON v.experiment = e.id AND v.version = e.version
    JOIN learner l ON l.experiment = e.id
"""
STATE = "SELECT version, state, checksum FROM learner WHERE experiment = :id"
ARMS = """
    SELECT a.experiment, a.arm, a.position, a.state, a.floor, a.cap, a.payload, a.tried
    FROM arm a WHERE a.experiment IN
"""


class SnapshotCache:
    """Snapshots by key. This process's own changes are here at once; those of other processes after `refresh`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_key: dict[str, Snapshot] = {}
        self._by_id: dict[int, Snapshot] = {}
        self._learners: dict[int, tuple[int, Learner]] = {}
        self.needs_refresh = False  # whether a change of unknown outcome may have been recorded

    def __iter__(self) -> Iterator[Snapshot]:
        """In the order in which they were opened."""
        return iter([self._by_id[number] for number in sorted(self._by_id)])

    def get(self, key: str) -> Snapshot:
        """The snapshot of an experiment."""
        if key not in self._by_key:
            raise NotFound(f"there is no experiment {key!r}", field="key")
        return self._by_key[key]

    def has(self, key: str) -> bool:
        """Whether an experiment of this key is cached."""
        return key in self._by_key

    def by_id(self, experiment: int) -> Snapshot | None:
        """The snapshot of the experiment with this number."""
        return self._by_id.get(experiment)

    def config(self, experiment: int) -> Config:
        """The settings of the experiment of a recorded decision."""
        return self._recorded(experiment).config

    def key(self, experiment: int) -> str:
        """The key of the experiment of a recorded decision."""
        return self._recorded(experiment).key

    def _recorded(self, experiment: int) -> Snapshot:
        snapshot = self._by_id.get(experiment)
        if snapshot is None:  # opened by another process, not in this cache yet
            raise WriteConflict("the experiment is new here")
        return snapshot

    def refresh(self) -> None:
        """Read what has changed."""
        with self._store.reading() as session:
            self.refresh_from(session)

    def refresh_from(self, session: Session) -> set[int]:
        """Read the experiments whose version has changed; return their numbers."""
        known = {snapshot.id: snapshot.version for snapshot in self._by_id.values()}
        new = [number for number, version in session.rows(NUMBERS) if known.get(number) != version]
        for snapshot in read_snapshots(session, "WHERE e.id IN :ids", ids=new) if new else []:
            self.publish(snapshot)
        self.needs_refresh = False
        return set(new)

    def publish(self, snapshot: Snapshot, learner: Learner | None = None) -> None:
        """Replace the experiment's snapshot, and its learner if given."""
        self._by_key[snapshot.key] = self._by_id[snapshot.id] = snapshot
        if learner is not None:
            self._learners[snapshot.id] = snapshot.learner_version, learner

    def invalidate(self, experiment: int) -> None:
        """Drop the learner after a failed change, or one of unknown outcome; it is read again when next needed."""
        self._learners.pop(experiment, None)
        self.needs_refresh = True

    def learner(self, snapshot: Snapshot) -> Learner:
        """The learner as it was at this snapshot. Raises WriteConflict if the store is at a later version."""
        version, learner = self._learners.get(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            with self._store.reading() as session:
                version, learner = read_learner(session, snapshot.id)
            if version != snapshot.learner_version:
                raise WriteConflict
            self._learners[snapshot.id] = version, learner
        return learner

    def take_learner(self, session: Session, snapshot: Snapshot) -> Learner:
        """The learner as it stands in this transaction, removed from the cache: the caller changes and publishes it."""
        version, learner = self._learners.pop(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            _, learner = read_learner(session, snapshot.id)
        return learner


def read_snapshots(session: Session, which: str = "ORDER BY e.id", **values: Any) -> list[Snapshot]:
    """Experiments as they stand in this transaction. `which`: the end of the SQL query, on experiments `e`."""
    heads = session.send(f"{HEADS} {which}", **values)
    all_arms = f"{ARMS} (SELECT e.id FROM experiment e {which}) ORDER BY a.position"
    arms: dict[int, list[ArmRow]] = {}
    for number, arm, position, state, floor, cap, payload, tried in session.rows(all_arms, **values):
        row = ArmRow(arm, position, state, floor, cap, msgspec.json.decode(payload), bool(tried))
        arms.setdefault(number, []).append(row)
    return [_snapshot(head, tuple(arms[head[0]])) for head in heads()]


def _snapshot(head: Row, arms: tuple[ArmRow, ...]) -> Snapshot:
    number, key, created_at, config, state, revision, version, seed, salt, served, *rest = head
    settings, shares = msgspec.json.decode(config, type=Config), msgspec.json.decode(served)
    numbers = number, key, created_at, settings, state, revision, version, seed, salt
    return Snapshot(*numbers, arms, shares, *rest)


def read_snapshot(session: Session, key: str) -> Snapshot:
    """An experiment as it stands in this transaction."""
    found = read_snapshots(session, "WHERE e.key = :key", key=key)
    if not found:
        raise NotFound(f"there is no experiment {key!r}", field="key")
    return found[0]


def read_learner(session: Session, experiment: int) -> tuple[int, Learner]:
    """The version of an experiment's learner, and the learner."""
    version, state, digest = session.rows(STATE, id=experiment)[0]
    if checksum(bytes(state)) != digest:
        raise StoreError(f"the learner's state in experiment {experiment} is not as it was written; restore a backup")
    try:
        return version, load_learner(state)
    except StateError as problem:  # written by a newer Turncoat, for example
        raise StoreError(f"the learner's state in experiment {experiment} cannot be read: {problem}") from problem


# Lazy imports: learners import numpy and numba, and a starting service should not wait for them.


def new_learner(arms: list[str], seed: int) -> Learner:
    """A new learner."""
    from turncoat.learners import Turncoat

    return Turncoat(arms, seed=seed)


def rule_now() -> int:
    """The version of the rule that learners follow now."""
    from turncoat.learners import Turncoat

    return Turncoat.rule_version


def load_learner(state: bytes) -> Learner:
    """The learner of a stored state."""
    from turncoat.learners import restore

    return cast(Learner, restore(msgspec.json.decode(bytes(state))))


def dump_learner(learner: Learner) -> bytes:
    """A learner's state, as bytes to store."""
    return msgspec.json.encode(learner.state())


def checksum(state: bytes) -> str:
    """SHA-256 of a state."""
    return hashlib.sha256(state).hexdigest()


def machine() -> str:
    """All that floating-point results can depend on in their last digits: processor, compiler and libraries."""
    cpu = require("llvmlite.binding", "the service", "serve").get_host_cpu_name()
    numpy, numba = map(metadata.version, ("numpy", "numba"))
    return f"turncoat {__version__}, numpy {numpy}, numba {numba}, {platform.machine()} {cpu}"
