"""Where the store is: in the log and on the command line, never in an answer."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from tests.cli.typed import refusal
from tests.service.http.direct import JSON, Direct, direct
from tests.service.postgres_server import PrivateServer
from turncoat.service.engine import Engine
from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.http.login import dashboard_routes
from turncoat.service.http.server import Settings
from turncoat.service.store import open_store

ASKED = [
    ("GET", "/readyz", b""),
    ("POST", "/v1/experiments/e/decisions", b"{}"),
    ("POST", "/v1/experiments/e/decisions", b'{"allowed_arms": ["a"]}'),
    ("POST", "/v1/decisions/00000000-0000-7000-8000-000000000000/reward", b'{"value": 1}'),
    ("POST", "/v1/experiments", b'{"key": "f", "arms": ["a"]}'),
    ("GET", "/v1/experiments", b""),
    ("GET", "/v1/keys", b""),
    ("POST", "/ofrep/v1/evaluate/flags/e", b"{}"),
    ("GET", "/metrics", b""),
    ("GET", "/", b""),
    ("GET", "/decisions?id=x", b""),
]


def answers(asked: Direct) -> list[bytes]:
    """What is said while the store is down: at first, and when that is known."""
    asked._app = make_app(asked.context, dashboard_routes(asked.context))
    said: list[bytes] = []
    for _ in range(2):
        for method, path, body in ASKED:
            answer = asked.ask(method, path, body, JSON)
            assert answer.status == 503, (path, answer)
            said.append(answer.body + repr(answer.headers).encode())
        time.sleep(0.3)
    return said


def test_host_and_port_of_postgresql_are_in_no_answer(
    private_server: PrivateServer, caplog: pytest.LogCaptureFixture
) -> None:
    """/readyz, which is open, told everyone: connection to server at "127.0.0.1", port 5432 failed."""
    url = private_server.create_database()
    store = open_store(url)
    port, database = url.rpartition(":")[2].split("/")
    with direct(AppContext(Engine(store), store, Settings())) as asked:
        assert asked.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        private_server.stop()
        with caplog.at_level(logging.WARNING):
            for said in answers(asked):
                assert not any(place.encode() in said for place in ("127.0.0.1", port, database, "postgres@")), said
        assert port in caplog.text
        assert port in refusal("key", "add", "x", "--database", url)
        private_server.start()


def test_the_path_of_a_file_is_in_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "turncoat.db"
    store = open_store(str(file))
    with direct(AppContext(Engine(store), store, Settings())) as asked:
        assert asked.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        file.rename(tmp_path / "gone")
        with caplog.at_level(logging.WARNING):
            assert not any(str(tmp_path).encode() in said for said in answers(asked))
        assert str(file) in caplog.text
        (tmp_path / "gone").rename(file)
