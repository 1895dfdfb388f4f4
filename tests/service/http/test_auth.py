"""Every route × every way to come in without a right to. Routes come from the table: no new one can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.contract.conftest import HandClock
from tests.service.http.direct import JSON, Direct, Said, direct
from tests.service.http.served import make_office
from turncoat.service import api_keys
from turncoat.service.api_keys import SCOPES, Scope
from turncoat.service.clock import as_datetime
from turncoat.service.http.route import Row
from turncoat.service.http.table import TABLE

GUARDED = [row for row in TABLE if row.scope is not None]


class Door:
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

    def knock(self, row: Row, path: str | None = None, **headers: str) -> Said:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.asked.ask(row.method, path or a_path(row), b"{}", {**JSON, **named})


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    clock = HandClock()
    with direct(make_office(tmp_path_factory.mktemp("door"), clock=clock)) as asked:
        yield Door(asked, clock)


def a_path(row: Row) -> str:
    path = row.path.replace("{arm:path}", "a").replace("{id}", "x").replace("{key}", "e")
    return path.replace("{decision_id}", "00000000-0000-7000-8000-000000000000")


def each(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def test_only_the_two_signs_of_life_are_open() -> None:
    assert {row.name for row in TABLE if row.scope is None} == {"healthz", "readyz"}


def test_every_name_and_address_is_there_once() -> None:
    assert len({row.name for row in TABLE}) == len({(row.method, row.path) for row in TABLE}) == len(TABLE)


@each([row for row in TABLE if row.scope is None])
def test_signs_of_life_need_no_key(door: Door, row: Row) -> None:
    assert door.knock(row).status == 200
    assert door.knock(row, authorization="Bearer nonsense").status == 200


@each(GUARDED)
def test_with_a_key_for_it_one_comes_in(door: Door, row: Row) -> None:
    """Without this one, the refusals below would prove nothing."""
    assert row.scope is not None
    said = door.knock(row, authorization=f"Bearer {door.made(row.scope)}")
    assert said.status not in (401, 403) and said.status < 500
    assert door.knock(row, authorization=f"bearer  {door.everything}").status not in (401, 403)


@each(GUARDED)
def test_a_key_for_everything_else_is_refused(door: Door, row: Row) -> None:
    others = door.made(*(scope for scope in SCOPES if scope != row.scope))
    said = door.knock(row, authorization=f"Bearer {others}")
    assert said.status == 403 and said.json()["field"] == "Authorization"
    assert repr(row.scope) in said.json()["detail"]


def wrong_headers(door: Door) -> dict[str, dict[str, str]]:
    good = door.everything
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
        "expired": {"authorization": f"Bearer {door.expired}"},
        "revoked": {"authorization": f"Bearer {door.revoked}"},
        "as a cookie": {"cookie": f"turncoat_key={good}"},
        "in another header": {"x-api-key": good, "proxy-authorization": f"Bearer {good}"},
        "not ASCII": {"authorization": "Bearer tk_ü_ÿ"},
    }


@each(GUARDED)
def test_without_a_good_key_nobody_comes_in(door: Door, row: Row) -> None:
    for case, headers in wrong_headers(door).items():
        said = door.asked.ask(row.method, a_path(row), b"{}", {**JSON, **headers})
        assert said.status == 401, case
        assert said.headers["www-authenticate"].startswith("Bearer"), case
        assert said.headers["content-type"] == "application/problem+json", case
        assert door.everything.encode() not in said.body and door.revoked.encode() not in said.body, case


@each(GUARDED)
def test_a_key_in_the_address_is_no_key(door: Door, row: Row) -> None:
    for name in ("key", "api_key", "access_token", "token", "authorization", "Authorization"):
        said = door.knock(row, f"{a_path(row)}?{name}={door.everything}")
        assert said.status == 401, name


@each(GUARDED)
def test_other_spellings_of_an_address_open_nothing(door: Door, row: Row) -> None:
    path = a_path(row)
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
        said = door.knock(row, spelling)
        assert said.status == 401, spelling


@each(GUARDED)
def test_other_methods_open_nothing(door: Door, row: Row) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "SECRET"):
        said = door.asked.ask(method, a_path(row), b"{}", {**JSON, "x-http-method-override": row.method})
        assert said.status == 401, method


def test_nothing_was_made_by_all_this(door: Door) -> None:
    said = door.asked.ask("GET", "/v1/experiments", headers={"authorization": f"Bearer {door.everything}"})
    assert said.status == 200 and said.json() == []
