"""The snapshots that decisions are drawn from, and the learners behind them, as far as this process knows them."""

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
from turncoat.service.store.interface import Raced, Row, Session, Store, StoreError

NUMBERS = "SELECT id, version FROM experiment"
HEADS = """
    SELECT e.id, e.key, e.created_at, e.config, e.state, e.revision, e.version, e.seed, e.salt,
           v.probabilities, l.version, l.checksum
    FROM experiment e JOIN version v ON v.experiment = e.id AND v.version = e.version
    JOIN learner l ON l.experiment = e.id
"""
STATE = "SELECT version, state, checksum FROM learner WHERE experiment = :id"
ARMS = """
    SELECT a.experiment, a.arm, a.position, a.state, a.floor, a.cap, a.payload, a.tried
    FROM arm a WHERE a.experiment IN
"""


class Book:
    """Everything by key. What this process publishes is here at once; what others do, after `refresh`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_key: dict[str, Snapshot] = {}
        self._by_id: dict[int, Snapshot] = {}
        self._learners: dict[int, tuple[int, Learner]] = {}
        self.in_doubt = False  # whether a change may have been recorded that is not here

    def __iter__(self) -> Iterator[Snapshot]:
        """In the order in which they were opened."""
        return iter([self._by_id[number] for number in sorted(self._by_id)])

    def get(self, key: str) -> Snapshot:
        """The snapshot of an experiment."""
        try:
            return self._by_key[key]
        except KeyError:
            raise NotFound(f"there is no experiment {key!r}", field="key") from None

    def has(self, key: str) -> bool:
        """Is there one of this name, as far as is known here?"""
        return key in self._by_key

    def of(self, experiment: int) -> Snapshot | None:
        """The snapshot of the experiment of this number."""
        return self._by_id.get(experiment)

    def refresh(self) -> None:
        """Read what has changed."""
        with self._store.reading() as session:
            self.look(session)

    def look(self, session: Session) -> set[int]:
        """Read what has changed by now, and say which experiments have."""
        known = {snapshot.id: snapshot.version for snapshot in self._by_id.values()}
        new = [number for number, version in session.rows(NUMBERS) if known.get(number) != version]
        for snapshot in read_snapshots(session, "WHERE e.id IN :ids", ids=new) if new else []:
            self.publish(snapshot)
        self.in_doubt = False
        return set(new)

    def publish(self, snapshot: Snapshot, learner: Learner | None = None) -> None:
        """From now on decisions are drawn from this one."""
        self._by_key[snapshot.key] = self._by_id[snapshot.id] = snapshot
        if learner is not None:
            self._learners[snapshot.id] = snapshot.learner_version, learner

    def doubt(self, experiment: int) -> None:
        """A change of it has failed, or its end is not known: read it again before it is next needed."""
        self._learners.pop(experiment, None)
        self.in_doubt = True

    def learner(self, snapshot: Snapshot) -> Learner:
        """The learner as it was at this snapshot. Raises Raced if other processes have gone on."""
        version, learner = self._learners.get(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            with self._store.reading() as session:
                version, learner = read_learner(session, snapshot.id)
            if version != snapshot.learner_version:
                raise Raced
            self._learners[snapshot.id] = version, learner
        return learner

    def learner_at(self, session: Session, snapshot: Snapshot) -> Learner:
        """The learner exactly as it stands in this transaction, to be changed."""
        version, learner = self._learners.get(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            _, learner = read_learner(session, snapshot.id)
        self._learners.pop(snapshot.id, None)  # until it is published, or read again
        return learner


def read_snapshots(session: Session, which: str = "ORDER BY e.id", **values: Any) -> list[Snapshot]:
    """Experiments as they stand in this transaction. Which, and in which order: the end of a query about `e`."""
    heads = session.send(f"{HEADS} {which}", **values)
    all_arms = f"{ARMS} (SELECT e.id FROM experiment e {which}) ORDER BY a.position"
    arms: dict[int, list[ArmRow]] = {}
    for number, arm, position, state, floor, cap, payload, tried in session.rows(all_arms, **values):
        row = ArmRow(arm, position, state, floor, cap, msgspec.json.decode(payload), bool(tried))
        arms.setdefault(number, []).append(row)
    return [_snapshot(head, tuple(arms[head[0]])) for head in heads()]


def _snapshot(head: Row, arms: tuple[ArmRow, ...]) -> Snapshot:
    number, key, created_at, config, state, revision, version, seed, salt, served, learner_version, digest = head
    return Snapshot(
        id=number,
        key=key,
        created_at=created_at,
        config=msgspec.json.decode(config, type=Config),
        state=state,
        revision=revision,
        version=version,
        seed=seed,
        salt=salt,
        arms=arms,
        probabilities=msgspec.json.decode(served),
        learner_version=learner_version,
        checksum=digest,
    )


def read_present(session: Session, key: str) -> Snapshot:
    """An experiment as it stands in this transaction."""
    found = read_snapshots(session, "WHERE e.key = :key", key=key)
    if not found:
        raise NotFound(f"there is no experiment {key!r}", field="key")
    return found[0]


def read_learner(session: Session, experiment: int) -> tuple[int, Learner]:
    """Its learner, and of which version it is."""
    version, state, digest = session.rows(STATE, id=experiment)[0]
    if checksum(bytes(state)) != digest:
        raise StoreError(f"the learner's state in experiment {experiment} is not as it was written; restore a backup")
    try:
        return version, revived(state)
    except StateError as problem:  # a newer version's, say
        raise StoreError(f"the learner's state in experiment {experiment} cannot be read: {problem}") from problem


# Learners bring numpy and the compiler with them: imports that a service which begins need not wait for.


def newborn(arms: list[str], seed: int) -> Learner:
    """A learner that knows nothing yet."""
    from turncoat.learners import Turncoat

    return Turncoat(arms, seed=seed)


def revived(state: bytes) -> Learner:
    """The learner that was written down."""
    from turncoat.learners import restore

    return cast(Learner, restore(msgspec.json.decode(bytes(state))))


def written(learner: Learner) -> bytes:
    """A learner's state as it is stored."""
    return msgspec.json.encode(learner.state())


def checksum(state: bytes) -> str:
    """By which two states are known to be the same."""
    return hashlib.sha256(state).hexdigest()


def machine() -> str:
    """What numbers depend on in their last digits: processor, compiler and libraries."""
    cpu = require("llvmlite.binding", "the service", "serve").get_host_cpu_name()
    numpy, numba = map(metadata.version, ("numpy", "numba"))
    return f"turncoat {__version__}, numpy {numpy}, numba {numba}, {platform.machine()} {cpu}"
