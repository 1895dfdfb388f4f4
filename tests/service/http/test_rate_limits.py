"""Rates of keys: what is over them gets 429 and the time to wait; other keys are not touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.contract.conftest import HandClock
from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from turncoat.service import api_keys
from turncoat.service.api_keys import NewKey
from turncoat.service.rate_limits import TokenBucket


def bearer(asked: Direct, rate: float | None, burst: int | None = None) -> dict[str, str]:
    new = NewKey(name="n", scopes=["read"], rate=rate, burst=burst)
    made = asked.write(lambda session: api_keys.issue(session, new, asked.context.clock.now()))
    return {"authorization": f"Bearer {made.key}"}


def test_a_key_is_slowed_down_and_others_are_not(tmp_path: Path) -> None:
    clock = HandClock()
    with direct(make_context(tmp_path, clock=clock)) as asked:
        slow, free = bearer(asked, 0.5, 3), bearer(asked, None)

        def statuses(headers: dict[str, str], n: int) -> list[int]:
            return [asked.ask("GET", "/v1/experiments", headers=headers).status for _ in range(n)]

        assert statuses(slow, 5) == [200, 200, 200, 429, 429]
        assert statuses(free, 50) == [200] * 50
        said = asked.ask("GET", "/v1/experiments", headers=slow)
        assert said.headers["retry-after"] == "2" and said.headers["content-type"] == "application/problem+json"
        assert said.json()["accepted"] == "0.5 requests per second, 3 at once"
        asked.context.ring.refresh()  # what was used stays used
        assert statuses(slow, 1) == [429]
        clock.time += 2.0
        assert statuses(slow, 2) == [200, 429]
        assert asked.ask("GET", "/nothing", headers=slow).status == 429
        clock.time -= 3600.0  # a clock set back: a token as late as ever, not an hour later
        assert statuses(slow, 1) == [429]
        clock.time += 2.0
        assert statuses(slow, 2) == [200, 429]
        metrics = asked.ask("GET", "/metrics", headers=free).body.decode()
        number = slow["authorization"].split("_")[1]
        assert f'turncoat_rate_limited_total{{key="{number}"}} 8.0' in metrics
        assert 'turncoat_requests_total{route="list_experiments",status="429"} 7.0' in metrics


def test_a_rate_is_an_option_of_a_key(asked: Direct) -> None:
    made = asked.post("/v1/keys", {"name": "n", "scopes": ["read", "admin"], "rate": 2.5}).json()
    assert (made["rate"], made["burst"]) == (2.5, 3)
    headers = {"authorization": f"Bearer {made['key']}"}
    for wrong in ({"rate": 0}, {"rate": -1}, {"rate": 1, "burst": 0}, {"burst": 5}, {"rate": "fast"}):
        asked.context.ring._kept[made["id"].encode()].bucket.__init__(1e6, 10**6)  # type: ignore[misc]
        said = asked.post("/v1/keys", {"name": "n", "scopes": ["read"], **wrong}, **headers)
        assert said.status in (400, 422) and said.json()["field"] in ("rate", "burst"), wrong
    for literal in (b"NaN", b"Infinity", b"1e400", b'"0.5"', b"true", b"[1]"):
        body = b'{"name": "n", "scopes": ["read"], "rate": %b}' % literal
        assert asked.ask("POST", "/v1/keys", body, {**JSON, **headers}).status in (400, 422), literal


@pytest.mark.parametrize("rate, burst", [(1.0, 1), (50.0, 10), (0.01, 2), (1e4, 50)])
def test_over_a_long_time_the_rate_is_kept(rate: float, burst: int) -> None:
    bucket, now, taken, asks = TokenBucket(rate, burst), 1.8e9, 0, 5000
    for _ in range(asks):
        wait = bucket.take(now)
        assert 0.0 <= wait <= 1.0 / rate
        taken += not wait
        now += 0.3 / rate
    assert taken <= burst + 0.3 * asks + 1.0
    assert taken >= 0.3 * asks - 1.0 or burst == 1  # which cannot save a part of a token
    while (wait := bucket.take(now)) == 0.0:
        pass
    assert bucket.take(now + wait) <= 1e-6  # after the wait that was said, up to the clock's own rounding
