"""While there is no key: only this machine, and no foreign web page open in its browser (DNS rebinding, CSRF)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from turncoat.service.http.auth import is_loopback
from turncoat.service.http.server import Settings


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8000"]
)
def test_this_machine_by_its_names_needs_no_key(asked: Direct, host: str) -> None:
    assert asked.ask("GET", "/v1/experiments", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "",
        "0.0.0.0",
        "[::]",
        "localhost:80:90",
        "[::1",
        None,
    ],
)
def test_a_foreign_name_that_points_here_is_refused(asked: Direct, host: str | None) -> None:
    for method, path in (("GET", "/v1/experiments"), ("POST", "/v1/experiments/e/decisions"), ("GET", "/nothing")):
        said = asked.ask(method, path, b"{}", JSON, host=host)
        assert said.status == 403 and said.json()["field"] == "Host"
    assert asked.ask("GET", "/healthz", host=host).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://localhost", "sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_a_page_of_another_site_changes_nothing(asked: Direct, sent: dict[str, str]) -> None:
    said = asked.ask("POST", "/v1/experiments/e/decisions", b"{}", {**JSON, **sent})
    assert said.status == 403 and said.json()["field"] == "Origin"
    assert asked.ask("POST", "/v1/decisions/00000000-0000-7000-8000-000000000000/activate", headers=sent).status == 403


def test_our_own_pages_and_programs_may(asked: Direct) -> None:
    for sent in ({}, {"origin": "http://localhost"}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert asked.ask("POST", "/v1/experiments/e/decisions", b"{}", {**JSON, **sent}).status == 201
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert asked.ask("GET", "/v1/experiments", headers=link).status == 200  # a link elsewhere may lead here


@pytest.mark.parametrize(
    "header",
    [
        *(
            "X-Forwarded-For",
            "X-Real-IP",
            "Forwarded",
            "Via",
            "x-forwarded-host",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
        ),
        *("CF-Connecting-IP", "CF-Connecting-IPv6", "True-Client-IP", "X-Client-IP", "X-Cluster-Client-IP", "CDN-Loop"),
        *("Fly-Client-IP", "Fastly-Client-IP", "X-Envoy-External-Address", "X-Original-Forwarded-For"),
    ],
)
def test_what_a_proxy_passes_on_needs_a_key(asked: Direct, header: str) -> None:
    """A proxy here that says it is this machine made everyone in the world a caller on this machine."""
    for method, path in (("GET", "/v1/experiments"), ("POST", "/v1/experiments/e/decisions"), ("GET", "/nothing")):
        said = asked.ask(method, path, b"{}", {**JSON, header.lower(): "203.0.113.9"})
        assert said.status == 401, path


def test_elsewhere_there_is_no_way_in_without_a_key(tmp_path: Path) -> None:
    """Such a service does not start; if the keys were deleted under it, it would not open either."""
    with direct(make_context(tmp_path, Settings(host="0.0.0.0"))) as asked:
        assert asked.ask("GET", "/v1/experiments").status == 401


def test_once_there_is_a_key_this_machine_needs_one_too(asked: Direct) -> None:
    made = asked.post("/v1/keys", {"name": "first", "scopes": ["read", "admin"]})
    assert made.status == 201
    assert asked.ask("GET", "/v1/experiments").status == 401
    bearer = {"authorization": f"Bearer {made.json()['key']}"}
    assert asked.ask("GET", "/v1/experiments", headers=bearer).status == 200
    assert asked.ask("GET", "/v1/experiments", headers=bearer, host="anything.example").status == 200
    number = made.json()["id"]
    assert asked.ask("DELETE", f"/v1/keys/{number}", headers=bearer).status == 200
    assert asked.ask("GET", "/v1/experiments", headers=bearer).status == 401
    assert asked.ask("GET", "/v1/experiments").status == 401  # no key is left, and nothing opens again


@pytest.mark.parametrize(
    "host, is_it",
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_what_is_this_machine(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
