"""What only the client does: tries again where it is safe, and says plainly what it got."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.service.http.served import Served
from turncoat.service import messages
from turncoat.service.client import Client
from turncoat.service.errors import Conflicting, NotFound, Problem, Unauthorised, Unavailable


@contextmanager
def relay(served: Served, spoil: Callable[[int, bytes], bytes | None]) -> Iterator[tuple[str, list[bytes]]]:
    """A way to the service on which answers get lost: `spoil` says what becomes of the n-th; None: it is cut off."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def run() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller:
                request = caller.recv(65536)
                if b"content-length" in request.lower() and request.endswith(b"\r\n\r\n"):
                    request += caller.recv(65536)
                if not request:
                    continue
                heard.append(request)
                with served.connect() as onward:
                    onward.sendall(request.replace(b"keep-alive", b"close"))
                    answer = b""
                    while part := onward.recv(65536):
                        answer += part
                passed = spoil(len(heard), answer)
                if passed is not None:
                    caller.sendall(passed)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10.0)


def lost(*numbers: int) -> Callable[[int, bytes], bytes | None]:
    return lambda number, answer: None if number in numbers else answer


@pytest.fixture
def opened(served: Served) -> Iterator[Client]:
    with Client(served.url) as client:
        client.create(messages.NewExperiment(key="e", arms=["a", "b"]))
        yield client


def test_a_decision_whose_answer_got_lost_is_asked_for_again_and_made_once(served: Served, opened: Client) -> None:
    with relay(served, lost(1, 2)) as (url, heard), Client(url) as client:
        made = client.decide("e")
        assert len(heard) == 3
    assert [line.decision_id for line in opened.log("e")] == [made.decision_id]


def test_rewards_and_reading_are_tried_again(served: Served, opened: Client) -> None:
    one = opened.decide("e").decision_id
    assert one is not None
    with relay(served, lost(1, 3, 5)) as (url, heard), Client(url) as client:
        assert client.reward(one, 1.0).status == "duplicate"  # the first time it was taken
        assert client.decision(one).refused[0].status == "duplicate"
        assert client.rewards([messages.RewardLine(decision_id=one, value=1.0)])[0].status == "duplicate"
        assert len(heard) == 6


def test_what_is_not_safe_is_not_tried_again(served: Served, opened: Client) -> None:
    with relay(served, lost(1)) as (url, heard), Client(url) as client:
        with pytest.raises(Unavailable):
            client.create(messages.NewExperiment(key="f", arms=["a"]))
        assert len(heard) == 1
        with pytest.raises(Conflicting):  # it had been made
            client.create(messages.NewExperiment(key="f", arms=["a"]))


def test_it_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("turncoat.service.client.time.sleep", slept.append)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(Unavailable) as refused:
            client.experiments()
        assert "cannot be reached" in refused.value.detail
        with pytest.raises(Unavailable):
            list(client.log("e"))
    assert slept == [0.05, 0.1, 0.2]


def test_a_busy_service_is_asked_again(served: Served, opened: Client) -> None:
    busy = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy"
    with relay(served, lambda number, answer: busy if number < 3 else answer) as (url, heard), Client(url) as client:
        assert client.experiment("e").key == "e"
        assert len(heard) == 3


def test_answers_that_are_not_ours_are_problems_too(served: Served) -> None:
    for status, kind in ((404, NotFound), (401, Unauthorised), (502, Problem)):
        answer = b"HTTP/1.1 %d X\r\ncontent-length: 5\r\nconnection: close\r\n\r\n<html" % status
        with relay(served, lambda number, real, answer=answer: answer) as (url, _), Client(url) as client:  # type: ignore[misc]
            with pytest.raises(kind) as refused:
                client.experiment("e")
            assert str(status) in refused.value.detail


def test_it_shows_its_key(served: Served, opened: Client) -> None:
    with relay(served, lost()) as (url, heard), Client(url, key="tk_x_y") as client:
        client.experiments()
        assert b"Authorization: Bearer tk_x_y\r\n" in heard[0]
    assert "tk_x_y" not in repr(client)
