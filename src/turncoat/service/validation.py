"""Validation of messages: an error names the field and what it accepts, read from the message's own schema.

msgspec checks JSON against its type while it decodes; `checked` does the same for a message made in Python. What a type
cannot say (sums of shares, names used twice, a default outside its range) is checked at the end of this file; a number
that has bounds is finite by then, as NaN is outside of all bounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

from turncoat.service import messages
from turncoat.service.errors import Malformed, Problem, Unprocessable
from turncoat.service.experiments.snapshot import ArmRow, Config

T = TypeVar("T", bound=msgspec.Struct)

STEP = re.compile(r"\.([^.\[\]]+)|\[[^\]]*\]")
COMPLAINT = re.compile(
    r"(?:Expected `.*`, got `(?P<got>[^`]*)`|Object (?P<names>missing|contains)[^`]*`(?P<name>[^`]*)`|.*?)"
    r"(?: - at (?:`key` in )?`\$(?P<path>[^`]*)`)?",
    re.DOTALL,
)
SENT = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
PLAIN = {
    "number": "a finite number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "string": "text",
    "array": "a list",
    "object": "an object",
}
BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than"}
LENGTHS = {"string": ("minLength", "maxLength", "characters"), "array": ("minItems", "maxItems", "items")}
NO_NEWLINE = r"(?!\n)"  # needed because Python's `$` accepts a final newline; not shown in messages
MOST = 40  # names listed in a message


def checked(message: T) -> T:
    """The same message, checked against its type."""
    kind, plain = type(message), None
    try:
        plain = msgspec.to_builtins(message, enc_hook=_number)
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as complaint:
        problem = validation_problem(kind, str(complaint))
        shown = "" if problem.field is None else f"{problem.field} is {_at(plain, problem.field)!r:.100}: "
        raise type(problem)(shown + problem.detail, field=problem.field, accepted=problem.accepted) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise Unprocessable(f"this cannot be written as JSON: {problem}") from problem


def _number(thing: Any) -> Any:
    """Encode numpy's numbers as Python's; refuse every other type."""
    if type(thing).__module__ == "numpy" and hasattr(thing, "item"):
        return thing.item()
    raise TypeError(f"{thing!r:.100} is of type {type(thing).__name__}")


def _at(plain: Any, field: str) -> Any:
    """The value at a path like `control.share` or `arms[0]`, as deep as it exists."""
    for name, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field):
        try:
            plain = plain[name] if name else plain[int(place)]
        except (LookupError, TypeError):
            return plain
    return plain


def validation_problem(kind: Any, complaint: str) -> Problem:
    """msgspec's error about a message of this type, in plain English.

    A value of the wrong type is Malformed; one of the right type and not accepted is Unprocessable.
    """
    said = COMPLAINT.fullmatch(complaint)
    assert said is not None  # every text matches
    path = said["path"] or ""
    field = path.lstrip(".") or None if said["name"] is None else f"{path}.{said['name']}".lstrip(".")
    if said["names"] == "contains":
        names = _names(_find(kind, path))
        return Malformed(f"there is no field {field!r}; accepted are {names}", field=field, accepted=names)
    node = _find(kind, f".{field}" if field else "")
    accepted = None if node is None else described(node)
    got = said["got"]
    wrong = f"is {SENT.get(got, got)}" if got else "is missing" if said["names"] else "is not accepted"
    detail = f"{field or 'the body'} {wrong}" + (f"; accepted is {accepted}" if accepted else "")
    is_value = complaint.startswith(("Expected", "Invalid enum")) and ", got " not in complaint
    return (Unprocessable if is_value else Malformed)(detail, field=field, accepted=accepted)


def described(node: dict[str, Any]) -> str:
    """A JSON schema in English."""
    if "anyOf" in node:
        return " or ".join(map(described, node["anyOf"]))
    if "enum" in node:
        return "one of " + ", ".join(map(repr, node["enum"]))
    if node.get("pattern") == messages.UUID:
        return "a UUID in lower case"
    text = PLAIN.get(node.get("type", ""), "any JSON")
    if bounds := [f"{word} {node[name]:.15g}" for name, word in BOUNDS.items() if name in node]:
        text += " of " + " and ".join(bounds)
    least, most, of = LENGTHS.get(node.get("type", ""), ("", "", ""))
    low, high = node.get(least, 0), node.get(most)
    if high is not None:
        text += f" of {low} {of}" if low == high else f" of {low} to {high} {of}"
    elif low:
        text += f" of at least {low} {of}"
    if "pattern" in node:
        text += f" matching {node['pattern'].removesuffix(NO_NEWLINE)}"
    return f"{text} with {_names(node)}" if node.get("properties") else text


def _names(node: dict[str, Any] | None) -> str:
    options = (node or {}).get("anyOf", [node or {}])
    return ", ".join([name for option in options for name in option.get("properties", {})][:MOST]) or "none"


@cache
def _schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, with every reference replaced by what it refers to."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def opened(node: Any) -> Any:
        if isinstance(node, list):
            return [opened(one) for one in node]
        if isinstance(node, dict):
            return opened(parts[node["$ref"]]) if "$ref" in node else {name: opened(one) for name, one in node.items()}
        return node

    found: dict[str, Any] = opened(schema)
    return found


def _find(kind: Any, path: str) -> dict[str, Any] | None:
    """The schema of the field at a path like `.control.share`, or of any item of a list or mapping there."""
    node: dict[str, Any] | None = _schema(kind)
    for step in STEP.finditer(path):
        options = (node or {}).get("anyOf", [node or {}])
        if step[1] is None:
            below = [one.get("items", one.get("additionalProperties")) for one in options]
        else:
            below = [one.get("properties", {}).get(step[1]) for one in options]
        node = next((one for one in below if isinstance(one, dict)), None)
    return node


# --- what a type cannot say ---

is_uuid = re.compile(messages.UUID).fullmatch
LARGEST_JSON = 16_384  # bytes of a payload or a context
# Printable to Python, and invisible: the space, joiners, fillers, blank Braille, variation selectors.
BLANK = re.compile(
    "[ \u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]+"
)
LARGEST_REWARD = 1e100  # sums of its square, weighted, stay finite


def check_config(config: Config, arms: Collection[str]) -> None:
    """Check that the settings are consistent."""
    for tag in config.tags:
        if config.tags.count(tag) > 1:
            raise Unprocessable(f"tags has {tag!r} twice; accepted are distinct words", field="tags")
    low, high, default = config.reward.min, config.reward.max, config.default_reward
    for name, bound in (("reward.min", low), ("reward.max", high)):
        if not is_finite(bound):
            raise Unprocessable(f"{name} is {bound!r}; accepted are finite numbers", field=name)
    if not -LARGEST_REWARD <= low < high <= LARGEST_REWARD:
        raise Unprocessable(
            f"reward.min is {low!r} and reward.max {high!r}; accepted is min below max, "
            f"from {-LARGEST_REWARD!r} to {LARGEST_REWARD!r}",
            field="reward.max",
        )
    if default is not None and not low <= default <= high:
        raise Unprocessable(f"default_reward is {default!r}; accepted are {low!r} to {high!r}", field="default_reward")
    control, share = config.control, config.holdout_share
    if control is not None:
        if control.arm not in arms:
            raise Unprocessable(f"control.arm is {control.arm!r}; accepted is one of the arms", field="control.arm")
        share += control.share
    if share >= 1.0:
        raise Unprocessable(
            f"control.share and holdout_share sum to {share!r}; accepted is less than 1: "
            "the rest is what the learner learns from",
            field="holdout_share",
        )


def check_arms(rows: Iterable[ArmRow]) -> None:
    """Check floors against caps, and that the floors sum to at most 1."""
    living = [row for row in rows if row.state != "retired"]
    for row in living:
        if row.floor > row.cap:
            raise Unprocessable(
                f"{row.arm!r} has floor {row.floor!r} above its cap {row.cap!r}; accepted is a floor up to the cap",
                field="floor",
            )
    floors = math.fsum(row.floor for row in living)
    if floors > 1.0:
        raise Unprocessable(f"the floors sum to {floors!r}; accepted is 1 at most", field="floor")


def check_caps(rows: Iterable[ArmRow]) -> None:
    """Check that the caps sum to at least 1."""
    room = math.fsum(row.cap for row in rows if row.state != "retired")
    if room < 1.0:
        raise Unprocessable(
            f"the caps sum to {room!r}; accepted is 1 at least: each request is served by an arm", field="cap"
        )


def named_arms(new: messages.NewExperiment) -> list[ArmRow]:
    """The arms of a new experiment."""
    named = [(one, None) if isinstance(one, str) else (one.arm, one.payload) for one in new.arms]
    names = [name for name, _ in named]
    for name in names:
        check_name(name, "arms")
        if names.count(name) > 1:
            raise Unprocessable(f"arms has {name!r} twice; accepted are distinct names", field="arms")
    for which, shares in (("floors", new.floors), ("caps", new.caps)):
        for name in shares:
            if name not in names:
                raise Unprocessable(f"{which} has {name!r}; accepted are names of arms", field=which)
    return [
        ArmRow(name, position, "active", new.floors.get(name, 0.0), new.caps.get(name, 1.0), checked_payload(payload))
        for position, (name, payload) in enumerate(named)
    ]


def check_name(name: str, which: str) -> None:
    """Names appear in pages, in the store and in URLs: no control characters, no '.' or '..', and not blank."""
    blank = BLANK.fullmatch(name) is not None
    if blank or not 1 <= len(name) <= 100 or not name.isprintable() or name in (".", ".."):
        accepted = "1 to 100 printable characters, one of them visible, other than '.' and '..'"
        raise Unprocessable(f"{which} has {name[:120]!r}; accepted are {accepted}", field=which)


def checked_json(which: str, thing: Any) -> str:
    """A caller's value that is stored as it is, encoded as JSON; refused if that is impossible or too long."""
    try:
        text = msgspec.json.encode(thing)
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as problem:
        raise Unprocessable(f"{which} cannot be written as JSON: {problem}", field=which) from problem
    if len(text) > LARGEST_JSON:
        raise Unprocessable(f"{which} has {len(text)} bytes as JSON; accepted are {LARGEST_JSON}", field=which)
    return text.decode()


def checked_payload(payload: Any) -> Any:
    """A payload after a round trip through JSON, so that the first caller gets what all later ones get."""
    return msgspec.json.decode(checked_json("payload", payload))


def check_id(decision_id: str) -> None:
    """A decision's id is a UUID in lower case."""
    if not isinstance(decision_id, str) or not is_uuid(decision_id):
        raise Unprocessable(
            f"decision_id is {str(decision_id)[:50]!r}; accepted is a UUID in lower case, "
            "as in 0192d3a4-5b6c-7d8e-9f01-23456789abcd",
            field="decision_id",
        )


def is_finite(value: Any) -> bool:
    """Whether it is a finite number within the range of floats."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int beyond the range of floats
        return False
