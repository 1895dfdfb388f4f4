"""Request ids and trace context: in answers, in problem bodies and in the log, and never a way to forge a line."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.http.direct import Direct, direct
from tests.service.http.process import running
from tests.service.http.served import make_context
from turncoat.service.client import Client
from turncoat.service.http.app import make_app
from turncoat.service.http.login import dashboard_routes
from turncoat.service.http.logs import JsonLines
from turncoat.service.http.request_ids import parse_traceparent
from turncoat.service.http.server import Settings
from turncoat.service.messages import NewExperiment

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Direct]:
    """With the dashboard and an access log."""
    context = make_context(tmp_path, Settings(access_log=True))
    with direct(context) as one:
        one._app = make_app(context, dashboard_routes(context))
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


EVERY = [
    ("POST", "/v1/experiments/e/decisions", b"{}"),
    ("POST", "/v1/experiments/e/decisions", b"nonsense"),
    ("POST", "/v1/decisions/x/reward", b'{"value": 1}'),
    ("GET", "/v1/experiments", b""),
    ("GET", "/v1/experiments/e/log.ndjson", b""),
    ("GET", "/nothing", b""),
    ("PUT", "/v1/experiments", b""),
    ("POST", "/ofrep/v1/evaluate/flags/nothing", b"{}"),
    ("GET", "/healthz", b""),
    ("GET", "/", b""),
    ("GET", "/login", b""),
    ("GET", "/static/style.css", b""),
]


@pytest.mark.parametrize("method, path, body", EVERY, ids=[f"{one[0]} {one[1]}" for one in EVERY])
def test_every_answer_has_one(site: Direct, method: str, path: str, body: bytes) -> None:
    json_body = {"content-type": "application/json"}
    given = site.ask(method, path, body, {**json_body, "x-request-id": "from-the-caller/1"})
    assert given.headers["x-request-id"] == "from-the-caller/1"
    made = [site.ask(method, path, body, json_body).headers["x-request-id"] for _ in range(3)]
    assert len(set(made)) == 3 and all(re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]+", one) for one in made)
    if given.headers["content-type"] == "application/problem+json":
        assert given.json()["request_id"] == "from-the-caller/1"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, 'a"b', "ü", "a\tb", "<script>", "{}", "a;b", "\\", "%0a"])
def test_a_strange_one_is_replaced(site: Direct, given: str) -> None:
    said = site.ask("GET", "/healthz", headers={"x-request-id": given})
    assert re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]+", said.headers["x-request-id"])


def test_it_is_in_the_log_with_the_trace(site: Direct, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonLines().format(record))

    log, keep = logging.getLogger("turncoat.access"), Keep()
    log.addHandler(keep)
    log.setLevel(logging.INFO)
    try:
        site.ask("GET", "/healthz", headers={"x-request-id": "r1", "traceparent": f"00-{TRACE}-{SPAN}-01"})
        site.ask("GET", "/healthz", headers={"x-request-id": "r2", "traceparent": f"00-{TRACE}-{SPAN}"})
        said = site.ask("POST", "/v1/experiments/e/decisions", b"{}", {"content-type": "application/json"})
    finally:
        log.removeHandler(keep)
    first, second, third = map(json.loads, lines)
    assert (first["request_id"], first["trace_id"], first["span_id"]) == ("r1", TRACE, SPAN)
    assert second["request_id"] == "r2" and not {"trace_id", "span_id"} & set(second)
    assert third["request_id"] == said.headers["x-request-id"] and third["route"] == "decide"


def test_a_mistake_of_ours_can_be_found_in_the_log(site: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(site.context, "query_list", failing)
    said = site.ask("GET", "/v1/experiments", headers={"x-request-id": "r3"})
    assert said.status == 500 and said.json()["request_id"] == "r3"


def test_requests_at_once_keep_their_own(tmp_path: Path) -> None:
    """On the fast path too, and where requests are pipelined."""
    ways = {
        "healthz": b"GET /healthz",
        "decide": b"POST /v1/experiments/e/decisions",
        "reward": b"POST /v1/decisions/x/reward",
    }
    trace = b"traceparent: 00-%b-%b-01" % (TRACE.encode(), SPAN.encode())
    expected: list[tuple[str, str, int]] = []
    with running(tmp_path, access_log=True) as process:
        with Client(process.url) as client:
            client.create(NewExperiment(key="e", arms=["a", "b"]))
        for route, start in ways.items():
            for n, together in ((1, True), (3, True), (3, False)):
                ids = [f"{route}-{n}-{together}-{number}" for number in range(n)]
                rest = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n" + trace
                head = b"%b HTTP/1.1\r\nX-Request-ID: %b\r\n%b\r\n\r\n{}"
                sent = [head % (start, one.encode(), rest) for one in ids]
                with process.connect() as connection:
                    answers = b""
                    for number, one in enumerate([b"".join(sent)] if together else sent, 1):
                        connection.sendall(one)
                        while len(re.findall(rb"HTTP/1.1 \d+", answers)) < (n if together else number):
                            answers += connection.recv(65536)
                status = {"healthz": 200, "decide": 201, "reward": 400}[route]
                said = re.findall(rb"x-request-id: (\S+)", answers)
                assert said == [one.encode() for one in ids]
                assert re.findall(rb'"request_id":"([^"]+)"', answers) == (said if status == 400 else [])
                expected += [(one, route, status) for one in ids]
        process.end()
        lines = [json.loads(line) for line in process.log().splitlines()]
    logged = [(one["request_id"], one["route"], one["status"]) for one in lines if one.get("trace_id") == TRACE]
    assert logged == expected
    assert {one["span_id"] for one in lines if "trace_id" in one} == {SPAN}


@pytest.mark.parametrize(
    "said, is_good",
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", True),
        (f"00-{TRACE}-{SPAN}-ff", True),
        (f"01-{TRACE}-{SPAN}-01", True),  # later versions may add to it
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", True),
        (f"cc-{TRACE}-{SPAN}-01.what", False),
        (f"00-{TRACE}-{SPAN}-01-more", False),
        (f"00-{TRACE}-{SPAN}-01-", False),
        (f"ff-{TRACE}-{SPAN}-01", False),
        (f"00-{'0' * 32}-{SPAN}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE.upper()}-{SPAN}-01", False),
        (f"00-{TRACE[:-1]}-{SPAN}-01", False),
        (f"00-{TRACE}0-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}-1", False),
        (f"00-{TRACE}-{SPAN}-0g", False),
        (f"0-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}", False),
        (f" 00-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}-01\n", False),
        (f"00_{TRACE}_{SPAN}_01", False),
        ("", False),
    ],
)
def test_trace_context_is_parsed_strictly(said: str, is_good: bool) -> None:
    assert parse_traceparent(said.encode()) == ((TRACE, SPAN) if is_good else None)
