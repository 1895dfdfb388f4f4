"""Form fields: what people type becomes a message; an error is shown beside its field, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from turncoat.service import messages
from turncoat.service.dashboard.data.decisions import Filter
from turncoat.service.errors import Problem, Unprocessable
from turncoat.service.validation import checked

T = TypeVar("T", bound=msgspec.Struct)
Fields = Mapping[str, str]  # what was typed, by the names of the inputs, which are those of the messages' fields

UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3_600.0, "days": 86_400.0}
SHARE = "Accepted is a number from 0 to 1."
TAGS = "words of lower-case letters, digits, dots, hyphens and underscores, of at most 40 characters, 20 at most"
ACCEPTED = {
    "key": "Accepted are 1 to 100 letters, digits, dots, hyphens and underscores; the first is a letter or a digit.",
    "arm": "Accepted are names of 1 to 100 characters.",
    "arms": "Accepted are names of 1 to 100 characters, one per line, at most 1,000.",
    "tags": f"Accepted are {TAGS}.",
    "reward_window_s": "Accepted is a time above 0 and up to 365 days.",
    "reward.aggregation": "Accepted is one of first, last, sum, mean, min and max.",
    "control.arm": "Accepted is the name of one of the arms.",
    "control.share": SHARE,
    "holdout_share": SHARE,
    "floor": SHARE,
    "cap": SHARE,
    "state": "Accepted is one of the buttons of this page.",
    "stream": "Accepted is learn, control or holdout.",
    "outcome": "Accepted is open, rewarded, defaulted or expired.",
}


def new_experiment(said: Fields) -> messages.NewExperiment:
    """The form that opens an experiment."""
    arm, share = text(said, "control.arm"), number(said, "control.share")
    if share is not None and not arm:
        raise Unprocessable("Say which arm is control, or leave the share empty.", field="control.arm")
    unit = UNITS.get(text(said, "unit"), 1.0)
    window = number(said, "reward_window_s")
    arms: list[Any] = [name for line in text(said, "arms").splitlines() if (name := line.strip())]
    return plainly_checked(
        messages.NewExperiment(
            key=text(said, "key"),
            arms=arms,
            reward=messages.RewardRule(
                min=number(said, "reward.min", 0.0),
                max=number(said, "reward.max", 1.0),
                aggregation=text(said, "reward.aggregation") or "first",  # type: ignore[arg-type]
            ),
            reward_window_s=86_400.0 if window is None else window * unit,
            default_reward=number(said, "default_reward"),
            control=messages.Control(arm=arm, share=0.1 if share is None else share) if arm else None,
            holdout_share=number(said, "holdout_share", 0.0),
            tags=tags_of(said),
        )
    )


def new_arm(said: Fields) -> messages.NewArm:
    """The form that adds an arm."""
    payload = text(said, "payload")
    try:
        value = msgspec.json.decode(payload) if payload else None
    except msgspec.DecodeError:
        raise Unprocessable('Accepted is JSON, such as {"label": "Buy now"} or "text".', field="payload") from None
    floor, cap = number(said, "floor", 0.0), number(said, "cap", 1.0)
    return plainly_checked(messages.NewArm(arm=text(said, "arm"), payload=value, floor=floor, cap=cap))


def tags_of(said: Fields) -> list[str]:
    """Tags, separated by spaces or commas."""
    return [tag for tag in re.split(r"[\s,]+", text(said, "tags")) if tag]


def revision_of(said: Fields) -> int:
    """The revision that the page showed."""
    seen = text(said, "revision")
    if not (seen.isascii() and seen.isdigit() and len(seen) <= 18):
        raise Unprocessable("The form has no revision: load the page again.", field="revision")
    return int(seen)


def filter_of(said: Fields) -> Filter:
    """The form that filters decisions."""
    found: dict[str, Any] = {name: text(said, name) for name in ("experiment", "arm", "stream", "outcome")}
    found |= {name: moment_of(said, name) for name in ("since", "until")}
    return plainly_checked(Filter(**{name: value for name, value in found.items() if value not in ("", None)}))


def text(said: Fields, name: str) -> str:
    """A field without the space around it; empty if it is not there."""
    return said.get(name, "").strip()


def number(said: Fields, name: str, default: Any = None) -> Any:
    """A number, or the default where nothing was typed."""
    typed = text(said, name)
    if not typed:
        return default
    try:
        return float(typed)
    except ValueError:
        raise Unprocessable(f"{typed[:40]!r} is not a number. Accepted is a number such as 0.5.", field=name) from None


def moment_of(said: Fields, name: str) -> float | None:
    """A time in UTC, as seconds since 1970."""
    typed = text(said, name)
    if not typed:
        return None
    try:
        at = datetime.fromisoformat(typed)
        return (at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp()
    except (ValueError, OverflowError):
        raise Unprocessable(
            f"{typed[:40]!r} is not a time. Accepted is a time such as 2026-01-31T14:30.", field=name
        ) from None


def plainly_checked(message: T) -> T:
    """The message, checked; what is not accepted is said in the words of ACCEPTED."""
    try:
        return checked(message)
    except Problem as problem:
        name = field_of(problem)
        raise Unprocessable(ACCEPTED.get(name, problem.detail), field=name) from problem


def field_of(problem: Problem) -> str:
    """The name of the input that a problem is about."""
    return re.split(r"[\[]", problem.field or "")[0]
