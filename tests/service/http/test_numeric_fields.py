"""Every numeric field × what is no number for it. The fields come from the messages' own schemas."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from turncoat.service.http.route import Route
from turncoat.service.http.routes import ROUTES

NEVER = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", '"0.5"', "true"]
PERHAPS = ["null", "1e308", "-1e308", "-0.0", "5e-324", "9" * 400]
HOLE = "the number goes here"

# One good message of each kind, in which every numeric field occurs.
GOOD: dict[str, dict[str, Any]] = {
    "NewExperiment": {
        "key": "new",
        "arms": ["a", "b"],
        "reward": {"min": -1.0, "max": 1.0},
        "reward_window_s": 60.0,
        "default_reward": 0.25,
        "control": {"arm": "a", "share": 0.1},
        "holdout_share": 0.1,
        "stickiness": {"keep_s": 60.0},
        "floors": {"a": 0.1},
        "caps": {"b": 0.9},
        "seed": 1,
        "keep_days": 90.0,
    },
    "ExperimentChange": {
        "reward_window_s": 60.0,
        "default_reward": 0.0,
        "control": {"arm": "a", "share": 0.1},
        "holdout_share": 0.1,
        "stickiness": {"keep_s": 60.0},
        "keep_days": 90.0,
    },
    "NewArm": {"arm": "c", "floor": 0.1, "cap": 0.9},
    "ArmChange": {"floor": 0.1, "cap": 0.9},
    "Reward": {"value": 0.5},
    "RewardLine": {"decision_id": "00000000-0000-7000-8000-000000000000", "value": 0.5},
}


def numeric_fields(kind: Any) -> list[tuple[str, ...]]:
    """The paths of all numbers in a message, by its schema; `*` for any name of a mapping."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def walk(node: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        node = parts[node["$ref"]] if "$ref" in node else node
        for option in node.get("anyOf", ()):
            yield from walk(option, path)
        if node.get("type") in ("number", "integer"):
            yield path
        for name, below in node.get("properties", {}).items():
            yield from walk(below, (*path, name))
        if isinstance(node.get("additionalProperties"), dict):
            yield from walk(node["additionalProperties"], (*path, "*"))

    return list(dict.fromkeys(walk(schema, ())))


FIELDS = [
    (route, path)
    for route in ROUTES
    if route.takes is not None and route.group != "keys"  # once there is a key all need one: test_rate_limits.py
    for path in numeric_fields(route.each if route.takes is bytes else route.takes)
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Direct]:
    with direct(make_context(tmp_path_factory.mktemp("numbers"))) as one:
        yield one


def fresh(asked: Direct, number: int) -> tuple[str, str]:
    """An experiment and a decision of its own."""
    key = f"e{number}"
    assert asked.post("/v1/experiments", {"key": key, "arms": ["a", "b"]}).status == 201
    return key, asked.post(f"/v1/experiments/{key}/decisions", {}).json()["decision_id"]


def written(route: Route, path: tuple[str, ...], literal: str, key: str, decision_id: str) -> bytes:
    """A good message in which this field is this piece of JSON."""
    kind = route.each if route.takes is bytes else route.takes
    message = json.loads(json.dumps(GOOD[kind.__name__]))
    if "key" in message:
        message["key"] = f"{key}-new"
    if "decision_id" in message:
        message["decision_id"] = decision_id
    place = message
    for name in path[:-1]:
        place = place[name]
    last = next(iter(place)) if path[-1] == "*" else path[-1]
    assert last in place, f"GOOD has no {'.'.join(path)}"
    place[last] = HOLE
    return json.dumps(message).replace(f'"{HOLE}"', literal).encode()


def sent(asked: Direct, route: Route, path: tuple[str, ...], literal: str, number: int) -> tuple[int, Any]:
    key, decision_id = fresh(asked, number)
    target = route.path.replace("{key}", key).replace("{decision_id}", decision_id).replace("{arm:path}", "a")
    headers = {"content-type": "application/x-ndjson"} if route.takes is bytes else JSON
    said = asked.ask(route.method, target, written(route, path, literal, key, decision_id), headers)
    everything_is_finite(asked, key)
    if route.takes is bytes:
        line = said.json()
        return (422 if line["status"] == "refused" else said.status), line
    return said.status, said.json()


def everything_is_finite(asked: Direct, key: str) -> None:
    asked.work()
    arms = asked.ask("GET", f"/v1/experiments/{key}/arms").json()
    assert sum(arm["probability"] for arm in arms) == pytest.approx(1.0, abs=1e-9)
    assert all(math.isfinite(arm[name]) for arm in arms for name in ("floor", "cap", "probability"))


def test_the_schemas_have_the_numbers_they_should() -> None:
    found = {(route.name, ".".join(path)) for route, path in FIELDS}
    assert len(found) == 23
    assert {("reward", "value"), ("create_experiment", "control.share"), ("create_experiment", "floors.*")} <= found


@pytest.mark.parametrize("route, path", FIELDS, ids=[f"{route.name}-{'.'.join(path)}" for route, path in FIELDS])
def test_what_is_no_number_is_refused(asked: Direct, route: Route, path: tuple[str, ...]) -> None:
    start = 1000 * FIELDS.index((route, path))
    for number, literal in enumerate(NEVER, start):
        status, said = sent(asked, route, path, literal, number)
        assert status in (400, 422), (literal, said)
        if route.takes is not bytes and literal in ('"0.5"', "true", "1e400"):
            assert said["field"].startswith(path[0]) and said["accepted"], literal
    for number, literal in enumerate(PERHAPS, start + 500):
        status, said = sent(asked, route, path, literal, number)
        assert status < 500, (literal, said)
    good = {"seed": "7", "keep_days": "1.5"}.get(path[0], "0.25")
    assert sent(asked, route, path, good, start + 900)[0] < 400  # the message was good


def test_context_may_hold_any_finite_number(asked: Direct) -> None:
    key, _ = fresh(asked, 999_999)
    for literal in NEVER + PERHAPS:
        body = b'{"context": {"deep": [{"n": %s}]}}' % literal.encode()
        said = asked.ask("POST", f"/v1/experiments/{key}/decisions", body, JSON)
        assert said.status == (400 if literal in NEVER[:5] else 201), literal
        if said.status == 201:
            found = asked.ask("GET", f"/v1/decisions/{said.json()['decision_id']}")
            assert found.json()["context"] == {"deep": [{"n": json.loads(literal)}]}
