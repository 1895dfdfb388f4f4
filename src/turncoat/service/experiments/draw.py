"""Decisions are drawn in memory, from the last published snapshot. Nothing is recorded here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import Conflicting, Problem, Unavailable, Unprocessable
from turncoat.service.experiments.randomness import Randomness, new_id, place_of, unit_hash
from turncoat.service.experiments.snapshot import Learner, Snapshot
from turncoat.service.experiments.snapshot_cache import SnapshotCache
from turncoat.service.messages import Decide, Result
from turncoat.service.store.interface import Row, StoreDown, StoreError, WriteConflict
from turncoat.service.validation import check_id, checked_json

LONGEST_KEY = 255
COLUMNS = (
    *("id", "experiment", "arm", "propensity", "probabilities", "allowed", "version", "stream", "reason", "unit"),
    *("context", "decided_at", "expires_at"),
)


class Drawn(NamedTuple):
    """A decision drawn and not yet recorded, with its row as in COLUMNS; or the Problem that refuses it."""

    command: Decide
    experiment: int
    unit: str | None
    body_hash: str | None
    keep_s: float | None  # that the unit keeps it; None: it is not sticky
    answer: messages.Decided | Problem
    row: Row = ()


def draw(cache: SnapshotCache | _Published, now: float, randomness: Randomness, command: Decide) -> Drawn:
    """Draw an arm. A refusal is returned, not raised: the same idempotency key may have been answered before."""
    ask, snapshot = command.ask, cache.get(command.key)
    _check_key(command.idempotency_key)
    body_hash = None
    if command.idempotency_key is not None:
        body_hash = hashlib.sha256(msgspec.json.encode(ask, order="deterministic")).hexdigest()
    unit = None if ask.unit_id is None else unit_hash(snapshot.salt, ask.unit_id)
    drawn = partial(Drawn, command, snapshot.id, unit, body_hash, _keep_s(snapshot.config.stickiness, command))
    try:
        answer, row = _draw_arm(cache, snapshot, now, randomness, ask, unit)
    except Problem as problem:
        return drawn(problem)
    except (WriteConflict, StoreDown):
        raise
    except StoreError as damaged:  # this experiment only; the rest of the batch goes on
        return drawn(Unavailable(f"{damaged}"))
    return drawn(answer, row)


def _keep_s(rule: messages.Stickiness, command: Decide) -> float | None:
    if command.ask.unit_id is None or not (command.ask.sticky or (command.is_flag and rule.flags)):
        return None
    return math.inf if rule.keep_s is None else rule.keep_s


def _check(snapshot: Snapshot, ask: messages.Ask) -> str | None:
    """Check the request against the snapshot; return its context as JSON."""
    if snapshot.state != "running":
        raise Conflicting(f"{snapshot.key!r} is {snapshot.state}; decisions are made while it is running")
    if ask.sticky and ask.unit_id is None:
        raise Unprocessable("sticky is true and there is no unit_id; accepted is sticky with a unit_id", field="sticky")
    if ask.allowed_arms is not None:
        snapshot.check_named(ask.allowed_arms)
    if ask.decision_id is not None:
        check_id(ask.decision_id)
    return None if ask.context is None else checked_json("context", ask.context)


def _draw_arm(
    cache: SnapshotCache | _Published,
    snapshot: Snapshot,
    now: float,
    randomness: Randomness,
    ask: messages.Ask,
    unit: str | None,
) -> tuple[messages.Decided, Row]:
    context = _check(snapshot, ask)
    stream, allowed = stream_of(snapshot, ask, randomness.uniform() if unit is None else place_of(unit))
    distribution = snapshot.distribution(stream, allowed, lambda: cache.learner(snapshot))
    arm = distribution.draw(randomness.uniform())
    expires_at = None if ask.deferred else now + snapshot.config.reward_window_s
    answer = messages.Decided(
        decision_id=ask.decision_id or new_id(now, randomness),
        arm=arm,
        payload=next(row.payload for row in snapshot.arms if row.arm == arm),
        propensity=distribution.probabilities[arm],
        probabilities=distribution.probabilities,
        state_version=snapshot.version,
        stream=stream,
        reason="split" if stream == "learn" else stream,
        expires_at=None if expires_at is None else as_datetime(expires_at),
    )
    drawn = answer.decision_id, snapshot.id, arm, answer.propensity, distribution.stored, distribution.allowed
    return answer, (*drawn, snapshot.version, stream, answer.reason, unit, context, now, expires_at)


def stream_of(snapshot: Snapshot, ask: messages.Ask, place: float) -> tuple[messages.Stream, Sequence[str] | None]:
    """The stream that the unit's hash (or a random number) falls into, and the arms allowed there."""
    config = snapshot.config
    share = 0.0
    if config.control is not None:
        share = config.control.share
        arm = snapshot.find(config.control.arm)
        is_there = arm is not None and arm.state == "active"
        if place < share and is_there and (ask.allowed_arms is None or config.control.arm in ask.allowed_arms):
            return "control", [config.control.arm]
    if share <= place < share + config.holdout_share:
        return "holdout", ask.allowed_arms
    return "learn", ask.allowed_arms


def _check_key(key: str | None) -> None:
    if key is not None and not (1 <= len(key) <= LONGEST_KEY and key.isprintable()):
        raise Unprocessable(
            f"the key is {key[:40]!r} ({len(key)} characters); accepted are 1 to {LONGEST_KEY} printable ones",
            field="Idempotency-Key",
        )


class _Published:
    """The snapshots of a cache, without learners."""

    def __init__(self, cache: SnapshotCache) -> None:
        self.get = cache.get

    def learner(self, snapshot: Snapshot) -> Learner:
        raise Unavailable(f"the probabilities of just these arms of {snapshot.key!r} are not known without the store")


def stale(cache: SnapshotCache, randomness: Randomness, command: Decide, *, from_snapshot: bool) -> Result:
    """A decision while the store is down: drawn from the last snapshot, marked stale, without an id, not recorded."""
    try:
        answer = draw(_Published(cache) if from_snapshot else cache, 0.0, randomness, command).answer
    except Problem as problem:
        return problem
    except StoreError as down:  # the probabilities of just these arms are not cached here
        return Unavailable(f"{down}")
    if isinstance(answer, Problem):
        return answer
    return msgspec.structs.replace(answer, decision_id=None, reason="stale", expires_at=None)
