"""Duplicate keys in JSON: msgspec takes the last of them silently, and other parsers the first.

Pairs are counted: outside of text a colon stands in every pair and nowhere else, so a body with as many colons as its
decoded objects have pairs has no duplicate. Only a body with colons in its text is parsed again, pair by pair.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from turncoat.service.errors import Malformed

_decode = msgspec.json.Decoder().decode


def check_distinct_keys(body: bytes, least: int) -> None:
    """Refuse two equal keys in one object of a body that was decoded before. `least`: pairs that it has for certain."""
    colons = body.count(b":")
    if colons > least and colons != _counted(body):
        json.loads(body, object_pairs_hook=_distinct, parse_int=len, parse_float=len)


def _counted(body: bytes) -> int:
    try:
        return _pairs(_decode(body))
    except msgspec.MsgspecError:  # of a field that was skipped, as its message has no such field
        return -1


def _pairs(value: Any) -> int:
    """Pairs of all objects in a decoded value."""
    if isinstance(value, dict):
        n = len(value)
        for inner in value.values():
            if isinstance(inner, dict | list):
                n += _pairs(inner)
        return n
    if isinstance(value, list):
        return sum(_pairs(inner) for inner in value if isinstance(inner, dict | list))
    return 0


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            accepted = "objects with distinct keys"
            raise Malformed(
                f"the body has {key[:100]!r} twice in one object; accepted are {accepted}", accepted=accepted
            )
        seen.add(key)
