"""On the wire: what no client would send. Sizes, times, and two requests that pretend to be one."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.service.http.process import Process, running
from tests.service.http.served import Served
from turncoat.service.client import Client
from turncoat.service.http import limits
from turncoat.service.messages import NewExperiment

DECIDE = b"POST /v1/experiments/e/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HUGE = 200 * 1024 * 1024
PIECE = b"x" * (256 * 1024)
MEGABYTE = 1024 * 1024


def said(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    got = b""
    try:
        while part := connection.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got


def status(answer: bytes) -> int:
    return int(answer[9:12] or 0)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("wire")) as one:
        with Client(one.url) as client:
            client.create(NewExperiment(key="e", arms=["a", "b"]))
            for _ in range(50):
                client.decide("e")
        yield one
        assert one.end() == -15  # told to by a signal, and orderly: see test_server


def pour(connection: socket.socket, *, chunked: bool) -> int:
    """Send 200 MB, or as much as is taken; how much that was."""
    poured = 0
    try:
        while poured < HUGE:
            connection.sendall(b"%x\r\n%b\r\n" % (len(PIECE), PIECE) if chunked else PIECE)
            poured += len(PIECE)
    except OSError:
        pass
    return poured


@pytest.mark.parametrize("path", [b"/v1/experiments/e/decisions", b"/v1/rewards", b"/v1/experiments"])
@pytest.mark.parametrize("chunked", [False, True], ids=["by its length", "in chunks"])
def test_a_huge_body_is_refused_early_and_kept_nowhere(process: Process, path: bytes, chunked: bool) -> None:
    process.forget_peak()
    before = process.memory("VmRSS")
    kind = b"application/x-ndjson" if path.endswith(b"rewards") else b"application/json"
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % HUGE
    with process.connect() as connection:
        connection.sendall(
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\n%b\r\n\r\n" % (path, kind, length)
        )
        began = time.monotonic()
        if not chunked:  # it need not see any of it
            assert connection.recv(65536).startswith(b"HTTP/1.1 413")
            assert time.monotonic() - began < 1.0
        poured = pour(connection, chunked=chunked)
        answer = said(connection)
    assert not chunked or status(answer) == 413
    limit = limits.BATCH_BODY if path.endswith(b"rewards") else limits.BODY
    assert poured < limit + limits.LINGER + 24 * MEGABYTE, "it went on reading"
    room = 5 * MEGABYTE + (2 * limits.BATCH_BODY if chunked and path.endswith(b"rewards") else 0)
    assert process.memory("VmHWM") - before < room
    assert process.memory("VmRSS") - before < 5 * MEGABYTE + (limits.BATCH_BODY if path.endswith(b"rewards") else 0)


@pytest.mark.parametrize("path", [b"/nothing", b"/v1/experiments/e/arms/x/y/z"])
def test_a_huge_body_that_nobody_reads_is_kept_nowhere_either(process: Process, path: bytes) -> None:
    process.forget_peak()
    before = process.memory("VmRSS")
    with process.connect() as connection:
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, HUGE)
        connection.sendall(head)
        pour(connection, chunked=False)
    assert process.memory("VmHWM") - before < 5 * MEGABYTE


def test_headers_have_a_limit(process: Process) -> None:
    process.forget_peak()
    before = process.memory("VmRSS")
    for filler in (b"X: " + PIECE, b"".join(b"X-%d: y\r\n" % number for number in range(20_000))):
        with process.connect() as connection:
            connection.sendall(DECIDE)
            try:
                for _ in range(40):
                    connection.sendall(filler)
            except OSError:
                pass
            assert status(said(connection)) == 431
    with process.connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /" + b"x" * (4 * limits.HEAD))
        assert status(said(connection)) == 431
    assert process.memory("VmHWM") - before < 5 * MEGABYTE
    with process.connect() as connection:
        fits = b"X: " + b"y" * (limits.HEAD - 1000) + b"\r\n"
        connection.sendall(DECIDE + fits + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert status(said(connection)) == 201


@pytest.mark.parametrize(
    "filler", [b"X: y\r\n" * 6000, b"".join(b"X-%d: y\r\n" % n for n in range(4000))], ids=["X", "many"]
)
def test_too_many_headers_in_one_piece_are_refused(process: Process, filler: bytes) -> None:
    """Only headers that came in several pieces were counted."""
    with process.connect() as connection:
        connection.sendall(DECIDE + filler + b"Content-Length: 2\r\n\r\n{}")
        assert status(said(connection)) == 431


@pytest.mark.parametrize("megabytes", [9, 20, 50])
def test_a_batch_that_is_too_large_gets_its_answer(process: Process, megabytes: int) -> None:
    """The connection was reset while the caller was still sending."""
    length = megabytes * MEGABYTE
    head = b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    with process.connect() as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % length)
        connection.sendall(b"x" * length)  # all of it, as most clients do, before reading a byte
        answer = connection.recv(65536)
        assert status(answer) == 413 and b"connection: close" in answer
        assert said(connection) == b""  # an orderly end


SMUGGLED = {
    "a length and chunks": DECIDE + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": DECIDE + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "two lengths": DECIDE + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a length that is none": DECIDE + b"Content-Length: 2x\r\n\r\n{}",
    "a negative length": DECIDE + b"Content-Length: -2\r\n\r\n{}",
    "a length with a sign": DECIDE + b"Content-Length: +2\r\n\r\n{}",
    "chunks of another kind": DECIDE + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks, then something": DECIDE + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a folded header": DECIDE + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "a space before the colon": DECIDE + b"Content-Length : 2\r\n\r\n{}",
    "lines without return": DECIDE.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}",
    "a chunk of a size that is none": DECIDE + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a path that is not ASCII": b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a header with NUL": DECIDE + b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_two_requests_that_pretend_to_be_one_are_none(process: Process, case: str) -> None:
    before = decisions(process)
    with process.connect() as connection:
        connection.sendall(SMUGGLED[case])
        connection.shutdown(socket.SHUT_WR)
        answer = said(connection)
    assert status(answer) == 400, answer[:300]
    assert decisions(process) == before


def decisions(process: Process) -> int:
    with Client(process.url) as client:
        return sum(1 for _ in client.log("e"))


def test_requests_in_a_row_are_answered_in_order(process: Process) -> None:
    def reward(value: str) -> bytes:
        body = b'{"value": %b}' % value.encode()
        head = b"POST /v1/decisions/0/reward HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body

    with process.connect() as connection:
        good = DECIDE + b"Content-Length: 2\r\n\r\n{}"
        last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(good + reward("1") + good + reward('"x"') + last)
        answer = said(connection)
    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [201, 422, 201, 400, 200]


def test_it_still_decides_after_all_that(process: Process) -> None:
    with Client(process.url) as client:
        assert client.decide("e").arm in ("a", "b")
    for line in process.log().splitlines():
        assert json.loads(line)["level"] in ("info", "warning"), line


def test_headers_have_a_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.3)
    for sent, expected in ((b"", 0), (DECIDE, 408), (DECIDE[:20], 408)):
        with served.connect() as connection:
            connection.sendall(sent)
            began = time.monotonic()
            assert status(said(connection)) == expected
            assert 0.2 < time.monotonic() - began < 3.0
    with served.connect() as connection:  # a second request on a connection has its own time
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = connection.recv(65536)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        began = time.monotonic()
        answer += said(connection)
        assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 408]
        assert 0.2 < time.monotonic() - began < 3.0


def test_bodies_have_a_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.3)
    with served.connect() as connection:
        connection.sendall(DECIDE + b"Content-Length: 20\r\n\r\n{")
        assert status(said(connection)) == 408


def test_someone_who_leaves_in_the_middle_leaves_nothing(served: Served) -> None:
    with Client(served.url) as client:
        client.create(NewExperiment(key="e", arms=["a", "b"]))
        for _ in range(20):
            with served.connect() as connection:
                connection.sendall(DECIDE + b"Content-Length: 20\r\n\r\n{")
        assert client.decide("e").arm
        assert len(list(client.log("e"))) == 1
