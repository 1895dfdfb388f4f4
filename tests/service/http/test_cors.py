"""Pages of the origins in the settings, and no others, may call the routes of the scopes decide and reward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import requests

from tests.service.http.direct import JSON, Direct, Said, direct
from tests.service.http.served import make_context, serving
from tests.service.http.test_auth import a_path
from turncoat.errors import OptionError
from turncoat.service import api_keys
from turncoat.service.api_keys import Scope
from turncoat.service.client import Client
from turncoat.service.http.fast_path import FastExchange
from turncoat.service.http.route import Route
from turncoat.service.http.routes import ROUTES
from turncoat.service.http.server import Settings, check
from turncoat.service.messages import NewExperiment

SHOP = "https://shop.example"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
FOR_PAGES = [route for route in ROUTES if route.scope in ("decide", "reward")]
DECIDE = "/v1/experiments/e/decisions"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Direct]:
    """A service that knows two origins, with an experiment, and no key yet."""
    settings = Settings(cors_origins=(SHOP, "http://localhost:5173"))
    with direct(make_context(tmp_path, settings)) as one:
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


def key(asked: Direct, *scopes: Scope) -> str:
    new = api_keys.NewKey(name="page", scopes=list(scopes))
    return f"Bearer {asked.write(lambda session: api_keys.issue(session, new, asked.context.clock.now())).key}"


def cors(said: Said) -> dict[str, str]:
    return {name: value for name, value in said.headers.items() if name.startswith("access-control")}


def ids(routes: Sequence[Route]) -> list[str]:
    return [route.name for route in routes]


@pytest.mark.parametrize("route", FOR_PAGES, ids=ids(FOR_PAGES))
@pytest.mark.parametrize("has_key", [False, True])
def test_a_preflight_is_answered_without_a_key(shop: Direct, route: Route, has_key: bool) -> None:
    if has_key:
        key(shop, "admin")
    said = shop.ask("OPTIONS", a_path(route), headers={"origin": SHOP, **PREFLIGHT})
    assert (said.status, said.body) == (204, b"")
    assert cors(said) == {
        "access-control-allow-origin": SHOP,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key",
        "access-control-max-age": "7200",
    }
    assert "Origin" in said.headers["vary"].split(", ")


@pytest.mark.parametrize("route", others := [one for one in ROUTES if one not in FOR_PAGES], ids=ids(others))
def test_no_other_route_is_opened(shop: Direct, route: Route) -> None:
    bearer = {"authorization": key(shop, "decide", "reward", "read", "admin"), "origin": SHOP}
    for method in (route.method, "OPTIONS"):
        said = shop.ask(method, a_path(route), b"{}", {**JSON, **bearer, **PREFLIGHT})
        assert not cors(said) and said.status != 204


@pytest.mark.parametrize(
    "origin",
    ["https://shop.example.evil.example", "http://shop.example", "https://SHOP.example", "https://shop.example:8443",
     "https://www.shop.example", "https://shop.example/", "null", "", f"{SHOP}, {SHOP}", "http://localhost"],
)  # fmt: skip
def test_another_origin_gets_nothing(shop: Direct, origin: str) -> None:
    bearer = {**JSON, "authorization": key(shop, "decide"), "origin": origin}
    said = shop.ask("POST", DECIDE, b"{}", bearer)
    assert not cors(said) and said.headers["vary"] == "Origin"
    preflight = shop.ask("OPTIONS", DECIDE, headers={"origin": origin, **PREFLIGHT})
    assert preflight.status == 401 and not cors(preflight)


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:5173"])
def test_a_page_with_a_key_decides_and_rewards(shop: Direct, origin: str) -> None:
    page = {"authorization": key(shop, "decide", "reward"), "origin": origin, "sec-fetch-site": "cross-site"}
    made = shop.ask("POST", "/ofrep/v1/evaluate/flags/e", b'{"context": {"targetingKey": "u"}}', {**JSON, **page})
    assert made.status == 200
    told = f"/v1/decisions/{made.json()['metadata']['decision_id']}/reward"
    rewarded = shop.ask("POST", told, b'{"value": 1}', {**JSON, **page})
    assert rewarded.status == 202
    for said in (made, rewarded):
        assert cors(said) == {"access-control-allow-origin": origin, "access-control-expose-headers": "Retry-After"}
        assert said.headers["vary"] == "Origin"


def test_a_page_can_read_why_it_was_refused(shop: Direct) -> None:
    bearer = key(shop, "reward")
    for sent, status in (({}, 401), ({"authorization": bearer}, 403), ({"authorization": "Bearer no"}, 401)):
        said = shop.ask("POST", DECIDE, b"{}", {**JSON, "origin": SHOP, **sent})
        assert said.status == status and cors(said)["access-control-allow-origin"] == SHOP


def test_without_keys_a_page_of_another_origin_still_changes_nothing(shop: Direct) -> None:
    """CSRF: programs on this machine need no key, so a page that is open in its browser must not act as one."""
    for sent in ({"origin": SHOP}, {"origin": SHOP, "sec-fetch-site": "cross-site"}):
        said = shop.ask("POST", DECIDE, b"{}", {**JSON, **sent})
        assert said.status == 403 and said.json()["field"] == "Origin"
    rebound = shop.ask("POST", DECIDE, b"{}", {**JSON, "origin": SHOP}, host="shop.example")
    assert rebound.status == 403 and rebound.json()["field"] == "Host"
    assert shop.ask("POST", DECIDE, b"{}", JSON).status == 201  # a program on this machine


def test_a_program_notices_nothing(shop: Direct) -> None:
    said = shop.ask("POST", DECIDE, b"{}", JSON)
    assert said.status == 201 and not cors(said) and said.headers["vary"] == "Origin"


def test_a_page_is_answered_the_same_by_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path (fast_path.py) knows nothing of CORS: it is for programs."""
    fast: list[str] = []
    complete = FastExchange.complete

    def counted(self: FastExchange) -> None:
        fast.append(self._route.endpoint.route.name)
        complete(self)

    monkeypatch.setattr(FastExchange, "complete", counted)
    with serving(make_context(tmp_path, Settings(cors_origins=(SHOP,)))) as served, Client(served.url) as program:
        program.create(NewExperiment(key="e", arms=["a", "b"]))
        decided = program.decide("e")
        assert fast == ["decide"]
        for path in (DECIDE, f"/v1/decisions/{decided.decision_id}/reward"):
            sent = requests.post(served.url + path, b"{}", headers={**JSON, "Origin": SHOP}, timeout=30.0)
            assert sent.status_code == 403 and sent.headers["Access-Control-Allow-Origin"] == SHOP  # there is no key
        assert fast == ["decide"]


def test_it_is_off_by_default(asked: Direct) -> None:
    bearer = key(asked, "decide")
    for method, more in (("POST", {}), ("OPTIONS", PREFLIGHT)):
        said = asked.ask(method, DECIDE, b"{}", {**JSON, "origin": SHOP, "authorization": bearer, **more})
        assert said.status in (201, 405) and not cors(said) and "vary" not in said.headers


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:5173", "https://[::1]:8443", "capacitor://localhost"])
def test_origins_that_are_accepted(origin: str) -> None:
    check(Settings(cors_origins=(origin,)))


@pytest.mark.parametrize(
    "origin",
    ["*", "", "null", "shop.example", "https://shop.example/", "https://Shop.example", "https://shop.example:443",
     "http://shop.example:80", "https://*.shop.example", "https://shop.example,https://x.example", "https://",
     "https://anna@shop.example", "https://shop.example\n", "https://käse.example"],
)  # fmt: skip
def test_origins_that_are_refused(origin: str) -> None:
    with pytest.raises(OptionError, match=r"cors-origin is .*; accepted is one origin"):
        check(Settings(cors_origins=(SHOP, origin)))
