"""The dashboard's way in: key, form, cookie."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.service.http.direct import Direct, Said, direct
from tests.service.http.served import make_office
from turncoat.service import keys
from turncoat.service.http import session
from turncoat.service.http.app import make_app
from turncoat.service.http.office import Office
from turncoat.service.http.reply import refusal
from turncoat.service.keys import Scope
from turncoat.service.problems import Problem

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}


def pages(office: Office) -> list[Route]:
    """A page, a way in and a way out, as the dashboard has them."""

    def careful(page: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await page(request)
            except Problem as problem:
                said = refusal(problem)
                return Response(said.body, said.status)

        return answer

    async def home(request: Request) -> Response:
        return PlainTextResponse(session.visitor(office, request).name)

    async def sign_in(request: Request) -> Response:
        return await session.sign_in(office, request)

    async def sign_out(request: Request) -> Response:
        return session.sign_out(office, request)

    return [
        Route("/", careful(home)),
        Route("/sign-in", careful(sign_in), methods=["POST"]),
        Route("/sign-out", careful(sign_out), methods=["POST"]),
    ]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Direct]:
    office = make_office(tmp_path)
    with direct(office) as one:
        one._app = make_app(office, pages(office))
        yield one


def made(site: Direct, *scopes: Scope) -> str:
    with site.office.store.transaction() as writing:
        key = keys.issue(writing, keys.NewKey(name="someone", scopes=list(scopes)), site.office.clock.now())
    site.office.ring.refresh()
    return key.key


def typed(site: Direct, key: str, **headers: str) -> Said:
    return site.ask("POST", "/sign-in", f"key={quote(key)}".encode(), {**FORM, **headers})


def home(site: Direct, cookie: str | None) -> Said:
    return site.ask("GET", "/", headers={} if cookie is None else {"cookie": cookie})


def test_without_keys_this_machine_just_looks(site: Direct) -> None:
    assert home(site, None).body == b"local"
    assert site.ask("GET", "/", host="evil.example").status == 403


def test_a_key_typed_once_opens_the_pages(site: Direct) -> None:
    key = made(site, "read")
    assert home(site, None).status == 401
    said = typed(site, key)
    assert (said.status, said.headers["location"]) == (303, "/")
    cookie = said.headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts and "secure" not in parts  # this was plain http
    pair = cookie.partition(";")[0]
    assert home(site, pair).body == b"someone"
    assert home(site, f"other=1; {pair}").body == b"someone"
    out = site.ask("POST", "/sign-out", b"", {**FORM, "cookie": pair})
    assert out.status == 303 and 'turncoat_key=""' in out.headers["set-cookie"]


def test_the_cookie_is_good_for_pages_alone_and_only_while_the_key_is(site: Direct) -> None:
    key = made(site, "read", "admin")
    cookie = f"{session.COOKIE}={key}"
    assert home(site, cookie).status == 200
    assert site.ask("GET", "/v1/experiments", headers={"cookie": cookie}).status == 401
    with site.office.store.transaction() as writing:
        keys.revoke(writing, key.split("_")[1], site.office.clock.now())
    site.office.ring.refresh()
    assert home(site, cookie).status == 401


def test_a_wrong_key_or_one_that_may_not_read_gets_no_cookie(site: Direct) -> None:
    writer = made(site, "decide", "reward", "admin")
    for key, status in (("nonsense", 401), ("", 401), ("tk_ü_x", 401), (writer, 403), (f"{writer}x", 401)):
        said = typed(site, key)
        assert said.status == status and "set-cookie" not in said.headers
        assert not key or key.encode() not in said.body
    assert home(site, f"{session.COOKIE}={writer}").status == 403


@pytest.mark.parametrize(
    "sent",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "http://localhost.evil.example"},
    ],
    ids=str,
)
def test_another_site_cannot_send_our_forms(site: Direct, sent: dict[str, str]) -> None:
    key = made(site, "read")
    assert typed(site, key, **sent).status == 403
    assert site.ask("POST", "/sign-out", b"", {**FORM, **sent}).status == 403


def test_a_form_without_a_sign_of_where_it_is_from_is_refused(site: Direct) -> None:
    key = made(site, "read")
    said = site.ask("POST", "/sign-in", f"key={key}".encode(), {"content-type": FORM["content-type"]})
    assert said.status == 403


def test_a_form_has_its_limits(site: Direct) -> None:
    made(site, "read")
    assert site.ask("POST", "/sign-in", b"x" * 100_000, FORM).status == 413
    assert site.ask("POST", "/sign-in", b"&".join([b"a=b"] * 50), FORM).status == 400
    assert site.ask("POST", "/sign-in", b"key=\xff", FORM).status == 400
