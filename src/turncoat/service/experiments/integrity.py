"""Integrity: every stored row of an experiment is read, and each that cannot be used is named.

A finding in what the learner is rebuilt from (settings, arms, versions, decisions that were learned from, the state
that replaying begins with) makes a rebuilt learner unsure: `is_source`. The learner's state and what was published
from it are results, which the sources determine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import msgspec

from turncoat.service import messages
from turncoat.service.errors import NotFound
from turncoat.service.experiments.comparisons import ControlSettings
from turncoat.service.experiments.snapshot import ArmRow, Config
from turncoat.service.experiments.snapshot_cache import ARM_STATES, UNREADABLE, checked_shares, checksum
from turncoat.service.experiments.waiting import is_record
from turncoat.service.store.interface import Row, Session, StoreDown, StoreError

PAGE = 5000
MOST = 100  # findings of a kind that are named
ARM_CHANGES = ("arm_added", "arm_changed")
KINDS = ("opened", "rewards", "planned", "checkpoint", "repaired", *ARM_CHANGES, "settings_changed")
STREAMS = ("learn", "control", "holdout")
OUTCOMES = (None, "rewarded", "defaulted", "expired")

HEAD = "SELECT id, version, config, state, machine FROM experiment WHERE key = :key"
ARMS = "SELECT arm, position, state, floor, cap, payload, tried FROM arm WHERE experiment = :id ORDER BY position"
LEARNER = "SELECT version, state, first_state, checksum, rule, delays FROM learner WHERE experiment = :id"
CHECKPOINT = "SELECT COALESCE(MAX(version), 0) FROM checkpoint WHERE experiment = :id"
VERSIONS = """
    SELECT v.version, v.kind, v.detail, v.n_learned, v.probabilities, v.checksum, v.m, v.control,
           (SELECT COUNT(*) FROM decision d WHERE d.experiment = v.experiment AND d.applied_version = v.version
            AND d.stream = 'learn' AND d.reward IS NOT NULL)
    FROM version v WHERE v.experiment = :id AND v.version > :after ORDER BY v.version LIMIT :limit
"""
DECISIONS = """
    SELECT d.id, d.stream, d.outcome, d.reward, d.applied_version, d.arm, d.propensity, d.allowed, v.m,
           d.probabilities, v.probabilities, d.context
    FROM decision d LEFT JOIN version v ON v.experiment = d.experiment AND v.version = d.version
    WHERE d.experiment = :id AND d.id > :after ORDER BY d.id LIMIT :limit
"""
ANSWERS = """
    SELECT 'the answer kept for the Idempotency-Key ', key, answer FROM idempotency WHERE experiment = :id
    UNION ALL SELECT 'the decision kept for the unit ', unit, answer FROM sticky WHERE experiment = :id
"""


class Finding(NamedTuple):
    """A part of an experiment that cannot be used."""

    where: str
    what: str
    is_source: bool = False  # whether the learner is rebuilt from it

    def __str__(self) -> str:
        said = f"{self.where}: {self.what}"
        return said.encode("utf-8", "backslashreplace").decode()


class Head(NamedTuple):
    """An experiment as far as it can be read."""

    id: int
    key: str
    version: int
    config: Config | None
    arms: tuple[ArmRow, ...]  # those that can be read
    names: frozenset[str]  # of all arms
    machine: str


def read_head(session: Session, key: str) -> tuple[Head, list[Finding]]:
    """An experiment's settings and arms, and what is wrong with them."""
    rows = session.rows(HEAD, key=key)
    if not rows:
        raise NotFound(f"there is no experiment {key!r}", field="key")
    number, version, stored, state, machine = rows[0]
    found: list[Finding] = []
    config = None
    try:
        config = msgspec.json.decode(stored, type=Config)
    except UNREADABLE as problem:
        found.append(Finding("settings", f"they cannot be read ({problem})", is_source=True))
    if state not in get_args(messages.ExperimentState):
        found.append(Finding("settings", f"the experiment's state is {state!r}", is_source=True))
    arms: list[ArmRow] = []
    stored_arms = session.rows(ARMS, id=number)
    for place, (arm, position, arm_state, floor, cap, payload, tried) in enumerate(stored_arms):
        try:
            row = ArmRow(arm, position, arm_state, floor, cap, msgspec.json.decode(payload), bool(tried))
            if arm_state not in ARM_STATES or not (0.0 <= floor <= 1.0 and 0.0 <= cap <= 1.0) or position != place:
                raise ValueError(f"position {position}, state {arm_state!r}, floor {floor!r}, cap {cap!r}")
            arms.append(row)
        except UNREADABLE as problem:
            found.append(Finding(f"arm {arm!r}", f"it cannot be used ({problem})", is_source=True))
    if not stored_arms:
        found.append(Finding("arms", "there are none", is_source=True))
    names = frozenset(row[0] for row in stored_arms)
    return Head(number, key, version, config, tuple(arms), names, machine), found


