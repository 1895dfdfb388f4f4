"""A decision is drawn: in memory alone, from the snapshot that was published last. Nothing is recorded here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errands import Decide, Done
from turncoat.service.errors import Conflicting, Problem, Unavailable, Unprocessable
from turncoat.service.experiments.randomness import Chance, new_id, place_of, unit_hash
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.experiments.snapshot_cache import Book
from turncoat.service.store.interface import Raced, Row, StoreDown, StoreError
from turncoat.service.validation import check_id, checked_json

LONGEST_KEY = 255
COLUMNS = (
    "id",
    "experiment",
    "arm",
    "propensity",
    "probabilities",
    "allowed",
    "version",
    "stream",
    "reason",
    "unit",
    "context",
    "decided_at",
    "expires_at",
)


@dataclass(frozen=True)
class Draft:
    """A decision on its way, with the row to be written as in COLUMNS; or why there cannot be one now."""

    errand: Decide
    experiment: int
    unit: str | None
    body_hash: str | None
    answer: messages.Decided | Problem
    row: Row = ()


def draft(book: Book, now: float, chance: Chance, errand: Decide) -> Draft:
    """Draw an arm for somebody. What is refused may yet have been granted before, to the same idempotency key."""
    ask, snapshot = errand.ask, book.get(errand.key)
    _check_key(errand.idempotency_key)
    body_hash = None if errand.idempotency_key is None else _hash(ask)
    unit = None if ask.unit_id is None else unit_hash(snapshot.salt, ask.unit_id)
    try:
        answer, row = _drawn(book, snapshot, now, chance, ask, unit)
    except Problem as problem:
        return Draft(errand, snapshot.id, unit, body_hash, problem)
    except (Raced, StoreDown):
        raise
    except StoreError as damaged:  # this experiment is; others in the batch are not
        return Draft(errand, snapshot.id, unit, body_hash, Unavailable(f"{damaged}"))
    return Draft(errand, snapshot.id, unit, body_hash, answer, row)


def _check(snapshot: Snapshot, ask: messages.Ask) -> str | None:
    """Can it be granted? Its context, as text."""
    if snapshot.state != "running":
        raise Conflicting(f"{snapshot.key!r} is stopped; decisions are made while it is running")
    if ask.sticky and ask.unit_id is None:
        raise Unprocessable("sticky is true and there is no unit_id; accepted is sticky with a unit_id", field="sticky")
    if ask.allowed_arms is not None:
        snapshot.check_named(ask.allowed_arms)
    if ask.decision_id is not None:
        check_id(ask.decision_id)
    return None if ask.context is None else checked_json("context", ask.context)


def _drawn(
    book: Book, snapshot: Snapshot, now: float, chance: Chance, ask: messages.Ask, unit: str | None
) -> tuple[messages.Decided, Row]:
    context = _check(snapshot, ask)
    stream, allowed = _stream(snapshot, ask, chance.uniform() if unit is None else place_of(unit))
    offer = snapshot.offer(stream, allowed, lambda: book.learner(snapshot))
    arm = offer.draw(chance.uniform())
    expires_at = None if ask.deferred else now + snapshot.config.reward_window_s
    answer = messages.Decided(
        decision_id=ask.decision_id or new_id(now, chance),
        arm=arm,
        payload=_payload(snapshot, arm),
        propensity=offer.probabilities[arm],
        probabilities=offer.probabilities,
        state_version=snapshot.version,
        stream=stream,
        reason="split" if stream == "learn" else stream,
        expires_at=None if expires_at is None else as_datetime(expires_at),
    )
    row = (
        answer.decision_id,
        snapshot.id,
        arm,
        answer.propensity,
        offer.stored,
        offer.allowed,
        snapshot.version,
        stream,
        answer.reason,
        unit,
        context,
        now,
        expires_at,
    )
    return answer, row


def _stream(snapshot: Snapshot, ask: messages.Ask, place: float) -> tuple[messages.Stream, Sequence[str] | None]:
    """Which stream it belongs to, and the arms it may be given there."""
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


def _payload(snapshot: Snapshot, arm: str) -> Any:
    row = snapshot.find(arm)
    return None if row is None else row.payload


def _check_key(key: str | None) -> None:
    if key is not None and not (1 <= len(key) <= LONGEST_KEY and key.isprintable()):
        raise Unprocessable(
            f"the key is {key[:40]!r} ({len(key)} characters); accepted are 1 to {LONGEST_KEY} printable ones",
            field="Idempotency-Key",
        )


def _hash(ask: messages.Ask) -> str:
    return hashlib.sha256(msgspec.json.encode(ask, order="deterministic")).hexdigest()


def stale(book: Book, chance: Chance, errand: Decide) -> Done:
    """A decision while the store is down: from the last snapshot, said to be stale, without an id: nothing is kept."""
    try:
        answer = draft(book, 0.0, chance, errand).answer
    except Problem as problem:
        return problem
    except StoreError as down:  # what the learner says of just these arms is not known here
        return Unavailable(f"{down}")
    if isinstance(answer, Problem):
        return answer
    return msgspec.structs.replace(answer, decision_id=None, reason="stale", expires_at=None)
