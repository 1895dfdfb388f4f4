"""Two of what there is one of: headers, and keys of a JSON object. Which one counts, two parsers answer differently."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from tests.service.http.direct import JSON, Direct
from tests.service.http.served import Served
from tests.service.http.test_protocol import said, status
from turncoat.service.errors import Malformed
from turncoat.service.http.duplicate_keys import check_distinct_keys

DUPLICATES = {
    "in the message": ("/v1/decisions/00000000-0000-7000-8000-000000000000/reward", b'{"value": 1, "value": 0}'),
    "the same value": ("/v1/experiments/e/decisions", b'{"sticky": false, "sticky": false}'),
    "escaped": ("/v1/experiments/e/decisions", b'{"unit_id": "a", "unit\\u005fid": "b"}'),
    "in the context": ("/v1/experiments/e/decisions", b'{"context": {"a": 1, "b": [{"c": 1, "c": 2}]}}'),
    "with colons in text": ("/v1/experiments/e/decisions", b'{"unit_id": "a:b:c", "context": {"x": 1, "x": ":"}}'),
    "in a payload": ("/v1/experiments", b'{"key": "k", "arms": [{"arm": "a", "payload": {"x": 1, "x": 2}}]}'),
    "of floors": ("/v1/experiments", b'{"key": "k", "arms": ["a", "b"], "floors": {"a": 0.1, "a": 0.2}}'),
    "of a flag": ("/ofrep/v1/evaluate/flags/e", b'{"context": {"targetingKey": "a", "targetingKey": "b"}}'),
    "of a key": ("/v1/keys", b'{"name": "n", "scopes": ["read"], "scopes": ["admin"]}'),
}


@pytest.mark.parametrize("case", DUPLICATES)
def test_a_key_that_is_there_twice_is_refused(asked: Direct, case: str) -> None:
    """msgspec took the last one, silently."""
    path, body = DUPLICATES[case]
    answer = asked.ask("POST", path, body, JSON)
    assert answer.status == 400 and b"twice in one object" in answer.body, answer


def test_so_is_one_in_a_line_of_a_batch(asked: Direct) -> None:
    one = b'{"decision_id": "00000000-0000-7000-8000-000000000000", "value": 1%b}'
    lines = one % b', "value": 0' + b"\n" + one % b', "reward_id": "a:b"'
    answer = asked.ask("POST", "/v1/rewards", lines, {"content-type": "application/x-ndjson"})
    first, second = map(json.loads, answer.body.splitlines())
    assert first["status"] == "refused" and "twice" in first["detail"] and second["status"] == "pending_decision"


def test_colons_and_equal_keys_of_different_objects_are_fine(asked: Direct) -> None:
    for context in ({"a": {"x": 1}, "b": {"x": 2}}, {"at": "2026-01-01T00:00:00", ":": ":::", "": '{"a":1,"a":2}'}):
        body = json.dumps({"unit_id": "a:b", "context": context}).encode()
        assert asked.ask("POST", "/v1/experiments/e/decisions", body, JSON).status == 201


class Pairs(list[Any]):
    """An object by its pairs, which may have equal keys."""


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(':{}"\\, a'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(st.text(":a", max_size=2), inner), max_size=3).map(Pairs)
    ),
    max_leaves=12,
)


def written(value: Any) -> str:
    if isinstance(value, Pairs):
        return "{" + " , ".join(f"{json.dumps(key)} : {written(inner)}" for key, inner in value) + "}"
    return "[" + ",".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)


def has_duplicates(value: Any) -> bool:
    if isinstance(value, Pairs):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(has_duplicates(inner) for _, inner in value)
    return isinstance(value, list) and any(map(has_duplicates, value))


@given(JSON_VALUES)
@example(Pairs([("a", ":"), ("b", math.pi)]))
def test_the_check_is_exact(value: Any) -> None:
    body = written(value if isinstance(value, Pairs) else Pairs([("x", value), ("y", ":")])).encode()
    refused = False
    try:
        check_distinct_keys(body, 1)
    except Malformed:
        refused = True
    assert refused == has_duplicates(value)


def test_fields_that_are_skipped_are_looked_at_too(asked: Direct) -> None:
    """OFREP messages may have further fields. msgspec decodes no integer of 5,000 digits, nor does Python's parser."""
    for rest, expected in ((b"7" * 5000, 200), (b'{"a": 1, "a": 2}', 400), (b'":"', 200), (b'"\xff"', 400)):
        answer = asked.ask("POST", "/ofrep/v1/evaluate/flags/e", b'{"context": {}, "more": %b}' % rest, JSON)
        assert answer.status == expected, rest[:20]


@pytest.mark.parametrize("name", ["Host", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Origin"])
def test_a_header_that_is_there_twice_is_refused(served: Served, name: str) -> None:
    """The last one counted; a proxy may take the first."""
    for path in ("/healthz", "/v1/experiments", "/nothing", "/v1/experiments/e/decisions"):
        for method in ("GET", "POST"):
            twice = f"{name}: localhost\r\n{name.lower()}: localhost\r\n"
            host = "" if name == "Host" else "Host: localhost\r\n"
            with served.connect() as connection:
                connection.sendall(f"{method} {path} HTTP/1.1\r\n{twice}{host}Connection: close\r\n\r\n".encode())
                answer = said(connection)
            assert status(answer) == 400 and f"two headers {name.lower()}".encode() in answer
    with served.connect() as connection:  # others may come twice
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: 1\r\nX: 2\r\nConnection: close\r\n\r\n")
        assert status(said(connection)) == 200
