"""Verification: every learner is rebuilt from the log alone and compared with the stored state.

The log holds every reward that was learned, with its version and position; versions hold the changes of arms, and how
many pulls were planned ahead where a decision was drawn. On the machine that computed it, the rebuilt state must be the
stored one, byte for byte; elsewhere (another processor, another version of numba) its numbers must agree to 1e-9. What
an older rule of the learner learned cannot be replayed, nor what was pruned (retention.py): then the log is replayed
from the latest checkpoint (learn.py), whose state must have the checksum that version and audit say. Before that every
row is read by itself (integrity.py).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from turncoat._version import __version__
from turncoat.errors import StateError
from turncoat.service.experiments import audit
from turncoat.service.experiments.integrity import Finding, Head, findings, read_head
from turncoat.service.experiments.learn import checkpoint_entry, observe
from turncoat.service.experiments.snapshot import Learner, served_by, to_json
from turncoat.service.experiments.snapshot_cache import (
    UNREADABLE,
    checked_shares,
    checksum,
    load_learner,
    machine,
    rule_now,
)
from turncoat.service.store.interface import Row, Session, StoreDown

PAGE = 5000
TOLERANCE = 1e-9
NEAR = 1e-6  # by which published probabilities may differ: small differences of states grow in them
COMPARED = 100  # versions whose checksums are compared, so that a difference can be dated
PRUNED = ',"reason":"pruned"'  # in the detail of a checkpoint (retention.py)
RELEASE = "turncoat"  # the field of a state that holds the version of Turncoat that wrote it

VERSIONS = """
    SELECT version, kind, detail, checksum FROM version
    WHERE experiment = :id AND version > :after ORDER BY version LIMIT :limit
"""
LEARNED = """
    SELECT d.applied_version, d.applied_position, d.arm, d.propensity, d.allowed,
           (SELECT v.m FROM version v WHERE v.experiment = d.experiment AND v.version = d.version), d.reward
    FROM decision d
    WHERE d.experiment = :id AND d.stream = 'learn' AND d.reward IS NOT NULL
      AND (d.applied_version > :version OR (d.applied_version = :version AND d.applied_position > :position))
    ORDER BY d.applied_version, d.applied_position LIMIT :limit
"""
UNWRITTEN = """
    SELECT e.key FROM experiment e
    WHERE e.revision + e.erasures + (SELECT COUNT(*) FROM checkpoint c WHERE c.experiment = e.id)
        + (SELECT COUNT(*) FROM version v WHERE v.experiment = e.id AND v.kind = 'repaired')
       <> (SELECT COUNT(*) FROM audit a WHERE a.experiment = e.key)
"""
STORED = """
    SELECT l.state, l.first_state, e.machine, v.version, v.checksum, l.rule
    FROM learner l JOIN experiment e ON e.id = l.experiment JOIN version v ON v.experiment = e.id
    WHERE l.experiment = :id ORDER BY v.version DESC LIMIT 1
"""
CHECKPOINT = """
    SELECT c.version, c.older_rule, c.state, v.at, v.checksum, v.detail
    FROM checkpoint c JOIN version v ON v.experiment = c.experiment AND v.version = c.version
    WHERE c.experiment = :id ORDER BY c.version DESC LIMIT 1
