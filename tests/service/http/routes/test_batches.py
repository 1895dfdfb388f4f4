"""Lines of JSON: many rewards in, the whole log out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.service.http.direct import Direct
from tests.service.http.served import Served
from turncoat.service import messages
from turncoat.service.http import limits

A_LINE = {
    "decision_id": "x",
    "experiment": "e",
    "decided_at": "2026-01-01T00:00:00Z",
    "arm": "a",
    "propensity": 1.0,
    "probabilities": {"a": 1.0},
    "state_version": 1,
    "m": 1,
    "stream": "learn",
    "reason": "split",
    "unit": None,
    "context": None,
    "outcome": "open",
    "reward": None,
    "rewarded_at": None,
    "applied_version": None,
    "applied_position": None,
}
LINES = {"content-type": "application/x-ndjson"}


def decisions(asked: Direct, n: int) -> list[str]:
    return [asked.post("/v1/experiments/e/decisions", {}).json()["decision_id"] for _ in range(n)]


def told(asked: Direct, body: bytes) -> list[dict[str, Any]]:
    said = asked.ask("POST", "/v1/rewards", body, LINES)
    assert said.status == 200 and said.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in said.body.splitlines()]


def test_each_line_has_its_own_answer(asked: Direct) -> None:
    one, two = decisions(asked, 2)
    body = "\n".join(
        [
            json.dumps({"decision_id": one, "value": 1.0}),
            "",
            "not JSON",
            json.dumps({"decision_id": "nonsense", "value": 1.0}),
            json.dumps({"decision_id": two, "value": "1.0"}),
            json.dumps({"decision_id": two, "value": 9}),
            f'{{"decision_id": "{two}", "value": NaN}}',
            "[" * 100_000,
            f'{{"decision_id": "{two}", "value": 1, "reward_id": "\\ud800"}}',
            "x" * (limits.BODY + 1),
            "\r",
            json.dumps({"decision_id": two, "value": 0.5}) + "\r",
        ]
    )
    lines = told(asked, body.encode() + b"\n\xff\xfe\n")
    assert [(line["line"], line["status"]) for line in lines] == [
        (1, "accepted"),
        (3, "refused"),
        (4, "refused"),
        (5, "refused"),
        (6, "refused"),
        (7, "refused"),
        (8, "refused"),
        (9, "refused"),
        (10, "refused"),
        (12, "accepted"),
        (13, "refused"),
    ]
    assert all(line["detail"] for line in lines if line["status"] == "refused")
    asked.work()
    assert asked.ask("GET", f"/v1/decisions/{two}").json()["reward"] == 0.5


def test_a_batch_has_a_limit_of_lines_and_bytes(asked: Direct) -> None:
    assert told(asked, b"\n" * limits.BATCH_LINES) == []
    assert asked.ask("POST", "/v1/rewards", b"\n" * (limits.BATCH_LINES + 1), LINES).status == 413
    assert asked.ask("POST", "/v1/rewards", b" " * (limits.BATCH_BODY + 1), LINES).status == 413
    assert asked.ask("POST", "/v1/rewards", b"{}", {"content-type": "application/json"}).status == 415


def test_many_lines_are_all_taken_once(asked: Direct) -> None:
    ids = decisions(asked, 600)
    body = b"".join(b'{"decision_id":"%s","value":1}\n' % one.encode() for one in ids * 2)
    lines = told(asked, body)
    assert [line["line"] for line in lines] == list(range(1, 1201))
    assert [line["status"] for line in lines] == ["accepted"] * 600 + ["duplicate"] * 600
    asked.work()
    log = [
        msgspec.json.decode(line, type=messages.LogLine)
        for line in asked.ask("GET", "/v1/experiments/e/log.ndjson").body.splitlines()
    ]
    assert len(log) == 600 and {line.outcome for line in log} == {"rewarded"}
    assert sorted(line.decision_id for line in log) == sorted(ids)


def test_the_log_of_nothing_is_empty(asked: Direct) -> None:
    said = asked.ask("GET", "/v1/experiments/e/log.ndjson")
    assert (said.status, said.body) == (200, b"")


def test_the_log_is_read_only_as_fast_as_it_is_taken(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far more lines than fit into the buffers between here and there: who does not read holds up the reader."""
    line = msgspec.convert({**A_LINE, "context": "y" * 1000}, messages.LogLine)
    taken = 0

    def endless(key: str) -> Iterator[messages.LogLine]:
        nonlocal taken
        while True:
            taken += 1
            yield line

    monkeypatch.setattr(served.context.engine, "log", endless)
    monkeypatch.setattr(served.context.engine, "experiment", lambda key: None)  # there is one
    with served.connect() as connection:
        connection.sendall(b"GET /v1/experiments/e/log.ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        counts = []
        for _ in range(6):
            served.run(lambda: asyncio.sleep(0.1))
            counts.append(taken)
        assert counts[-1] == counts[-2] == counts[-3], "it went on although the client had stopped reading"
        assert counts[-1] * 1000 < 64 * 1024 * 1024
        assert served.context.exports._value == limits.EXPORTS - 1
    for _ in range(100):
        if served.context.exports._value == limits.EXPORTS:
            break
        served.run(lambda: asyncio.sleep(0.02))
    assert served.context.exports._value == limits.EXPORTS, "the end of the connection did not end the reading"


def test_only_so_many_logs_at_the_same_time(asked: Direct) -> None:
    async def all_busy() -> Any:
        for _ in range(limits.EXPORTS):
            await asked.context.exports.acquire()
        said = await asked.asked("GET", "/v1/experiments/e/log.ndjson")
        for _ in range(limits.EXPORTS):
            asked.context.exports.release()
        return said

    assert asked.run(all_busy()).status == 503
    assert asked.ask("GET", "/v1/experiments/e/log.ndjson").status == 200
