"""Is a message what its type says? If not, the field is named and what it accepts, read from the message's own schema.

What comes as JSON is checked while it is read; `checked` does the same for a message made in Python.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar

import msgspec

from turncoat.service.errors import Malformed, Problem, Unprocessable

T = TypeVar("T", bound=msgspec.Struct)

PLAIN = {"number": "a finite number", "integer": "a whole number", "boolean": "true or false", "null": "null"}
STEP = re.compile(r"\.([^.\[\]]+)|\[[^\]]*\]")
WHERE = re.compile(r" - at (?:`key` in )?`\$([^`]*)`$")
GOT = re.compile(r"^Expected `.*`, got `([^`]*)`$")
NAMED = re.compile(r"^Object (missing required|contains unknown) field `([^`]*)`")
SENT = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
NO_NEWLINE = r"(?!\n)"  # Python's `$` would let one through; said, it would only puzzle
UUID = "^[0-9a-f]{8}-"
MOST = 40  # names listed


def checked(message: T) -> T:
    """The same message, if it is what its type says."""
    kind, plain = type(message), None
    try:
        plain = msgspec.to_builtins(message, enc_hook=_number)
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as complaint:
        problem = refusal(kind, str(complaint))
        shown = "" if problem.field is None else f"{problem.field} is {_at(plain, problem.field)!r:.100}: "
        raise type(problem)(shown + problem.detail, field=problem.field, accepted=problem.accepted) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise Unprocessable(f"this cannot be written as JSON: {problem}") from problem


def _number(thing: Any) -> Any:
    """Numpy's numbers as Python's; nothing else."""
    if type(thing).__module__ == "numpy" and hasattr(thing, "item"):
        return thing.item()
    raise TypeError(f"{thing!r:.100} is of type {type(thing).__name__}")


def _at(plain: Any, field: str) -> Any:
    """The value of a field like `control.share` or `arms[0]`, as far as it can be found."""
    for name, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field):
        try:
            plain = plain[name] if name else plain[int(place)]
        except (LookupError, TypeError):
            return plain
    return plain


def refusal(kind: Any, complaint: str) -> Problem:
    """A value of the wrong type cannot be read; one of the right type can, and is not accepted."""
    detail, field, accepted = explained(kind, complaint)
    wrong_value = complaint.startswith("Expected") and ", got " not in complaint
    refused = Unprocessable if wrong_value or complaint.startswith("Invalid enum") else Malformed
    return refused(detail, field=field, accepted=accepted)


def explained(kind: Any, complaint: str) -> tuple[str, str | None, str | None]:
    """What msgspec says is wrong with a message of this kind: said plainly; the field it is about; what is accepted."""
    where = WHERE.search(complaint)
    path = where.group(1) if where else ""
    said = complaint[: where.start()] if where else complaint
    node = _find(kind, path)
    named = NAMED.match(said)
    if named and named.group(1) == "contains unknown":
        field = f"{path}.{named.group(2)}".lstrip(".")
        names = _names(node, _schema(kind)[1])
        return f"there is no field {field!r}; accepted are {names}", field, names
    if named:
        path = f"{path}.{named.group(2)}"
        node = _find(kind, path)
    about = path.lstrip(".") or None
    accepted = None if node is None else described(node, _schema(kind)[1])
    detail = f"{about or 'the body'} {_plainly(said)}"
    return f"{detail}; accepted is {accepted}" if accepted else detail, about, accepted


def _plainly(said: str) -> str:
    got = GOT.match(said)
    if got:
        return f"is {SENT.get(got.group(1), got.group(1))}"
    return "is missing" if NAMED.match(said) else "is not accepted"


def described(node: dict[str, Any], parts: dict[str, Any]) -> str:
    """A schema, in words."""
    node = _opened(node, parts)
    if "anyOf" in node:
        return " or ".join(described(one, parts) for one in node["anyOf"])
    if "enum" in node:
        return "one of " + ", ".join(map(repr, node["enum"]))
    kind = node.get("type")
    if kind in ("number", "integer"):
        return PLAIN[kind] + _bounds(node)
    if node.get("pattern", "").startswith(UUID):
        return "a UUID in lower case"
    if kind == "string":
        return "text" + _lengths(node, "minLength", "maxLength", "characters") + _pattern(node)
    if kind == "array":
        return "a list" + _lengths(node, "minItems", "maxItems", "items")
    if kind == "object":
        return f"an object with {_names(node, parts)}" if node.get("properties") else "an object"
    return PLAIN.get(str(kind), "any JSON")


def _bounds(node: dict[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    said = [f"{word} {node[name]:.15g}" for name, word in words.items() if name in node]
    return " of " + " and ".join(said) if said else ""


def _lengths(node: dict[str, Any], least: str, most: str, of: str) -> str:
    low, high = node.get(least, 0), node.get(most)
    if high is None:
        return f" of at least {low} {of}" if low else ""
    return f" of {low} {of}" if low == high else f" of {low} to {high} {of}"


def _pattern(node: dict[str, Any]) -> str:
    return f" matching {node['pattern'].removesuffix(NO_NEWLINE)}" if "pattern" in node else ""


def _names(node: dict[str, Any] | None, parts: dict[str, Any]) -> str:
    names = [
        name
        for option in (node or {}).get("anyOf", [node or {}])
        for name in _opened(option, parts).get("properties", {})
    ]
    return ", ".join(names[:MOST]) or "none"


@cache
def _schema(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return schema, parts


def _opened(node: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    return parts[node["$ref"]] if "$ref" in node else node


def _find(kind: Any, path: str) -> dict[str, Any] | None:
    """The schema of the field at a path like `.control.share`."""
    schema, parts = _schema(kind)
    node: dict[str, Any] | None = _opened(schema, parts)
    for step in STEP.finditer(path):
        if node is None:
            return None
        node = _step(node, step.group(1), parts)
    return node


def _step(node: dict[str, Any], name: str | None, parts: dict[str, Any]) -> dict[str, Any] | None:
    """One step down: into a field, or into any item of a list or mapping."""
    for option in node.get("anyOf", [node]):
        inside = _opened(option, parts)
        if name is None:
            below = inside.get("items", inside.get("additionalProperties"))
        else:
            below = inside.get("properties", {}).get(name)
        if isinstance(below, dict):
            return _opened(below, parts) if "anyOf" not in below else below
    return None
