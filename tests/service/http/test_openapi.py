"""The description is true: it has every route, answers are as it says, and requests made up from it break nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from tests.service.http.direct import Direct, Said, direct
from tests.service.http.served import make_context
from turncoat.service.api_keys import SCOPES
from turncoat.service.http.openapi import describe, plain
from turncoat.service.http.routes import ROUTES

FEW, MORE = 10, 30  # examples of each kind, for each route: of `make test`, and of `make test-all`
KNOWN = {"key": "e", "arm": "a"}
DOCUMENT = describe(ROUTES)
ROUTES_BY_NAME = {route.name: route for route in ROUTES}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Direct]:
    with direct(make_context(tmp_path_factory.mktemp("openapi"))) as one:
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


@pytest.fixture(scope="module")
def bearer(asked: Direct) -> str:
    """From here on everyone needs a key, so this comes last."""
    made = asked.post("/v1/keys", {"name": "everything", "scopes": SCOPES})
    return f"Bearer {made.json()['key']}"


def test_it_is_served_as_it_is(asked: Direct) -> None:
    assert asked.ask("GET", "/openapi.json").json() == DOCUMENT


def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert described == {(route.method, plain(route.path)) for route in ROUTES}
    for path, methods in DOCUMENT["paths"].items():
        for told in methods.values():
            named = [one["name"] for one in told["parameters"] if one["in"] == "path"]
            assert named == re.findall(r"{(\w+)}", path)
            assert told["summary"].endswith(".")


def test_every_reference_leads_somewhere() -> None:
    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if "$ref" in node:
                yield node["$ref"]
            for below in node.values():
                yield from references(below)
        elif isinstance(node, list):
            for below in node:
                yield from references(below)

    found = set(references(DOCUMENT))
    assert found
    names = {one.removeprefix("#/components/schemas/") for one in found}
    assert names <= set(DOCUMENT["components"]["schemas"])


def valid(schema: dict[str, Any], value: Any) -> bool:
    whole = {**schema, "components": DOCUMENT["components"]}
    return bool(jsonschema_rs.is_valid(whole, value))


def test_answers_are_as_described(asked: Direct) -> None:
    one = asked.post("/v1/experiments/e/decisions", {"context": {"x": 1}})
    decision_id = one.json()["decision_id"]
    told = asked.post(f"/v1/decisions/{decision_id}/reward", {"value": 1.0})
    asked.work()
    paths = {
        "list_experiments": "/v1/experiments",
        "get_experiment": "/v1/experiments/e",
        "get_arms": "/v1/experiments/e/arms",
        "get_state": "/v1/experiments/e/state",
        "get_timeline": "/v1/experiments/e/timeline",
        "get_switches": "/v1/experiments/e/switches",
        "get_audit": "/v1/experiments/e/audit",
        "get_whole_audit": "/v1/audit",
        "get_decision": f"/v1/decisions/{decision_id}",
        "list_keys": "/v1/keys",
        "healthz": "/healthz",
        "readyz": "/readyz",
    }
    answers = {"decide": one, "reward": told, **{name: asked.ask("GET", path) for name, path in paths.items()}}
    for name, said in answers.items():
        route = ROUTES_BY_NAME[name]
        assert said.status == route.status, name
        response = DOCUMENT["paths"][plain(route.path)][route.method.lower()]["responses"][str(route.status)]
        schema = response["content"]["application/json"]["schema"]
        assert valid(schema, said.json()), name
    problem = asked.ask("GET", "/v1/experiments/nobody").json()
    assert valid({"$ref": "#/components/schemas/ProblemBody"}, problem)
    assert not valid({"$ref": "#/components/schemas/ProblemBody"}, {"title": "x"})


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def operations() -> list[Any]:
    found: list[Any] = list(schemathesis.openapi.from_dict(DOCUMENT).get_all_operations())
    return [one.ok() for one in found]


OPERATIONS = operations()
MODES = {"as-described": GenerationMode.POSITIVE, "otherwise": GenerationMode.NEGATIVE}


@pytest.mark.parametrize("n_examples", [FEW, pytest.param(MORE, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=[one.label for one in OPERATIONS])
def test_no_request_breaks_it(asked: Direct, bearer: str, operation: Any, mode: str, n_examples: int) -> None:
    statuses: set[int] = set()

    @settings(max_examples=n_examples, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=MODES[mode]), known=st.booleans())
    def story(case: Any, known: bool) -> None:
        if known:
            case.path_parameters.update({name: KNOWN[name] for name in case.path_parameters if name in KNOWN})
        said = sent(asked, case, bearer)
        statuses.add(said.status)
        assert said.status < 500, said
        assert said.status not in (401, 403), said
        if said.status >= 400 and "openfeature" not in operation.tags:
            assert said.headers["content-type"] == "application/problem+json"

    try:
        story()
    except Unsatisfiable:
        assert mode == "otherwise" and not operation.definition.raw["parameters"]  # there is nothing to get wrong
    else:
        assert statuses


def sent(asked: Direct, case: Any, bearer: str) -> Said:
    """A made-up request, exactly as it would go over the wire."""
    made: Any = requests.Request(**case.as_transport_kwargs(base_url="http://localhost")).prepare()
    whole = urlsplit(made.url)
    target = whole.path + (f"?{whole.query}" if whole.query else "")
    body = made.body.encode() if isinstance(made.body, str) else made.body or b""
    headers = {name: _text(value) for name, value in made.headers.items() if name.lower() != "host"}
    return asked.ask(made.method, target, body, {**headers, "Authorization": bearer})


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value).encode("utf-8").decode("latin-1")


def test_after_all_that_it_still_decides(asked: Direct, bearer: str) -> None:
    assert asked.post("/v1/experiments", {"key": "last", "arms": ["a", "b"]}, authorization=bearer).status == 201
    assert asked.post("/v1/experiments/last/decisions", {}, authorization=bearer).status == 201
    assert asked.ask("GET", "/readyz").status == 200