"""

PUBLISHED = "SELECT probabilities, m FROM version WHERE experiment = :id AND version = :version"
WRITTEN = "SELECT COUNT(*) FROM audit a WHERE a.experiment = :key AND a.action = 'checkpoint' AND a.after = :said"

Progress = Callable[[int, int], None]  # versions done, versions in all


def untold(done: int, of: int) -> None:
    """No progress is shown."""


class Verified(NamedTuple):
    """The result for one experiment."""

    key: str
    versions: int
    learned: int  # rewards that were replayed
    identical: bool  # byte for byte
    close: bool  # to 1e-9
    same_machine: bool
    first_difference: int | None  # the first of the versions compared that differs
    older_rule: int | None = None  # that learned what was not replayed: all that lies before `first`
    first: int = 0  # the version of the checkpoint that was taken as given, or that the next write will make
    pruned_at: float | None = None  # when that checkpoint was made, if pruning made it
    findings: tuple[Finding, ...] = ()  # rows that cannot be used

    @property
    def good(self) -> bool:
        """Whether the stored state is what the log says, and every row can be used."""
        return self.is_as_rebuilt and not self.findings

    @property
    def is_as_rebuilt(self) -> bool:
        """Whether the stored state is what the log says."""
        return self.identical or (self.close and not self.same_machine)


def verify(session: Session, key: str, progress: Progress = untold) -> Verified:
    """Read every row of an experiment, rebuild its learner, and compare."""
    head, found = read_head(session, key)
    try:
        found += findings(session, head)
        verified = _compared(session, head, progress)
    except StoreDown:
        raise
    except Exception as problem:
        found.append(Finding("learner", f"it cannot be rebuilt ({type(problem).__name__}: {problem})", is_source=True))
        verified = Verified(key, head.version, 0, False, False, head.machine == machine(), None)
    return verified._replace(findings=(*found, *verified.findings))


def _compared(session: Session, head: Head, progress: Progress) -> Verified:
    key = head.key
    stored, first, made_on, n_versions, digest, rule = session.rows(STORED, id=head.id)[0]
    start, first, older_rule, pruned_at, good = replay_start(session, head, rule, first)
    if rule < rule_now():  # the next write will make a checkpoint of what is stored
        start, older_rule, pruned_at = n_versions + 1, rule, None
        good = checksum(bytes(stored)) == digest
    same_machine = made_on == machine()
    if start > n_versions or not good:
        return Verified(
            key, n_versions, 0, good, good, same_machine, None if good else start, older_rule, start, pruned_at
        )
    made = rebuild(session, head, start, bytes(first), {release_of(first), release_of(stored)}, progress)
    is_published = published(session, head, made.learner)[1]
    return Verified(
        key=key,
        versions=n_versions,
        learned=made.learned,
        identical=bytes(stored) in made.states,
        close=is_close(made.states[0], bytes(stored)),
        same_machine=same_machine,
        first_difference=made.first_difference,
        older_rule=older_rule,
        first=start,
        pruned_at=pruned_at,
        findings=() if is_published else (unpublished(head),),
    )


class ReplayStart(NamedTuple):
    """Where replaying begins: a version and its state, why not earlier, and whether it is as it was written."""

    version: int
    state: bytes
    older_rule: int | None = None  # learned it
    pruned_at: float | None = None
    good: bool = True


class Rebuilt(NamedTuple):
    """A learner that the log was replayed to."""

    learner: Learner
    states: list[bytes]  # as each of several versions of Turncoat writes it
    learned: int
    first_difference: int | None


def rebuild(
    session: Session,
    head: Head,
    start: int,
    first: bytes,
    releases: set[str],
    progress: Progress = lambda done, of: None,
) -> Rebuilt:
    """Replay the log from the version `start`, whose state is `first`."""
    if head.config is None:
        raise StateError("the range of its rewards is not known")
    learner = load_learner(first)
    rewards = _pages(session, LEARNED, head.id, version=start, position=-1)
    row = next(rewards, None)
    every, learned, differed = max(head.version // COMPARED, 1), 0, None
    for version, kind, detail, expected in _pages(session, VERSIONS, head.id, after=start):
        if kind in ("arm_added", "arm_changed"):
            _arm(learner, msgspec.json.decode(detail))
        index_of = {label: index for index, label in enumerate(learner.arms)}
        of_version = []
        while row is not None and row[0] == version:
            of_version.append(row[2:])
            row = next(rewards, None)
        observe(learner, head.config.reward, index_of, of_version)
        learned += len(of_version)
        if version % every == 0:
            progress(version, head.version)
            if differed is None and expected not in map(checksum, _dumps(learner, releases)):
                differed = version
    return Rebuilt(learner, _dumps(learner, releases), learned, differed)


def published(session: Session, head: Head, learner: Learner) -> tuple[dict[str, float], bool]:
    """What the latest version serves from this learner, and whether its row holds that, to 1e-6."""
    ((text, m),) = session.rows(PUBLISHED, id=head.id, version=head.version)
    served = served_by(learner, [row for row in head.arms if row.state == "active"], m)
    try:
        stored = checked_shares(text, head.names)
    except UNREADABLE:
        return served, False
    return served, stored.keys() == served.keys() and all(
        math.isclose(stored[arm], share, rel_tol=NEAR, abs_tol=NEAR) for arm, share in served.items()
    )


def unpublished(head: Head) -> Finding:
    """Where `published` says no."""
    return Finding("snapshot", f"the probabilities of version {head.version} are not the learner's")


def replay_start(session: Session, head: Head, rule: int, first: bytes) -> ReplayStart:
    """The latest checkpoint, of which version and audit hold the checksum; else the beginning."""
    found = session.rows(CHECKPOINT, id=head.id)
    if not found:
        return ReplayStart(0, first)
    version, older_rule, state, at, digest, detail = found[0]
    said = to_json(checkpoint_entry(rule, bytes(state), version))
    is_pruned = detail is not None and detail.startswith(said[:-1] + PRUNED)
    in_audit = session.rows(WRITTEN, key=head.key, said=detail if is_pruned else said)
    good = digest == checksum(bytes(state)) and (is_pruned or detail == said) and in_audit == [(1,)]
    return ReplayStart(version, state, None if is_pruned else older_rule, at if is_pruned else None, good)


def _dumps(learner: Learner, releases: set[str]) -> list[bytes]:
    """The learner's state as each of these versions of Turncoat writes it: an upgrade changes that field alone."""
    state = learner.state()
    return [msgspec.json.encode(state | {RELEASE: release}) for release in releases]


