"""Every route × every way to come in without a right to. Routes come from the table: no new one can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.contract.conftest import HandClock
from tests.service.http.direct import JSON, Direct, Said, direct
from tests.service.http.served import make_context
from turncoat.service import api_keys
from turncoat.service.api_keys import SCOPES, Scope
from turncoat.service.clock import as_datetime
from turncoat.service.http.route import Route
from turncoat.service.http.routes import ROUTES

GUARDED = [route for route in ROUTES if route.scope is not None]


class Trial:
    """A service with keys of every kind."""

    def __init__(self, asked: Direct, clock: HandClock) -> None:
        self.asked = asked
        self._clock = clock
        self.everything = self.made(*SCOPES)
        self.expired = self.made(*SCOPES, seconds=10.0)
        clock.time += 10.0
        self.revoked = self.made(*SCOPES)
        self.revoke(self.revoked)

    def made(self, *scopes: Scope, seconds: float | None = None) -> str:
        expires_at = None if seconds is None else as_datetime(self._clock.now() + seconds)
        new = api_keys.NewKey(name="somebody", scopes=list(scopes), expires_at=expires_at)
        return self.asked.write(lambda session: api_keys.issue(session, new, self._clock.now())).key

    def revoke(self, key: str) -> None:
        self.asked.write(lambda session: api_keys.revoke(session, key.split("_")[1], self._clock.now()))

    def request(self, route: Route, path: str | None = None, **headers: str) -> Said:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.asked.ask(route.method, path or a_path(route), b"{}", {**JSON, **named})


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    clock = HandClock()
    with direct(make_context(tmp_path_factory.mktemp("door"), clock=clock)) as asked:
        yield Trial(asked, clock)


def a_path(route: Route) -> str:
    path = route.path.replace("{arm:path}", "a").replace("{id}", "x").replace("{key}", "e")
    return path.replace("{decision_id}", "00000000-0000-7000-8000-000000000000")


def each(rows: list[Route]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("route", rows, ids=[route.name for route in rows])


def test_only_the_two_signs_of_life_are_open() -> None:
    assert {route.name for route in ROUTES if route.scope is None} == {"healthz", "readyz"}


def test_every_name_and_address_is_there_once() -> None:
    assert len({route.name for route in ROUTES}) == len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


@each([route for route in ROUTES if route.scope is None])
def test_signs_of_life_need_no_key(trial: Trial, route: Route) -> None:
    assert trial.request(route).status == 200
    assert trial.request(route, authorization="Bearer nonsense").status == 200


@each(GUARDED)
def test_with_a_key_for_it_one_comes_in(trial: Trial, route: Route) -> None:
    """Without this one, the refusals below would prove nothing."""
    assert route.scope is not None
    said = trial.request(route, authorization=f"Bearer {trial.made(route.scope)}")
    assert said.status not in (401, 403) and said.status < 500
    assert trial.request(route, authorization=f"bearer  {trial.everything}").status not in (401, 403)


@each(GUARDED)
def test_a_key_for_everything_else_is_refused(trial: Trial, route: Route) -> None:
    others = trial.made(*(scope for scope in SCOPES if scope != route.scope))
    said = trial.request(route, authorization=f"Bearer {others}")
    assert said.status == 403 and said.json()["field"] == "Authorization"
    assert repr(route.scope) in said.json()["detail"]


def wrong_headers(trial: Trial) -> dict[str, dict[str, str]]:
    good = trial.everything
    prefix, number, secret = good.split("_", 2)
    return {
        "no key": {},
        "an empty one": {"authorization": ""},
        "only the word": {"authorization": "Bearer"},
        "no word": {"authorization": good},
        "another word": {"authorization": f"Basic {good}"},
        "another secret": {"authorization": f"Bearer {prefix}_{number}_{'A' * len(secret)}"},
        "no secret": {"authorization": f"Bearer {prefix}_{number}_"},
        "a shorter secret": {"authorization": f"Bearer {good[:-1]}"},
        "a longer secret": {"authorization": f"Bearer {good}A"},
        "another id": {"authorization": f"Bearer {prefix}_000000000000_{secret}"},
        "another prefix": {"authorization": f"Bearer TK_{number}_{secret}"},
        "in upper case": {"authorization": f"Bearer {good.upper()}"},
        "in lower case": {"authorization": f"Bearer {good.lower()}"},
        "the hash": {"authorization": f"Bearer {prefix}_{number}_{'0' * 64}"},
        "two keys": {"authorization": f"Bearer {good}, Bearer {good}"},
        "expired": {"authorization": f"Bearer {trial.expired}"},
        "revoked": {"authorization": f"Bearer {trial.revoked}"},
        "as a cookie": {"cookie": f"turncoat_key={good}"},
        "in another header": {"x-api-key": good, "proxy-authorization": f"Bearer {good}"},
        "not ASCII": {"authorization": "Bearer tk_ü_ÿ"},
    }


@each(GUARDED)
def test_without_a_good_key_nobody_comes_in(trial: Trial, route: Route) -> None:
    for case, headers in wrong_headers(trial).items():
        said = trial.asked.ask(route.method, a_path(route), b"{}", {**JSON, **headers})
        assert said.status == 401, case
        assert said.headers["www-authenticate"].startswith("Bearer"), case
        assert said.headers["content-type"] == "application/problem+json", case
        assert trial.everything.encode() not in said.body and trial.revoked.encode() not in said.body, case


@each(GUARDED)
def test_a_key_in_the_address_is_no_key(trial: Trial, route: Route) -> None:
    for name in ("key", "api_key", "access_token", "token", "authorization", "Authorization"):
        said = trial.request(route, f"{a_path(route)}?{name}={trial.everything}")
        assert said.status == 401, name


@each(GUARDED)
def test_other_spellings_of_an_address_open_nothing(trial: Trial, route: Route) -> None:
    path = a_path(route)
    spellings = [
        f"/{path}",
        f"//{path}",
        f"{path}/",
        f"{path}//",
        f"/.{path}",
        f"/%2e{path}",
        f"/healthz/..{path}",
        f"/healthz/%2e%2e{path}",
        f"/healthz%2f..{path}",
        f"/healthz;{path}",
        f"/healthz%00{path}",
        f"/static/..{path}",
        path.replace("/", "//"),
        path.replace("/", "%2f"),
        path.upper(),
        path.replace("/", "/%2e/", 1),
        f"{path}%00",
        f"{path}%20",
        f"{path};x=1",
        f"{path}.json",
    ]
    for spelling in spellings:
        said = trial.request(route, spelling)
        assert said.status == 401, spelling


@each(GUARDED)
def test_other_methods_open_nothing(trial: Trial, route: Route) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "SECRET"):
        said = trial.asked.ask(method, a_path(route), b"{}", {**JSON, "x-http-method-override": route.method})
        assert said.status == 401, method


def test_nothing_was_made_by_all_this(trial: Trial) -> None:
    said = trial.asked.ask("GET", "/v1/experiments", headers={"authorization": f"Bearer {trial.everything}"})
    assert said.status == 200 and said.json() == []
