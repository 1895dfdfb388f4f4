"""The snapshot cache: the snapshots that this process draws decisions from, and their learners."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from importlib import metadata
from typing import Any, NamedTuple, cast, get_args

import msgspec

from turncoat._version import __version__
from turncoat.errors import StateError
from turncoat.optional_imports import require
from turncoat.service import messages
from turncoat.service.errors import Damaged, NotFound
from turncoat.service.experiments.snapshot import ArmRow, Config, Learner, Snapshot
from turncoat.service.store.interface import Row, Session, Store, WriteConflict

NUMBERS = "SELECT id, version FROM experiment"
HEADS = """
    SELECT e.id, e.key, e.created_at, e.config, e.state, e.revision, e.version, e.seed, e.salt,
           v.probabilities, COALESCE(l.version, 0), COALESCE(l.checksum, ''), COALESCE(l.rule, 0), v.m, l.delays
    FROM experiment e LEFT JOIN version v ON v.experiment = e.id AND v.version = e.version
    LEFT JOIN learner l ON l.experiment = e.id
"""
STATE = "SELECT version, state, checksum FROM learner WHERE experiment = :id"
ARMS = """
    SELECT a.experiment, a.arm, a.position, a.state, a.floor, a.cap, a.payload, a.tried
    FROM arm a WHERE a.experiment IN
