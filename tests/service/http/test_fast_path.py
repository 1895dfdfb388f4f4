"""The fast path says what ASGI says: a body of a stated length takes it, one in chunks does not."""

from __future__ import annotations

import re
import socket
import time

import pytest

from tests.service.http.served import Served
from turncoat.service.http import limits
from turncoat.service.http.fast_path import FastExchange
from turncoat.service.messages import NewExperiment

JSON = "Content-Type: application/json"
UNLIKE = re.compile(rb"^(date|content-length): .*?\r\n", re.M | re.I)
DECISIONS = "/v1/experiments/e/decisions"


@pytest.fixture(autouse=True)
def experiment(served: Served) -> None:
    engine = served.context.engine
    served.run(lambda: served.context.engine_thread.run(lambda: engine.create(NewExperiment(key="e", arms=["a"]))))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The routes of the requests that took the fast path."""
    routes: list[str] = []
    complete = FastExchange.complete

    def counted(self: FastExchange) -> None:
        routes.append(self._route.endpoint.route.name)
        complete(self)

    monkeypatch.setattr(FastExchange, "complete", counted)
    return routes


def request(target: str, body: bytes, *headers: str, chunked: bool = False, version: str = "1.1") -> bytes:
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    head = "\r\n".join([f"POST {target} HTTP/{version}", "Host: localhost", length, *headers]).encode()
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked and body else b"0\r\n\r\n" if chunked else body
    return head + b"\r\n\r\n" + sent


def answers(connection: socket.socket, n: int) -> list[bytes]:
    """The next n answers, whole."""
    got = b""
    found: list[bytes] = []
    while len(found) < n:
        head, ends, rest = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.I)
        if ends and length and len(rest) >= int(length[1]):
            found.append(head + ends + rest[: int(length[1])])
            got = rest[int(length[1]) :]
            continue
        part = connection.recv(65536)
        assert part, f"closed after {got!r}"
        got += part
    return found


def answer(served: Served, sent: bytes) -> bytes:
    with served.connect() as connection:
        connection.sendall(sent)
        return answers(connection, 1)[0]


@pytest.mark.parametrize(
    "target, body, headers",
    [
        (DECISIONS, b"{}", [JSON]),
        (DECISIONS, b'{"unit_id": "u", "sticky": true, "context": {"x": [1]}}', [JSON]),
        (DECISIONS, b'{"allowed_arms": ["a"]}', [JSON]),
        (DECISIONS, b'{"allowed_arms": ["z"]}', [JSON]),
        (DECISIONS, b'{"unit_id": 7}', [JSON]),
        (DECISIONS, b"{", [JSON]),
        (DECISIONS, b"", [JSON]),
        (DECISIONS, b"[" * 100 + b"]" * 100, [JSON]),
        (DECISIONS, b'{"unit_id": "u", "unit_id": "v"}', [JSON]),
        (DECISIONS, b"{}", [JSON, JSON]),
        (DECISIONS, b"{}", [JSON, "Host: elsewhere"]),
        (DECISIONS, b"{}", [JSON, "X: 1", "X: 2"]),
        (DECISIONS, b"{}", ["Content-Type: text/plain"]),
        (DECISIONS, b"{}", []),
        (DECISIONS, b"{}", [JSON, "Origin: http://evil.example"]),
        (DECISIONS, b"{}", [JSON, "X-Forwarded-For: 1.2.3.4"]),
        (DECISIONS, b"{}", [JSON, "Idempotency-Key: \x01"]),
        (DECISIONS, b"{}", [JSON, "Idempotency-Key: " + 300 * "k"]),
        ("/v1/experiments/missing/decisions", b"{}", [JSON]),
        ("/v1/experiments//decisions", b"{}", [JSON]),
        ("/v1/experiments/%65/decisions", b"{}", [JSON]),
        (DECISIONS + "?x=1", b"{}", [JSON]),
        (DECISIONS, b"{}", [JSON, "Connection: close"]),
        ("/v1/decisions/01920000-0000-7000-8000-000000000000/reward", b'{"value": 1}', [JSON]),
        ("/v1/decisions/01920000-0000-7000-8000-000000000000/reward", b'{"value": "x"}', [JSON]),
        ("/v1/decisions/not-an-id/reward", b'{"value": 1}', [JSON]),
        ("/v1/decisions/" + 500 * "x" + "/reward", b'{"value": 1}', [JSON]),
    ],
)
def test_both_ways_say_the_same(served: Served, target: str, body: bytes, headers: list[str]) -> None:
    """The same head, and the same complaint."""
    fast = answer(served, request(target, body, "X-Request-ID: r", *headers))
    plain = answer(served, request(target, body, "X-Request-ID: r", *headers, chunked=True))
    heads, bodies = zip(*(one.split(b"\r\n\r\n") for one in (fast, plain)), strict=True)
    assert len({tuple(sorted(UNLIKE.sub(b"", head + b"\r\n").splitlines())) for head in heads}) == 1
    assert int(fast[9:12]) < 400 or bodies[0] == bodies[1]


def test_a_round_takes_it(served: Served, taken: list[str]) -> None:
    made = answer(served, request(DECISIONS, b"{}", JSON))
    found = re.search(rb'"decision_id":"([^"]*)"', made)
    assert found is not None
    told = answer(served, request(f"/v1/decisions/{found[1].decode()}/reward", b'{"value": 1}', JSON))
    assert made.startswith(b"HTTP/1.1 201 Created\r\n") and told.startswith(b"HTTP/1.1 202 Accepted\r\n")
    assert taken == ["decide", "reward"]


def test_what_it_cannot_bound_goes_the_other_way(served: Served, taken: list[str]) -> None:
    others = [
        request(DECISIONS, b"{}", JSON, chunked=True),
        request(DECISIONS, b"{}", JSON, version="1.0"),
        request(DECISIONS + "?x=1", b"{}", JSON),
        request(DECISIONS, b" " * (limits.BODY + 1), JSON),
    ]
    assert [int(answer(served, one)[9:12]) for one in others] == [201, 201, 201, 413]
    assert taken == []


def test_a_request_may_come_byte_by_byte(served: Served, taken: list[str]) -> None:
    with served.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(DECISIONS, b'{"unit_id": "u"}', JSON):
            connection.sendall(bytes([byte]))
        assert answers(connection, 1)[0].startswith(b"HTTP/1.1 201")
    assert taken == ["decide"]


def test_requests_sent_at_once_are_answered_in_order(served: Served, taken: list[str]) -> None:
    sent = [request(DECISIONS, b"{}", JSON), request(DECISIONS, b"{", JSON), request(DECISIONS, b"{}", JSON)]
    with served.connect() as connection:
        connection.sendall(b"".join(sent))
        assert [int(one[9:12]) for one in answers(connection, 3)] == [201, 400, 201]
        connection.sendall(request(DECISIONS, b"{}", JSON))  # and the connection goes on
        assert answers(connection, 1)[0].startswith(b"HTTP/1.1 201")


def test_a_body_that_does_not_come_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with served.connect() as connection:
        connection.sendall(request(DECISIONS, b"{}", JSON)[:-1])
        said = answers(connection, 1)[0]
        assert said.startswith(b"HTTP/1.1 408") and b"connection: close" in said
        assert connection.recv(1) == b""


def test_a_caller_that_has_gone_harms_no_other(served: Served) -> None:
    for _ in range(20):
        with served.connect() as connection:
            connection.sendall(request(DECISIONS, b"{}", JSON))
    time.sleep(0.1)
    assert answer(served, request(DECISIONS, b"{}", JSON)).startswith(b"HTTP/1.1 201")


def test_a_mistake_is_one_answer(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.context.engine, "serve", lambda commands: 1 / 0)
    with served.connect() as connection:
        for _ in range(2):
            connection.sendall(request(DECISIONS, b"{}", JSON))
            assert answers(connection, 1)[0].startswith(b"HTTP/1.1 500")