def findings(session: Session, head: Head) -> Iterator[Finding]:
    """All that is wrong with an experiment's learner, versions, decisions and kept answers, each row by itself."""
    try:
        start = session.rows(CHECKPOINT, id=head.id)[0][0]
        yield from _learner(session, head, start)
        yield from _versions(session, head, start)
        yield from _first(_decisions(session, head, start), "decisions")
        yield from _first(_answers(session, head), "kept answers")
    except StoreDown:
        raise
    except StoreError as problem:
        yield Finding("rows", f"the database cannot read them ({problem})", is_source=True)


def _first(found: Iterable[Finding], kind: str) -> Iterator[Finding]:
    """The first of them, and the number of the others. One of the others may be a source."""
    n_more, is_source = 0, False
    for n, one in enumerate(found):
        if n < MOST:
            yield one
        else:
            n_more, is_source = n_more + 1, is_source or one.is_source
    if n_more:
        yield Finding(kind, f"{n_more} more cannot be used", is_source)


def _learner(session: Session, head: Head, start: int) -> Iterator[Finding]:
    rows = session.rows(LEARNER, id=head.id)
    if not rows:
        yield Finding("learner", "it is missing", is_source=True)
        return
    version, state, first_state, digest, _, delays = rows[0]
    if not 1 <= version <= head.version:
        yield Finding("learner", f"its version is {version}, and the experiment is at {head.version}")
    if checksum(bytes(state)) != digest:
        yield Finding("learner", "its state is not as it was written (the checksum differs)")
    if not is_record(delays):
        yield Finding("learner", "its record of delays cannot be read")
    first = session.rows("SELECT checksum FROM version WHERE experiment = :id AND version = 1", id=head.id)
    if not start and first and first[0][0] != checksum(bytes(first_state)):
        yield Finding("learner", "its first state is not as it was written (version 1 differs)", is_source=True)


def _versions(session: Session, head: Head, start: int) -> Iterator[Finding]:
    """Versions up to `start` are not replayed."""
    expected, last = 1, ""
    for version, kind, detail, n_learned, served, digest, m, control, n_taught in pages(session, VERSIONS, head.id, 0):
        if version > max(expected, start + 1):  # of those before a checkpoint, pruning leaves a few
            yield Finding(_span(max(expected, start + 1), version - 1), "missing", is_source=True)
        where, expected, replayed = f"version {version}", version + 1, version > start
        if kind not in KINDS or not isinstance(m, int) or m < 1 or n_learned < 0:
            yield Finding(where, f"its kind is {kind!r}, its m {m!r}, its n_learned {n_learned!r}", replayed)
        elif replayed and n_taught != n_learned:
            yield Finding(where, f"it learned from {n_learned} decisions, and there are {n_taught}", is_source=True)
        try:
            if kind in ARM_CHANGES and not isinstance(msgspec.json.decode(detail)["arm"], str):
                raise ValueError("no arm is named")
        except (*UNREADABLE, LookupError) as problem:
            yield Finding(where, f"its change of an arm cannot be read ({problem})", replayed)
        try:
            msgspec.json.decode(control or "null", type=ControlSettings | None)
        except UNREADABLE as problem:
            yield Finding(where, f"its control cannot be read ({problem})")
        try:
            checked_shares(served, head.names)
        except UNREADABLE as problem:
            yield Finding(where, f"its probabilities cannot be used ({problem})")
        last = digest
    if expected != head.version + 1:
        yield Finding(_span(expected, head.version), "missing", is_source=True)
    else:
        stored = session.rows("SELECT checksum FROM learner WHERE experiment = :id", id=head.id)
        if stored and stored[0][0] != last:
            yield Finding(f"version {head.version}", "its checksum is not the learner's")