def broken_audit(session: Session) -> int | None:
    """The first entry of the audit that is not as it was written, or is not there; None if all are."""
    rows = session.rows(f"SELECT {', '.join(audit.COLUMNS)} FROM audit ORDER BY seq")
    broken = audit.first_broken(rows)
    if broken is None and session.rows(UNWRITTEN):
        return len(rows) + 1  # truncation leaves a valid chain, but every revision must have an entry
    return broken


def _pages(session: Session, sql: str, experiment: int, **after: int) -> Iterator[Row]:
    """Keyset pagination: all rows, a page at a time. `after`: the first columns of the row before a page."""
    while rows := session.rows(sql, id=experiment, limit=PAGE, **after):
        yield from rows
        after = dict(zip(after, rows[-1], strict=False))


def _arm(learner: Learner, change: dict[str, str]) -> None:
    """Repeat a change of an arm in the learner, which knows no pending arms, and does not tell paused from active."""
    arm, after = change["arm"], change.get("state")
    if after == "active" and arm not in learner.arms:
        learner.add_arm(arm)
    elif after == "retired" and arm in learner.living:
        learner.retire_arm(arm)


def release_of(state: bytes) -> str:
    """The version of Turncoat that wrote a state; ours if it is damaged."""
    try:
        return str(msgspec.json.decode(bytes(state))[RELEASE])
    except (*UNREADABLE, LookupError):
        return __version__


def is_close(rebuilt: bytes, stored: bytes) -> bool:
    """Are the numbers the same to 1e-9, and everything else exactly?"""
    try:
        ours, theirs = msgspec.json.decode(rebuilt), msgspec.json.decode(stored)
        mine, other = (np.frombuffer(base64.b64decode(state.pop("buffer"))) for state in (ours, theirs))
    except (*UNREADABLE, LookupError, AttributeError):
        return False
    if ours | {RELEASE: None} != theirs | {RELEASE: None} or mine.shape != other.shape:
        return False
    return bool(np.allclose(mine, other, rtol=TOLERANCE, atol=TOLERANCE))
