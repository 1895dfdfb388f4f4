"""What is not a request we read: a 4xx that says why, whatever it is, and nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from tests.service.http.test_auth import a_path
from turncoat.service.http import limits
from turncoat.service.http.route import Route
from turncoat.service.http.routes import ROUTES

WITH_BODY = [route for route in ROUTES if route.takes is not None and route.takes is not bytes]
DEEP = 100_000

MALFORMED = {
    "empty": b"",
    "a space": b" ",
    "cut off": b'{"value": ',
    "not JSON": b"value=1",
    "two": b"{}{}",
    "a comment": b"{} // no",
    "single quotes": b"{'value': 1}",
    "invalid UTF-8": b'{"value": 1, "reward_id": "\xff\xfe"}',
    "UTF-16": '{"value": 1}'.encode("utf-16"),
    "a lone surrogate": b'{"unit_id": "\\ud800", "reward_id": "\\ud800", "key": "\\ud800", "arm": "\\ud800"}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "text": b'"text"',
    "deep lists": b"[" * DEEP,
    "deep objects": b'{"context": ' * 5000,
    "NUL": b"\x00",
    "an unknown field": b'{"nobody_knows_this": 1}',
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Direct]:
    with direct(make_context(tmp_path_factory.mktemp("bad"))) as one:
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


@pytest.mark.parametrize("route", WITH_BODY, ids=[route.name for route in WITH_BODY])
def test_malformed_bodies_are_refused(asked: Direct, route: Route) -> None:
    for case, body in MALFORMED.items():
        if route.name.startswith("evaluate") and case in ("an unknown field", "invalid UTF-8", "a lone surrogate"):
            continue  # what is wrong is in a field that OFREP does not have, and it may grow
        said = asked.ask(route.method, a_path(route), body, JSON)
        assert said.status in (400, 413), (case, said)
        if route.name.startswith("evaluate"):
            assert said.json()["errorCode"] in ("PARSE_ERROR", "GENERAL"), case
        else:
            problem = said.json()
            assert said.headers["content-type"] == "application/problem+json"
            assert set(problem) >= {"type", "title", "status", "detail"} and problem["status"] == said.status
    assert len(asked.ask("GET", "/v1/experiments/e/audit").json()) == 1


def test_a_body_that_is_not_there_is_called_empty(asked: Direct) -> None:
    """It was called truncated."""
    for body in (b"", b" \n"):
        said = asked.ask("POST", "/v1/experiments/e/decisions", body, JSON)
        assert (said.status, said.json()["detail"]) == (400, "the body is empty; accepted is JSON, at least {}")


def test_a_flag_s_context_is_read_as_strictly(asked: Direct) -> None:
    for value in (b'"\xff"', b'"\\ud800"', b"NaN", b"1e400", b"[" * DEEP):
        said = asked.ask("POST", "/ofrep/v1/evaluate/flags/e", b'{"context": {"x": ' + value + b"}}", JSON)
        assert said.status in (400, 413), value[:20]


@pytest.mark.parametrize("route", WITH_BODY, ids=[route.name for route in WITH_BODY])
def test_only_json_is_read(asked: Direct, route: Route) -> None:
    kinds = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "*/*"]
    for kind in kinds:
        said = asked.ask(route.method, a_path(route), b"{}", {"content-type": kind})
        assert said.status == (400 if route.name.startswith("evaluate") else 415), kind
    for kind in ("application/json; charset=utf-8", "Application/JSON"):
        assert asked.ask(route.method, a_path(route), b"{}", {"content-type": kind}).status != 415


def test_nesting_has_a_limit_that_others_can_read_too(asked: Direct) -> None:
    inside = limits.DEPTH - 2  # the message and the context are two
    for depth, status in ((inside, 201), (inside + 1, 400), (900, 400)):
        body = b'{"context": {"x": ' + b"[" * depth + b"]" * depth + b"}}"
        assert asked.ask("POST", "/v1/experiments/e/decisions", body, JSON).status == status, depth
    wide = b'{"context": {"x": [' + b",".join([b"[]"] * 5000) + b"]}}"
    assert asked.ask("POST", "/v1/experiments/e/decisions", wide, JSON).status == 201


def test_a_large_body_is_refused_by_its_length_and_by_its_chunks(asked: Direct) -> None:
    path = "/v1/experiments/e/decisions"
    fits = b"{}".ljust(limits.BODY)
    assert asked.ask("POST", path, fits, JSON).status == 201
    assert asked.ask("POST", path, [fits[:100], fits[100:]], JSON).status == 201
    for body in (fits + b" ", [fits, b" "], [b"x" * limits.BODY, b"x"]):
        said = asked.ask("POST", path, body, JSON)
        assert said.status == 413 and said.headers["connection"] == "close"
    assert asked.ask("POST", path, b"{}", {**JSON, "content-length": "209715200"}).status == 413
    assert asked.ask("POST", path, b"{}", {**JSON, "content-length": "9" * 5000}).status == 413
    assert asked.ask("POST", path, b"{}", {**JSON, "content-length": "-1"}).status == 413


@pytest.mark.parametrize(
    "body, field, accepted",
    [
        (b'{"key": "a b", "arms": ["x"]}', "key", "text of 1 to 100 characters matching"),
        (b'{"key": "k", "arms": ["x", {"arm": ""}]}', "arms[1].arm", "text of 1 to 100 characters"),
        (b'{"key": "k", "arms": ["x", 3]}', "arms[1]", "or an object with arm, payload"),
        (b'{"key": "k", "arms": []}', "arms", "a list of 1 to 1000 items"),
        (b'{"key": "k", "arms": ["x"], "control": {"arm": "x", "share": "y"}}', "control.share", "at most 1"),
        (b'{"key": "k", "arms": ["x"], "control": {"arm": "x"}}', "control.share", "a finite number of at least 0"),
        (b'{"key": "k", "arms": ["x"], "control": {"arm": "x", "shaer": 1}}', "control.shaer", "arm, share"),
        (b'{"key": "k", "arms": ["x"], "reward": {"aggregation": "q"}}', "reward.aggregation", "one of 'first'"),
        (b'{"key": "k", "arms": ["x"], "reward_window_s": 0}', "reward_window_s", "more than 0 and at most 31536000"),
        (b'{"key": "k"}', "arms", "a list"),
        (b'{"key": "k", "arms": ["x"], "arm": 1}', "arm", "key, arms, reward"),
        (b'{"key": "k", "arms": ["x"], "floors": {"x": 2}}', "floors[...]", "at most 1"),
        (b'{"key": "k", "arms": ["x"], "seed": 1.5}', "seed", "a whole number"),
    ],
)
def test_the_field_is_named_and_what_it_accepts(asked: Direct, body: bytes, field: str, accepted: str) -> None:
    said = asked.ask("POST", "/v1/experiments", body, JSON)
    assert said.status in (400, 422)
    problem = said.json()
    assert problem["field"] == field and accepted in problem["accepted"] and field in problem["detail"]
    assert "`" not in problem["detail"]


def test_unknown_addresses_and_methods_are_problems_too(asked: Direct) -> None:
    for path in (
        "/nothing",
        "/v1",
        "/v1/experiments/",
        "/v1/experiments/e/nothing",
        "/v1//experiments",
        "/",
        "/static/x",
    ):
        said = asked.ask("GET", path)
        assert said.status == 404 and said.headers["content-type"] == "application/problem+json", path
    said = asked.ask("PUT", "/v1/experiments")
    assert said.status == 405 and said.headers["allow"] == "GET, HEAD, POST"
    assert asked.ask("GET", "/v1/experiments/e/decisions").status == 405
    assert asked.ask("HEAD", "/v1/experiments/e").status == 200


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=-1", "limit=1e3", "limit=10001", "limit=", "limit=%EF%BC%95", "lmit=5", "limit=99999999999"],
)
def test_parameters_are_checked(asked: Direct, query: str) -> None:
    said = asked.ask("GET", f"/v1/experiments/e/timeline?{query}")
    assert said.status == 422 and said.json()["field"] == query.partition("=")[0]
    assert asked.ask("GET", "/v1/experiments/e/timeline?limit=5").status == 200
    assert asked.ask("GET", "/v1/experiments?anything=1").status == 422


@pytest.mark.parametrize("seen", ["x", '"x"', 'W/"1"', '"1', "1, 2", '"-1"', "٣", "9" * 30])
def test_if_match_is_an_etag_of_ours(asked: Direct, seen: str) -> None:
    said = asked.ask("PATCH", "/v1/experiments/e", b"{}", {**JSON, "if-match": seen.encode().decode("latin-1")})
    assert said.status == 400 and said.json()["field"] == "If-Match"


def test_if_match_goes_by_the_etag(asked: Direct) -> None:
    assert asked.post("/v1/experiments", {"key": "tagged", "arms": ["a"]}).headers["etag"] == '"1"'
    assert asked.ask("GET", "/v1/experiments/tagged").headers["etag"] == '"1"'

    def change(seen: str) -> int:
        return asked.ask(
            "PATCH", "/v1/experiments/tagged", b'{"reward_window_s": 5}', {**JSON, "if-match": seen}
        ).status

    assert [change(seen) for seen in ('"1"', '"1"', "2", "*")] == [200, 412, 200, 200]


@pytest.mark.parametrize("key", ["ü", "tab\t", "x" * 256, ""])
def test_an_idempotency_key_is_printable_ascii(asked: Direct, key: str) -> None:
    said = asked.ask("POST", "/v1/experiments/e/decisions", b"{}", {**JSON, "idempotency-key": key})
    assert said.status in (400, 422) and said.json()["field"] == "Idempotency-Key"


def test_repeated_requests_get_the_same_bytes(asked: Direct) -> None:
    said = [
        asked.ask("POST", "/v1/experiments/e/decisions", b'{"context":{"n":1.0}}', {**JSON, "idempotency-key": "k"})
        for _ in range(3)
    ]
    assert len({one.body for one in said}) == 1 and {one.status for one in said} == {201}