def _decisions(session: Session, head: Head, start: int) -> Iterator[Finding]:
    shares = lru_cache(4096)(lambda text: checked_shares(text, head.names))
    for row in pages(session, DECISIONS, head.id, ""):
        where, (stream, outcome, reward, applied) = f"decision {row[0]}", row[1:5]
        is_source = stream == "learn" and reward is not None and applied is not None and applied > start
        try:
            _check_outcome(stream, outcome, reward, applied, head.version)
            _check_draw(row, head.names)
        except (*UNREADABLE, LookupError) as problem:
            yield Finding(where, str(problem), is_source)
            continue
        arm, propensity, _, _, own, published, context = row[5:]
        try:
            drawn_from = shares(own if own is not None else published)
        except UNREADABLE as problem:
            if own is not None:  # those of a version are named there
                yield Finding(where, f"its probabilities cannot be used ({problem})")
        else:
            if drawn_from.get(arm) != propensity:
                said = f"its propensity is {propensity!r}, and its arm {arm!r} was drawn with {drawn_from.get(arm)!r}"
                yield Finding(where, said, is_source)
        try:
            msgspec.json.decode("null" if context is None else context)
        except UNREADABLE as problem:
            yield Finding(where, f"its context cannot be read ({problem})")


def _check_outcome(stream: str, outcome: str | None, reward: float | None, applied: int | None, version: int) -> None:
    if stream not in STREAMS or outcome not in OUTCOMES or (outcome is None) != (applied is None):
        raise ValueError(f"its stream is {stream!r}, its outcome {outcome!r}, closed in version {applied!r}")
    if applied is not None and not 1 <= applied <= version:
        raise ValueError(f"it was closed in version {applied}, and the experiment is at {version}")
    if (reward is None) == (outcome in ("rewarded", "defaulted")) or (reward is not None and not math.isfinite(reward)):
        raise ValueError(f"its reward is {reward!r}, and its outcome {outcome!r}")


def _check_draw(row: Row, names: Set[str]) -> None:
    arm, propensity, allowed, m = row[5:9]
    if m is None or m < 1:
        raise ValueError("the version that it was drawn from is missing or damaged")
    if arm not in names or not 0.0 < propensity <= 1.0:
        raise ValueError(f"its arm is {arm!r}, its propensity {propensity!r}")
    try:
        among = names if allowed is None else msgspec.json.decode(allowed, type=list[str])
    except UNREADABLE as problem:
        raise ValueError(f"the arms that it was drawn from cannot be read ({problem})") from problem
    if arm not in among:
        raise ValueError(f"its arm {arm!r} is not one of those that it was drawn from, {among}")


def _answers(session: Session, head: Head) -> Iterator[Finding]:
    for what, name, answer in session.rows(ANSWERS, id=head.id):
        try:
            msgspec.json.decode(bytes(answer), type=messages.Decided)
        except UNREADABLE as problem:
            yield Finding(f"{what}{name!r}", f"it cannot be read ({problem})")


def pages(session: Session, sql: str, experiment: int, after: Any) -> Iterator[Row]:
    """Keyset pagination: all rows, a page at a time, in the order of their first column."""
    while rows := session.rows(sql, id=experiment, after=after, limit=PAGE):
        yield from rows
        after = rows[-1][0]


def _span(first: int, last: int) -> str:
    return f"version {first}" if first == last else f"versions {first} to {last}"


def sentence(found: Sequence[Finding], most: int = 5) -> str:
    """The first of several findings in one line."""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(map(str, found[:most])) + more
