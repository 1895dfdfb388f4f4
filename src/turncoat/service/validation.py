"""What a type cannot say about settings: sums of shares, names used twice, a default outside its range."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turncoat.service import messages
from turncoat.service.errors import Unprocessable
from turncoat.service.experiments.snapshot import ArmRow, Config

UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LARGEST_JSON = 16_384  # bytes of a payload or a context
LARGEST_REWARD = 1e100  # sums of its square, weighted, stay finite


def check_config(config: Config, arms: Iterable[str]) -> None:
    """Do the settings make sense together?"""
    rule = config.reward
    low, high = _finite("reward.min", rule.min), _finite("reward.max", rule.max)
    if not -LARGEST_REWARD <= low < high <= LARGEST_REWARD:
        raise Unprocessable(
            f"reward.min is {low!r} and reward.max {high!r}; accepted is min below max, "
            f"from {-LARGEST_REWARD!r} to {LARGEST_REWARD!r}",
            field="reward.max",
        )
    default = config.default_reward
    if default is not None and not low <= _finite("default_reward", default) <= high:
        raise Unprocessable(f"default_reward is {default!r}; accepted are {low!r} to {high!r}", field="default_reward")
    if not _finite("reward_window_s", config.reward_window_s) > 0.0:
        raise Unprocessable(
            f"reward_window_s is {config.reward_window_s!r}; accepted are seconds above 0", field="reward_window_s"
        )
    _check_streams(config, set(arms))


def _check_streams(config: Config, arms: set[str]) -> None:
    share = 0.0
    if config.control is not None:
        if config.control.arm not in arms:
            raise Unprocessable(
                f"control.arm is {config.control.arm!r}; accepted is one of the arms", field="control.arm"
            )
        share = _share("control.share", config.control.share)
    if share + _share("holdout_share", config.holdout_share) >= 1.0:
        raise Unprocessable(
            f"control.share and holdout_share sum to {share + config.holdout_share!r}; accepted is less than 1: "
            "the rest is what the learner learns from",
            field="holdout_share",
        )


def check_arms(rows: Iterable[ArmRow]) -> None:
    """Do floors and caps leave something to decide?"""
    living = [row for row in rows if row.state != "retired"]
    for row in living:
        if _share("floor", row.floor) > _share("cap", row.cap):
            raise Unprocessable(
                f"{row.arm!r} has floor {row.floor!r} above its cap {row.cap!r}; accepted is a floor up to the cap",
                field="floor",
            )
    floors = math.fsum(row.floor for row in living)
    if floors > 1.0:
        raise Unprocessable(f"the floors sum to {floors!r}; accepted is 1 at most", field="floor")


def check_caps(rows: Iterable[ArmRow]) -> None:
    """Can the caps that were just set hold, with all arms there?"""
    room = math.fsum(row.cap for row in rows if row.state != "retired")
    if room < 1.0:
        raise Unprocessable(f"the caps sum to {room!r}; accepted is 1 at least: somebody must be served", field="cap")


def named_arms(new: messages.NewExperiment) -> list[ArmRow]:
    """The arms of a new experiment."""
    named = [messages.NamedArm(arm=one) if isinstance(one, str) else one for one in new.arms]
    names = [one.arm for one in named]
    for name in names:
        check_name(name, "arms")
        if names.count(name) > 1:
            raise Unprocessable(f"arms has {name!r} twice; accepted are distinct names", field="arms")
    for which, shares in (("floors", new.floors), ("caps", new.caps)):
        _check_known(which, shares, names)
    return [
        ArmRow(
            one.arm,
            position,
            "active",
            new.floors.get(one.arm, 0.0),
            new.caps.get(one.arm, 1.0),
            checked_payload(one.payload),
        )
        for position, one in enumerate(named)
    ]


def check_name(name: str, which: str) -> None:
    """Names are shown, stored and matched: no control characters, nothing that cannot be part of an address."""
    if not 1 <= len(name) <= 100 or not name.isprintable() or name in (".", ".."):
        accepted = "1 to 100 printable characters, other than '.' and '..'"
        raise Unprocessable(f"{which} has {name[:120]!r}; accepted are {accepted}", field=which)


def checked_json(which: str, thing: Any) -> str:
    """Something of the caller's that is kept as it is, as text: if JSON can hold it and it is not too long."""
    try:
        text = msgspec.json.encode(thing)
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as problem:
        raise Unprocessable(f"{which} cannot be written as JSON: {problem}", field=which) from problem
    if len(text) > LARGEST_JSON:
        raise Unprocessable(f"{which} has {len(text)} bytes as JSON; accepted are {LARGEST_JSON}", field=which)
    return text.decode()


def checked_payload(payload: Any) -> Any:
    """A payload as it comes back from the store, so that the first caller gets what all later ones get."""
    return msgspec.json.decode(checked_json("payload", payload))


def check_id(decision_id: str) -> None:
    """Decisions are known by UUIDs, written in one way."""
    if not isinstance(decision_id, str) or not UUID.fullmatch(decision_id):
        raise Unprocessable(
            f"decision_id is {str(decision_id)[:50]!r}; accepted is a UUID in lower case, "
            "as in 0192d3a4-5b6c-7d8e-9f01-23456789abcd",
            field="decision_id",
        )


def _check_known(which: str, shares: Mapping[str, float], names: list[str]) -> None:
    for name, share in shares.items():
        if name not in names:
            raise Unprocessable(f"{which} has {name!r}; accepted are names of arms", field=which)
        _share(which, share)


def is_finite(value: Any) -> bool:
    """Is it a number that a float can hold?"""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _finite(which: str, value: float) -> float:
    if not is_finite(value):
        raise Unprocessable(f"{which} is {value!r}; accepted are finite numbers", field=which)
    return value


def _share(which: str, value: float) -> float:
    if not 0.0 <= _finite(which, value) <= 1.0:
        raise Unprocessable(f"{which} is {value!r}; accepted are 0 to 1", field=which)
    return value
