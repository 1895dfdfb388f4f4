"""The answers that the model of the service allows to a request for a decision."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.naive.service_model import Model
from tests.naive.service_records import DAY, Decision, Experiment, Version


@dataclass(frozen=True)
class Ask:
    """A decision asked for. `body`: whatever two requests are compared by."""

    key: str
    body: Any
    unit: str | None = None
    allowed: tuple[str, ...] | None = None
    sticky: bool = False
    is_flag: bool = False
    deferred: bool = False
    decision_id: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Answer:
    """A decision. `raw`: all of it, byte for byte."""

    decision_id: str
    arm: str
    propensity: float
    probabilities: dict[str, float]
    version: int
    stream: str
    reason: str
    expires_at: float | None
    raw: bytes


Got = Answer | int | None  # a decision, the number of a refusal, or not known because the answer was lost


def decide(model: Model, ask: Ask, now: float, got: Got, versions: Iterable[int]) -> str | None:
    """Record the answer that was given; what is wrong with it, if it may not be given.

    `versions`: those that the worker may have known.
    """
    experiment = model.experiments.get(ask.key)
    if experiment is None:
        return None if got in (404, None) else f"{ask.key!r} is not there"
    place = None if ask.idempotency_key is None else (ask.key, ask.idempotency_key)
    if place is not None and place in model.keys:
        body, raw, *_ = model.keys[place]
        if body != ask.body:
            return None if got in (409, None) else "the key was used with another body"
        same = got is None or (isinstance(got, Answer) and got.raw == raw)
        return None if same else f"the same request got {got}, and before it {raw!r}"
    problems = [_granted(model, experiment, number, ask, now, got) for number in versions]
    if None not in problems:
        return f"{got} to {ask}: {problems}"
    if isinstance(got, Answer):
        if got.reason != "sticky":
            _record(model, ask, got, now)
        if place is not None:
            model.keys[place] = ask.body, got.raw, now + DAY, got.decision_id
    return None


def _granted(model: Model, experiment: Experiment, number: int, ask: Ask, now: float, got: Got) -> str | None:
    """Is it an answer that a worker who knows this version may give?"""
    version = experiment.at(number)
    refusal = _refusal(version, ask)
    if refusal is not None:
        return None if got in (refusal, None) else f"{refusal} at version {number}"
    offers = _offers(experiment, version, ask)
    held = _held(model, experiment, version, ask, now)
    used = ask.decision_id in model.decisions
    possible: list[str] = []
    for stream, arms in offers.items():
        if not arms:
            if got in (409, None):
                return None
        elif held is not None and held.arm in arms:
            if got is None or (isinstance(got, Answer) and _is_again(held, got)):
                return None
        elif used:
            if got in (409, None):
                return None
        elif isinstance(got, Answer) and got.version == number:
            wrong = _wrong(version, ask, now, got, stream, arms)
            if wrong is None:
                return None
            possible.append(wrong)
    return f"version {number}: {possible or list(offers)}"


def _refusal(version: Version, ask: Ask) -> int | None:
    if not version.settings.running:
        return 409
    if ask.sticky and ask.unit is None:
        return 422
    if ask.allowed is not None and not set(ask.allowed) <= set(version.arms):
        return 422
    return None


def _offers(experiment: Experiment, version: Version, ask: Ask) -> dict[str, list[str]]:
    """The streams it may belong to, with the arms it may be given there."""
    settings = version.settings
    arms = [arm for arm in version.named("active") if ask.allowed is None or arm in ask.allowed]
    share = 0.0 if settings.control is None else settings.control[1]
    has_control = settings.control is not None and settings.control[0] in arms
    if ask.unit is None:
        offers = {"learn": arms}
        if has_control and share > 0.0:
            offers["control"] = [settings.control[0]]  # type: ignore[index]
        if settings.holdout > 0.0:
            offers["holdout"] = arms
        return offers
    place = where(experiment.salt, ask.unit)
    if place < share and has_control:
        return {"control": [settings.control[0]]}  # type: ignore[index]
    return {"holdout" if share <= place < share + settings.holdout else "learn": arms}


def where(salt: str, unit: str) -> float:
    """A unit's place in [0, 1): the first 52 bits of its hash."""
    digest = hashlib.blake2b(unit.encode(), key=salt.encode(), digest_size=16).digest()
    return (int.from_bytes(digest, "big") >> 76) / 2.0**52


def _is_sticky(version: Version, ask: Ask) -> bool:
    return ask.unit is not None and (ask.sticky or (ask.is_flag and version.settings.flags))


def _held(model: Model, experiment: Experiment, version: Version, ask: Ask, now: float) -> Decision | None:
    """The decision that the unit keeps."""
    decision = model.decisions.get(model.sticky.get((experiment.key, ask.unit or ""), ""))
    if not _is_sticky(version, ask) or decision is None or decision.applied is not None or decision.ended(now):
        return None
    return decision if decision.decided_at + version.settings.keep > now else None


def _is_again(held: Decision, got: Answer) -> bool:
    same = (held.id, held.arm, held.propensity, held.probabilities, held.version, held.stream)
    told = (got.decision_id, got.arm, got.propensity, got.probabilities, got.version, got.stream)
    return same == told and got.reason == "sticky" and _same_time(held.expires_at, got.expires_at)


def _same_time(one: float | None, other: float | None) -> bool:
    return one is other is None or (one is not None and other is not None and abs(one - other) < 1e-5)


def _wrong(version: Version, ask: Ask, now: float, got: Answer, stream: str, arms: list[str]) -> str | None:
    """What is wrong with a new decision."""
    expires_at = None if ask.deferred else now + version.settings.window
    even = dict.fromkeys(arms, 1.0 / len(arms))
    checks = {
        "stream": got.stream == stream and got.reason == ("split" if stream == "learn" else stream),
        "arms": list(got.probabilities) == arms and got.arm in arms,
        "sum": abs(sum(got.probabilities.values()) - 1.0) < 1e-9,
        "propensity": got.propensity == got.probabilities.get(got.arm) and got.propensity > 0.0,
        "even": stream == "learn" or got.probabilities == even,
        "floors": stream != "learn" or _floors_kept(version, got.probabilities),
        "window": _same_time(expires_at, got.expires_at),
        "id": ask.decision_id in (None, got.decision_id),
    }
    wrong = [name for name, good in checks.items() if not good]
    return None if not wrong else f"{stream}: wrong {', '.join(wrong)}"


def _floors_kept(version: Version, probabilities: dict[str, float]) -> bool:
    caps_hold = sum(version.arms[arm].cap for arm in probabilities) > 1.0
    return all(
        share >= version.arms[arm].floor * (1.0 - 1e-9) and (not caps_hold or share <= version.arms[arm].cap + 1e-9)
        for arm, share in probabilities.items()
    )


def _record(model: Model, ask: Ask, got: Answer, now: float) -> None:
    version = model.experiments[ask.key].at(got.version)
    expires_at = None if ask.deferred else now + version.settings.window
    model.decisions[got.decision_id] = Decision(
        got.decision_id,
        ask.key,
        got.arm,
        got.propensity,
        got.probabilities,
        got.version,
        got.stream,
        now,
        expires_at,
        unit=ask.unit,
    )
    if ask.unit is not None and _is_sticky(version, ask):
        model.sticky[ask.key, ask.unit] = got.decision_id
