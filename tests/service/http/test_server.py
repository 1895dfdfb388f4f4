"""The service as a process: what it refuses to be, how it ends, what it writes down."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from tests.service.http.process import CODE, running
from tests.service.http.served import Served
from turncoat.errors import OptionError
from turncoat.service import api_keys
from turncoat.service.api_keys import SCOPES, NewKey, Scope
from turncoat.service.client import Client
from turncoat.service.engine import Engine
from turncoat.service.errors import Problem, Unauthorised, Unavailable
from turncoat.service.http import app, server
from turncoat.service.http.server import Settings
from turncoat.service.messages import NewExperiment
from turncoat.service.store import Session, open_store

T = TypeVar("T")


def with_key(path: Path, *scopes: Scope) -> str:
    """A key in a fresh store."""
    store = open_store(str(path))
    with store.transaction() as session:
        made = api_keys.issue(session, NewKey(name="first", scopes=list(scopes or SCOPES)), time.time())
    store.close()
    return made.key


def test_several_workers_need_postgresql() -> None:
    with pytest.raises(OptionError, match=r"workers is 2 .*SQLite.*accepted is workers=1, or a PostgreSQL address"):
        server.run(Settings(workers=2))


def test_a_port_that_cannot_be_had_is_refused_at_once(tmp_path: Path) -> None:
    # It used to be found after compiling, and said in a line of the log alone.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=f"port is {port}, where another program listens; accepted is a free one"):
            server.run(Settings(port=port, database=str(tmp_path / "never.db")))
    assert server.free_port("127.0.0.1", 0) > 0
    with pytest.raises(OptionError, match=r"host is '192.0.2.1': .*; accepted is an address of this machine"):
        server.free_port("192.0.2.1", 0)
    assert not (tmp_path / "never.db").exists()


def test_a_port_that_is_let_go_of_in_a_moment_is_waited_for() -> None:
    """Started again at once after a kill, it was refused where the last worker was not quite gone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        threading.Timer(0.2, taken.close).start()
        assert server.free_port("127.0.0.1", port) == port


def test_an_address_is_one_that_a_browser_takes() -> None:
    assert server.address(Settings(host="::1", port=80)) == "http://[::1]:80"
    assert server.address(Settings()) == "http://127.0.0.1:8000"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_nobody_else_may_connect_while_there_is_no_key(tmp_path: Path, host: str) -> None:
    settings = Settings(host=host, database=str(tmp_path / "turncoat.db"))
    with pytest.raises(OptionError, match=f"host is {host!r}, .* there is no key yet"):
        app.open_app(settings)
    with_key(tmp_path / "turncoat.db")  # the store was let go of
    store = open_store(settings.database)
    server.check_bind(settings, store)
    store.close()


def test_refused_from_the_shell_it_ends_at_once(tmp_path: Path) -> None:
    settings = Settings(host="0.0.0.0", database=str(tmp_path / "turncoat.db"))
    command = [sys.executable, "-c", CODE, msgspec.json.encode(settings).decode()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "there is no key yet" in done.stderr


def test_told_to_end_it_finishes_what_is_under_way(tmp_path: Path) -> None:
    """Eight callers decide and reward as fast as they can; what they were told is there afterwards, and applied."""
    made: list[str] = []
    told: list[str] = []
    odd: list[Problem] = []

    def call(url: str) -> None:
        with Client(url) as client:
            try:
                while True:
                    one = client.decide("e").decision_id
                    assert one is not None
                    made.append(one)
                    assert client.reward(one, 1.0).status == "accepted"
                    told.append(one)
            except Unavailable:
                return
            except Problem as problem:
                odd.append(problem)

    with running(tmp_path) as process:
        with Client(process.url) as client:
            client.create(NewExperiment(key="e", arms=["a", "b"]))
        callers = [threading.Thread(target=call, args=(process.url,)) for _ in range(8)]
        for caller in callers:
            caller.start()
        until = time.monotonic() + 60.0
        while len(told) < 100 and time.monotonic() < until:
            time.sleep(0.01)
        began = time.monotonic()
        process.end()
        assert time.monotonic() - began < 10.0
        for caller in callers:
            caller.join(30.0)
    assert not odd and len(told) >= 100
    store = open_store(str(tmp_path / "turncoat.db"))
    records = {line.decision_id: line for line in Engine(store).log("e")}
    with store.reading() as session:
        assert session.rows("SELECT COUNT(*) FROM inbox") == [(0,)]
    store.close()
    assert set(made) <= set(records)
    assert all(records[one].outcome == "rewarded" for one in told)


def test_what_it_writes_down_is_json_without_secrets(tmp_path: Path) -> None:
    key = with_key(tmp_path / "turncoat.db")
    secret = key.split("_", 2)[2]
    with running(tmp_path, access_log=True, log_level="debug") as process:
        with Client(process.url, key=key) as client:
            client.create(NewExperiment(key="e", arms=["a", "b"]))
            client.decide("e", unit_id="very private", context={"name": "very private"})
        with Client(process.url, key="tk_wrong_very-private") as client, pytest.raises(Unauthorised):
            client.decide("e")
        with process.connect() as connection:
            connection.sendall(b"GET /very-private?key=%b HTTP/1.1\r\nHost: x\r\n\r\n" % key.encode())
            connection.recv(4096)
            connection.sendall(b"very private nonsense\r\n\r\n")
            connection.recv(4096)
        process.end()
        text = process.log()
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"at", "level", "logger"} <= set(line) for line in lines)
    routes = [(line["route"], line["status"]) for line in lines if line["logger"] == "turncoat.access"]
    assert ("create_experiment", 201) in routes and ("decide", 201) in routes and ("decide", 401) in routes
    assert all(line["ms"] >= 0.0 for line in lines if line["logger"] == "turncoat.access")
    assert secret not in text and key not in text
    assert not re.search("very.private", text)


def test_by_default_requests_are_not_written_down(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        with Client(process.url) as client:
            client.experiments()
        process.end()
        assert "list_experiments" not in process.log()


def test_a_revoked_key_is_good_for_nothing_within_a_second(served: Served) -> None:
    """Made and revoked in the store, as by another worker: this one is not notified."""
    context = served.context

    def in_store(do: Callable[[Session], T]) -> T:
        def done() -> T:
            with context.store.transaction() as session:
                return do(session)

        return served.run(lambda: context.engine_thread.run(done))

    def seconds_until(wanted: int, key: str) -> float:
        began = time.monotonic()
        request = urllib.request.Request(f"{served.url}/v1/experiments", headers={"Authorization": f"Bearer {key}"})
        while time.monotonic() - began < 10.0:
            try:
                with urllib.request.urlopen(request) as answer:
                    status = answer.status
            except urllib.error.HTTPError as refused:
                status = refused.code
                refused.close()
            if status == wanted:
                break
        return time.monotonic() - began

    made = in_store(lambda session: api_keys.issue(session, NewKey(name="n", scopes=["read"]), time.time()))
    assert seconds_until(401, "tk_x_y") < 1.0  # now everyone needs one
    assert seconds_until(200, made.key) < 1.0
    in_store(lambda session: api_keys.revoke(session, made.id, time.time()))
    assert seconds_until(401, made.key) < 1.0


def test_the_file_belongs_to_one_service(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        elsewhere = msgspec.structs.replace(process.settings, port=0)
        command = [sys.executable, "-c", CODE, msgspec.json.encode(elsewhere).decode()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1 and "in use by another process" in done.stderr
        with Client(process.url) as client:
            assert client.experiments() == []
