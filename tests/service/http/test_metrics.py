"""What Prometheus is told is what happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from turncoat.service.http.metrics import Recent
from turncoat.service.http.server import Settings


def figures(asked: Direct) -> dict[tuple[str, ...], float]:
    """All figures, by name and the values of their labels."""
    said = asked.ask("GET", "/metrics")
    assert said.status == 200 and said.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(said.body.decode())
        for sample in family.samples
    }


def test_counts_are_those_of_the_log(asked: Direct) -> None:
    assert (
        asked.post("/v1/experiments", {"key": "c", "arms": ["a", "b"], "control": {"arm": "a", "share": 0.5}}).status
        == 201
    )
    ids = [asked.post("/v1/experiments/c/decisions", {}).json()["decision_id"] for _ in range(40)]
    for value in (1.0, 1.0, 0.5):
        assert asked.post(f"/v1/decisions/{ids[0]}/reward", {"value": value}).status == 202
    for wrong, status in ((2.0, 422), ("x", 400)):
        assert asked.post(f"/v1/decisions/{ids[1]}/reward", {"value": wrong}).status == status
    lines = "\n".join(json.dumps({"decision_id": one, "value": 1.0}) for one in ids[2:5])
    assert asked.ask("POST", "/v1/rewards", lines.encode(), {"content-type": "application/x-ndjson"}).status == 200
    assert asked.post("/v1/experiments/nobody/decisions", {}).status == 404

    log = [json.loads(line) for line in asked.ask("GET", "/v1/experiments/c/log.ndjson").body.splitlines()]
    found = figures(asked)
    for stream, reason in (("learn", "split"), ("control", "control")):
        assert found["turncoat_decisions_total", reason, stream] == sum(line["stream"] == stream for line in log) > 0
    assert found["turncoat_rewards_total", "accepted"] == 4
    assert found["turncoat_rewards_total", "duplicate"] == found["turncoat_rewards_total", "conflict"] == 1
    assert found["turncoat_commands_refused_total", "422"] == found["turncoat_commands_refused_total", "404"] == 1
    assert found["turncoat_requests_total", "decide", "201"] == found["turncoat_requests_total", "reward", "202"] + 37
    assert found["turncoat_requests_total", "reward", "400"] == found["turncoat_requests_total", "decide", "404"] == 1
    assert found["turncoat_request_seconds_count", "decide"] == 41
    assert found["turncoat_batch_commands_sum",] == 40 + 3 + 1 + 3 + 1
    assert found["turncoat_state_version", "e"] == 1
    assert found["turncoat_store_bytes",] > 0


def test_lag_is_what_waits(tmp_path: Path) -> None:
    with direct(make_context(tmp_path, Settings(role="front"))) as asked:  # no applier runs
        asked.post("/v1/experiments", {"key": "e", "arms": ["a"]})
        assert figures(asked)["turncoat_applier_lag_rows",] == figures(asked)["turncoat_applier_lag_seconds",] == 0.0
        for _ in range(3):
            one = asked.post("/v1/experiments/e/decisions", {}).json()["decision_id"]
            assert asked.post(f"/v1/decisions/{one}/reward", {"value": 1.0}).status == 202
        first, second = figures(asked), figures(asked)
        assert first["turncoat_applier_lag_rows",] == 3
        assert 0.0 < first["turncoat_applier_lag_seconds",] < second["turncoat_applier_lag_seconds",] < 60.0
        asked.work()
        assert figures(asked)["turncoat_applier_lag_rows",] == 0


def test_the_last_minute_in_figures(asked: Direct) -> None:
    before = asked.context.metrics.gauges()
    assert (before["decisions_per_second"], before["decide_p50_seconds"], before["lag_rewards"]) == (0.0, None, 0)
    for _ in range(30):
        asked.post("/v1/experiments/e/decisions", {})
    asked.post("/v1/experiments/nobody/decisions", {})
    after = asked.context.metrics.gauges()
    assert after["decisions_per_second"] == 0.5 and after["rewards_per_second"] == 0.0
    assert 0.0 < after["decide_p50_seconds"] <= after["decide_p99_seconds"] < 10.0


def test_what_is_forgotten_does_not_slow_the_rate_down() -> None:
    recent = Recent()
    for number in range(5000):
        recent.add((number / 1000.0, number / 1e6))
    rate, median, most = recent.figures(5.0)
    assert rate == pytest.approx(1000.0, rel=1e-3)
    assert median == pytest.approx(0.004) and most == pytest.approx(0.00498)
    assert recent.figures(100.0) == (0.0, None, None)


def test_names_from_callers_are_escaped_and_unknown_addresses_make_no_series(asked: Direct) -> None:
    for number in range(50):
        assert asked.ask("GET", f"/nothing/{number}").status == 404
    routes = {name[1] for name in figures(asked) if name[0] == "turncoat_requests_total"}
    assert "unmatched" in routes and not any("nothing" in route for route in routes)


def test_an_applier_shows_only_how_it_is(tmp_path: Path) -> None:
    with direct(make_context(tmp_path, Settings(role="applier"))) as asked:
        for path, status in (
            ("/healthz", 200),
            ("/readyz", 200),
            ("/metrics", 200),
            ("/v1/experiments", 404),
            ("/openapi.json", 404),
        ):
            assert asked.ask("GET", path).status == status, path
        assert asked.ask("POST", "/v1/experiments/e/decisions", b"{}", JSON).status == 404
