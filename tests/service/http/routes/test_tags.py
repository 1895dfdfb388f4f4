"""`GET /v1/experiments?tag=`."""

from __future__ import annotations

import pytest

from tests.service.http.direct import Direct


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["e", "x", "y"]),
        ("?tag=web", ["x", "y"]),
        ("?tag=web&tag=eu", ["y"]),
        ("?tag=we", []),
        ("?tag=", []),
    ],
)
def test_experiments_with_all_of_these_tags(asked: Direct, query: str, keys: list[str]) -> None:
    for key, tags in (("x", ["web"]), ("y", ["eu", "web"])):
        assert asked.post("/v1/experiments", {"key": key, "arms": ["a"], "tags": tags}).status == 201
    said = asked.ask("GET", f"/v1/experiments{query}")
    assert said.status == 200 and [one["key"] for one in said.json()] == keys


def test_another_parameter_is_refused(asked: Direct) -> None:
    said = asked.ask("GET", "/v1/experiments?tags=web")
    assert said.status == 422 and "there is no parameter 'tags'; accepted are tag" in said.json()["detail"]


def test_a_stopped_or_paused_experiment_leaves_openfeature_its_default(asked: Direct) -> None:
    headers = {"content-type": "application/json"}
    for state in ("paused", "stopped"):
        asked.ask("PATCH", "/v1/experiments/e", f'{{"state": "{state}"}}'.encode(), headers)
        said = asked.ask("POST", "/ofrep/v1/evaluate/flags/e", b"{}", headers)
        assert said.status == 200 and said.json()["reason"] == "DEFAULT"
        assert asked.ask("POST", "/ofrep/v1/evaluate/flags", b"{}", headers).json()["flags"] == []
