"""Several workers on one PostgreSQL: every worker gives the same answer."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.service.conftest import new_database
from tests.service.http.process import Process, is_running, running
from tests.service.postgres_server import children
from turncoat.service.api_keys import SCOPES
from turncoat.service.client import Client
from turncoat.service.errors import Unauthorised
from turncoat.service.messages import NewExperiment

WORKERS = 2


@pytest.fixture(scope="module")
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("workers")
    with new_database(request) as url, running(folder, database=url, workers=WORKERS) as one:
        yield one
        one.end()
        assert "died" not in one.log()  # as uvicorn says of a worker that it replaces


def called(process: Process, path: str, body: bytes | None = None, key: str | None = None) -> tuple[int, bytes]:
    """On a connection of its own, so that any worker may get it."""
    headers = {"Content-Type": "application/json"} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    request = urllib.request.Request(process.url + path, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20.0) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


def test_all_workers_are_one_service(process: Process) -> None:
    with Client(process.url) as client:
        client.create(NewExperiment(key="e", arms=["a", "b"]))

    def story(number: int) -> str:
        made = called(process, "/v1/experiments/e/decisions", b'{"unit_id": "unit %d"}' % number)
        one: str = json.loads(made[1])["decision_id"]
        told = [json.loads(called(process, f"/v1/decisions/{one}/reward", b'{"value": 1}')[1]) for _ in range(2)]
        assert [receipt["status"] for receipt in told] == ["accepted", "duplicate"]
        return one

    with ThreadPoolExecutor(8) as callers:
        made = list(callers.map(story, range(80)))
    until = time.monotonic() + 20.0
    with Client(process.url) as client:
        while client.state("e").pending_rewards and time.monotonic() < until:
            time.sleep(0.05)
        log = list(client.log("e"))
        assert {line.decision_id for line in log} == set(made) and len(log) == 80
        assert {line.outcome for line in log} == {"rewarded"}
        assert client.state("e").explanation["rounds"] == 80
    for _ in range(6):  # whichever worker is asked, it tells of all
        status, text = called(process, "/metrics")
        found = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(text.decode())
            for sample in family.samples
        }
        assert status == 200
        assert found["turncoat_decisions_total", "learn", "split"] == 80
        assert found["turncoat_rewards_total", "accepted"] == found["turncoat_rewards_total", "duplicate"] == 80
        assert found["turncoat_applier_lag_rows",] == 0


def test_a_key_is_good_and_then_for_nothing_on_all_of_them_within_a_second(process: Process) -> None:
    """From here on everyone needs a key, so this comes last."""
    with Client(process.url) as client:
        client.create(NewExperiment(key="k", arms=["a", "b"]))
    made = called(
        process, "/v1/keys", b'{"name": "n", "scopes": ["%b"]}' % b'", "'.join(one.encode() for one in SCOPES)
    )
    assert made[0] == 201
    key = made[1].decode().split('"key":"')[1].split('"')[0]

    def all_say(status: int, shown: str | None) -> None:
        time.sleep(1.0)
        seen = {called(process, "/v1/experiments", key=shown)[0] for _ in range(12)}
        assert seen == {status}

    all_say(401, None)
    all_say(200, key)
    request = urllib.request.Request(
        f"{process.url}/v1/keys/{key.split('_')[1]}", method="DELETE", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=20.0) as answer:
        assert answer.status == 200
    all_say(401, key)
    with Client(process.url, key=key) as client, pytest.raises(Unauthorised):
        client.decide("k")


def test_workers_end_with_who_started_them(tmp_path: Path, postgres_url: str) -> None:
    """When only the parent was killed, its workers survived and kept the port in use."""
    with running(tmp_path, database=postgres_url, workers=WORKERS) as one:
        left = children(one.popen.pid)
        one.popen.kill()
        one.popen.wait(10.0)
        until = time.monotonic() + 10.0
        while any(is_running(pid) for pid in left) and time.monotonic() < until:
            time.sleep(0.02)
        assert len(left) >= WORKERS and not any(is_running(pid) for pid in left)
        with running(tmp_path, database=postgres_url, workers=WORKERS, port=one.settings.port) as other:
            assert called(other, "/readyz")[0] == 200
            other.end()
