"""Is what is stored what the log says? Every learner is rebuilt from the log alone, and compared.

The log holds all that was learned, with the version and the position it was learned at; versions hold when arms came
and went. On the machine it was computed on, the rebuilt state must be the stored one, byte for byte; elsewhere (another
processor, another version of numba) its numbers must be the same to 1e-9.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from turncoat.service.experiments import audit
from turncoat.service.experiments.learn import allowed_indices, loss_of
from turncoat.service.experiments.snapshot import Learner, Snapshot
from turncoat.service.experiments.snapshot_cache import checksum, machine, read_present, revived, written
from turncoat.service.store.interface import Row, Session

PAGE = 5000
TOLERANCE = 1e-9
CHECKPOINTS = 100  # versions whose checksums are compared on the way, so that a difference can be dated

VERSIONS = """
    SELECT version, kind, detail, checksum FROM version
    WHERE experiment = :id AND version > :after ORDER BY version LIMIT :limit
"""
LEARNED = """
    SELECT applied_version, applied_position, arm, propensity, allowed, reward FROM decision
    WHERE experiment = :id AND stream = 'learn' AND reward IS NOT NULL
      AND (applied_version > :version OR (applied_version = :version AND applied_position > :position))
    ORDER BY applied_version, applied_position LIMIT :limit
"""
UNWRITTEN = """
    SELECT e.key FROM experiment e
    WHERE e.revision <> (SELECT COUNT(*) FROM audit a WHERE a.experiment = e.key)
"""
STORED = """
    SELECT l.state, l.first_state, e.machine, (SELECT MAX(version) FROM version WHERE experiment = :id)
    FROM learner l JOIN experiment e ON e.id = l.experiment WHERE l.experiment = :id
"""

Progress = Callable[[int, int], None]  # versions done, versions in all


@dataclass(frozen=True)
class Replayed:
    """What came of it."""

    key: str
    versions: int
    learned: int
    identical: bool  # byte for byte
    close: bool  # to 1e-9
    same_machine: bool
    first_difference: int | None  # the first version looked at on the way that differed

    @property
    def good(self) -> bool:
        """Whether the stored state is what the log says."""
        return self.identical or (self.close and not self.same_machine)


def replay(session: Session, key: str, progress: Progress = lambda done, of: None) -> Replayed:
    """Rebuild the learner of an experiment, and compare."""
    snapshot = read_present(session, key)
    stored, first, made_on, n_versions = session.rows(STORED, id=snapshot.id)[0]
    learner = revived(first)
    states = dict.fromkeys(learner.arms, "active")
    rewards = _Rewards(session, snapshot)
    every, learned, differed = max(n_versions // CHECKPOINTS, 1), 0, None
    for version, kind, detail, expected in _versions(session, snapshot.id):
        if kind in ("arm_added", "arm_changed"):
            _arm(learner, states, msgspec.json.decode(detail))
        for row in rewards.of(version):
            _observe(learner, row, snapshot)
            learned += 1
        if version % every == 0:
            progress(version, n_versions)
            if differed is None and checksum(written(learner)) != expected:
                differed = version
    rebuilt = written(learner)
    return Replayed(
        key=key,
        versions=n_versions,
        learned=learned,
        identical=rebuilt == bytes(stored),
        close=_close(rebuilt, bytes(stored)),
        same_machine=made_on == machine(),
        first_difference=differed,
    )


def broken_audit(session: Session) -> int | None:
    """The first entry of the audit that is not as it was written, or is not there; None if all are."""
    rows = session.rows(f"SELECT {', '.join(audit.COLUMNS)} FROM audit ORDER BY seq")
    broken = audit.first_broken(rows)
    if broken is None and session.rows(UNWRITTEN):
        return len(rows) + 1  # a chain that is cut off at its end is whole; but every revision has an entry
    return broken


def _versions(session: Session, experiment: int) -> Iterator[Row]:
    after = 0
    while rows := session.rows(VERSIONS, id=experiment, after=after, limit=PAGE):
        yield from rows
        after = rows[-1][0]


class _Rewards:
    """What was learned, in order, read a page at a time."""

    def __init__(self, session: Session, snapshot: Snapshot) -> None:
        self._session, self._id = session, snapshot.id
        self._rows = self._all()
        self._next = next(self._rows, None)

    def _all(self) -> Iterator[Row]:
        version, position = 0, -1
        while rows := self._session.rows(LEARNED, id=self._id, version=version, position=position, limit=PAGE):
            yield from rows
            version, position = rows[-1][:2]

    def of(self, version: int) -> Iterator[Row]:
        """Those of one version."""
        while self._next is not None and self._next[0] == version:
            yield self._next
            self._next = next(self._rows, None)


def _observe(learner: Learner, row: Row, snapshot: Snapshot) -> None:
    _, _, arm, propensity, allowed, reward = row
    index_of = {label: index for index, label in enumerate(learner.arms)}
    learner.observe(
        index_of[arm],
        loss_of(reward, snapshot.config.reward),
        propensity,
        allowed=allowed_indices(allowed, index_of),
    )


def _arm(learner: Learner, states: dict[str, str], change: dict[str, str]) -> None:
    """What a change of an arm meant for the learner."""
    arm, before = change["arm"], states.get(change["arm"], "pending")
    after = change.get("state", before)
    if before == "pending" and after == "active":
        learner.add_arm(arm)
    elif before in ("active", "paused") and after == "retired":
        learner.retire_arm(arm)
    states[arm] = after


def _close(rebuilt: bytes, stored: bytes) -> bool:
    """Are the numbers the same to 1e-9, and everything else exactly?"""
    ours, theirs = msgspec.json.decode(rebuilt), msgspec.json.decode(stored)
    mine, other = (np.frombuffer(base64.b64decode(state.pop("buffer"))) for state in (ours, theirs))
    if ours != theirs or mine.shape != other.shape:
        return False
    return bool(np.allclose(mine, other, rtol=TOLERANCE, atol=TOLERANCE))