"""
STATES, ARM_STATES = get_args(messages.ExperimentState), get_args(messages.ArmState)
UNREADABLE = (msgspec.MsgspecError, ValueError, TypeError)  # what decoding a damaged column raises
ROUNDING = 1e-9  # by which stored probabilities may miss a sum of 1


class Unreadable(NamedTuple):
    """An experiment whose stored snapshot or settings cannot be used."""

    id: int
    key: str
    version: int
    problem: Damaged
    config: Config | None  # if it can be read


class SnapshotCache:
    """Snapshots by key. This process's own changes are here at once; those of other processes after `refresh`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_key: dict[str, Snapshot] = {}
        self._by_id: dict[int, Snapshot] = {}
        self._learners: dict[int, tuple[int, Learner]] = {}
        self._unreadable: dict[int, Unreadable] = {}
        self.needs_refresh = False  # whether a change of unknown outcome may have been recorded

    def get(self, key: str) -> Snapshot:
        """The snapshot of an experiment. Raises Damaged if the stored one cannot be used."""
        if key not in self._by_key:
            for one in self._unreadable.values():
                if one.key == key:
                    raise one.problem.with_traceback(None)
            raise NotFound(f"there is no experiment {key!r}", field="key")
        return self._by_key[key]

    def has(self, key: str) -> bool:
        """Whether an experiment of this key is cached, or known to be unreadable."""
        return key in self._by_key or any(one.key == key for one in self._unreadable.values())

    def by_id(self, experiment: int) -> Snapshot | None:
        """The snapshot of the experiment with this number."""
        return self._by_id.get(experiment)

    def config(self, experiment: int) -> Config:
        """The settings of the experiment of a recorded decision. Raises Damaged if they cannot be read."""
        config = self._recorded(experiment).config
        if config is None:
            raise self._unreadable[experiment].problem.with_traceback(None)
        return config

    def key(self, experiment: int) -> str:
        """The key of the experiment of a recorded decision."""
        return self._recorded(experiment).key

    def _recorded(self, experiment: int) -> Snapshot | Unreadable:
        found = self._by_id.get(experiment) or self._unreadable.get(experiment)
        if found is None:  # opened by another process, not in this cache yet
            raise WriteConflict("the experiment is new here")
        return found

    def refresh(self) -> None:
        """Read what has changed."""
        with self._store.reading() as session:
            self.refresh_from(session)

    def refresh_from(self, session: Session) -> set[int]:
        """Read the experiments whose version has changed; return their numbers."""
        known = {one.id: one.version for one in self._by_id.values()}
        known |= {one.id: one.version for one in self._unreadable.values()}
        new = [number for number, version in session.rows(NUMBERS) if known.get(number) != version]
        unreadable: list[Unreadable] = []
        for snapshot in read_snapshots(session, "WHERE e.id IN :ids", unreadable, ids=new) if new else []:
            self.publish(snapshot)
        for one in unreadable:
            self._by_key.pop(one.key, None)
            self._by_id.pop(one.id, None)
            self._unreadable[one.id] = one
        self.needs_refresh = False
        return set(new)

    def publish(self, snapshot: Snapshot, learner: Learner | None = None) -> None:
        """Replace the experiment's snapshot, and its learner if given."""
        self._unreadable.pop(snapshot.id, None)
        self._by_key[snapshot.key] = self._by_id[snapshot.id] = snapshot
        if learner is not None:
            self._learners[snapshot.id] = snapshot.learner_version, learner

    def invalidate(self, experiment: int) -> None:
        """Drop the learner after a failed change, or one of unknown outcome; it is read again when next needed."""
        self._learners.pop(experiment, None)
        self.needs_refresh = True

    def unreadable(self) -> list[Unreadable]:
        """The experiments whose stored snapshot or settings cannot be used."""
        return list(self._unreadable.values())

    def lacks_config(self, experiment: int) -> bool:
        """Whether the stored settings of the experiment cannot be read."""
        return experiment in self._unreadable and self._unreadable[experiment].config is None

    def read_again(self, experiment: int) -> Snapshot | None:
        """The snapshot of an experiment that could not be read, or was not known. Raises Damaged if it still cannot."""
        self._unreadable.pop(experiment, None)
        self.refresh()
        if experiment in self._unreadable:
            raise self._unreadable[experiment].problem.with_traceback(None)
        return self._by_id.get(experiment)

    def learner(self, snapshot: Snapshot) -> Learner:
        """The learner as it was at this snapshot. Raises WriteConflict if the store is at a later version."""
        version, learner = self._learners.get(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            with self._store.reading() as session:
                version, learner = read_learner(session, snapshot)
            if version != snapshot.learner_version:
                raise WriteConflict
            self._learners[snapshot.id] = version, learner
        return learner

    def take_learner(self, session: Session, snapshot: Snapshot) -> Learner:
        """The learner as it stands in this transaction, removed from the cache: the caller changes and publishes it."""
        version, learner = self._learners.pop(snapshot.id, (None, None))
        if learner is None or version != snapshot.learner_version:
            _, learner = read_learner(session, snapshot)
        return learner


def read_snapshots(
    session: Session, which: str = "ORDER BY e.id", unreadable: list[Unreadable] | None = None, **values: Any
) -> list[Snapshot]:
    """Experiments as they stand in this transaction. `which`: the end of the SQL query, on experiments `e`.

    One that cannot be used is added to `unreadable`, or raised as Damaged if there is no such list.
    """
    heads = session.send(f"{HEADS} {which}", **values)
    all_arms = f"{ARMS} (SELECT e.id FROM experiment e {which}) ORDER BY a.position"
    arms: dict[int, list[Row]] = {}
    for number, *arm in session.rows(all_arms, **values):
        arms.setdefault(number, []).append(tuple(arm))
    found: list[Snapshot] = []
    for head in heads():
        try:
            found.append(_snapshot(head, arms.get(head[0], [])))
        except Damaged as problem:
            if unreadable is None:
                raise
            config = _config(head[1], head[3]) if problem.part == "snapshot" else None
            unreadable.append(Unreadable(head[0], head[1], head[6], problem, config))
    return found


def _snapshot(head: Row, arms: Sequence[Row]) -> Snapshot:
    number, key, created_at, config, state, revision, version, seed, salt, served, *rest = head
    settings = _config(key, config)
    with damaging(key, "settings", "its state and arms cannot be read"):
        if state not in STATES or not arms:
            raise ValueError(f"its state is {state!r} and it has {len(arms)} arms")
    rows = tuple(_arm(key, row) for row in arms)
    with damaging(key, "snapshot", f"the probabilities of version {version} cannot be used"):
        shares = checked_shares(served, {row.arm for row in rows})
        if not isinstance(rest[3], int) or rest[3] < 1:
            raise ValueError(f"m is {rest[3]!r}")
    numbers = number, key, created_at, settings, state, revision, version, seed, salt
    return Snapshot(*numbers, rows, shares, *rest)


def _config(key: str, stored: str) -> Config:
    with damaging(key, "settings", "its settings cannot be read"):
        return msgspec.json.decode(stored, type=Config)


def _arm(key: str, row: Row) -> ArmRow:
    arm, position, state, floor, cap, payload, tried = row
    with damaging(key, "settings", f"its arm {arm!r} cannot be read"):
        if state not in ARM_STATES:
            raise ValueError(f"its state is {state!r}")
        return ArmRow(arm, position, state, float(floor), float(cap), msgspec.json.decode(payload), bool(tried))


def checked_shares(stored: str, arms: Set[str]) -> dict[str, float]:
    """Stored probabilities, of these arms or some of them. Raises ValueError unless they are a distribution."""
    shares = msgspec.json.decode(stored, type=dict[str, float])
    total = math.fsum(shares.values())
    if not arms >= shares.keys() or min(shares.values(), default=0.0) < 0.0 or abs(total - bool(shares)) > ROUNDING:
        raise ValueError(f"they sum to {total!r}")
    return shares


@contextmanager
def damaging(key: str, part: str, what: str) -> Iterator[None]:
    """What decoding raises in the block, as the damage to a part of an experiment."""
    try:
        yield
    except UNREADABLE as problem:
        raise Damaged.of(key, part, f"{what} ({problem})") from problem


def read_snapshot(session: Session, key: str) -> Snapshot:
    """An experiment as it stands in this transaction."""
    found = read_snapshots(session, "WHERE e.key = :key", key=key)
    if not found:
        raise NotFound(f"there is no experiment {key!r}", field="key")
    return found[0]


def read_learner(session: Session, snapshot: Snapshot) -> tuple[int, Learner]:
    """The version of an experiment's learner, and the learner."""
    found = session.rows(STATE, id=snapshot.id)
    if not found:
        raise Damaged.of(snapshot.key, "learner", "its learner is missing")
    version, state, digest = found[0]
    if checksum(bytes(state)) != digest:
        raise Damaged.of(snapshot.key, "learner", "its learner's state is not as it was written")
    try:
        return version, load_learner(state)
    except StateError as problem:  # written by a newer Turncoat, for example
        what = f"its learner's state cannot be read ({problem})"
        raise Damaged.of(snapshot.key, "learner", what, can_repair=False) from problem


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
