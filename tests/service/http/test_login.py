"""The dashboard's way in: key, form, cookie."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.service.contract.conftest import HandClock
from tests.service.http.direct import Direct, Said, direct
from tests.service.http.served import make_context
from turncoat.service import api_keys, login_sessions
from turncoat.service.api_keys import Scope
from turncoat.service.dashboard.pages.renderer import Templates
from turncoat.service.http import login
from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.http.login import DashboardLogin, dashboard_routes

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}


class PlainPages(Templates):
    """The two pages of the login as plain text."""

    def login(self, *, next_page: str = "", failed: bool = False) -> str:
        return f"form, next {next_page}, failed {failed}"

    def problem(self, title: str, detail: str) -> str:
        return f"problem: {title}"


async def home_page(request: Request) -> Response:
    return PlainTextResponse("home")


async def style(request: Request) -> Response:
    return PlainTextResponse("style")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Direct]:
    context = make_context(tmp_path)
    front = DashboardLogin(context, PlainPages())
    with direct(context) as one:
        one._app = make_app(context, front.routes([Route("/", home_page), Route("/static/style.css", style)]))
        yield one


def made(site: Direct, *scopes: Scope, experiments: list[str] | None = None) -> str:
    new = api_keys.NewKey(name="someone", scopes=list(scopes), experiments=experiments)
    return site.write(lambda session: api_keys.issue(session, new, site.context.clock.now())).key


def typed(site: Direct, key: str, **headers: str) -> Said:
    return site.ask("POST", "/login", f"key={quote(key)}".encode(), {**FORM, **headers})


def signed_in(site: Direct, key: str) -> str:
    """The cookie that a key is exchanged for."""
    return typed(site, key).headers["set-cookie"].partition(";")[0]


def home(site: Direct, cookie: str | None) -> Said:
    return site.ask("GET", "/", headers={} if cookie is None else {"cookie": cookie})


def test_without_keys_this_machine_just_looks(site: Direct) -> None:
    assert home(site, None).body == b"home"
    said = site.ask("GET", "/", host="evil.example")
    assert (said.status, said.body) == (403, b"problem: this key may not do that")


def test_what_pages_load_is_open_and_the_form_too(site: Direct) -> None:
    made(site, "read")
    assert site.ask("GET", "/static/style.css").body == b"style"
    assert site.ask("GET", "/login?next=%2Fsystem%3Fx%3D1").body == b"form, next /system?x=1, failed False"


@pytest.mark.parametrize("elsewhere", ["https://evil.example", "//evil.example", "/\\evil.example", "", "x", "/a\nb"])
def test_nobody_is_sent_elsewhere_from_the_form(site: Direct, elsewhere: str) -> None:
    key = made(site, "read")
    assert site.ask("GET", f"/login?next={quote(elsewhere, safe='')}").body == b"form, next /, failed False"
    said = site.ask("POST", "/login", f"key={key}&next={quote(elsewhere, safe='')}".encode(), FORM)
    assert (said.status, said.headers["location"]) == (303, "/")


def test_a_key_typed_once_opens_the_pages(site: Direct) -> None:
    key = made(site, "read")
    sent = site.ask("GET", "/?a=b")
    assert (sent.status, sent.headers["location"]) == (303, "/login?next=%2F%3Fa%3Db")
    said = site.ask("POST", "/login", f"key={quote(key)}&next=%2F%3Fa%3Db".encode(), FORM)
    assert (said.status, said.headers["location"]) == (303, "/?a=b")
    cookie = said.headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts and "secure" not in parts  # this was plain http
    pair = cookie.partition(";")[0]
    assert home(site, pair).body == b"home"
    assert home(site, f"other=1; {pair}").body == b"home"
    out = site.ask("POST", "/logout", b"", {**FORM, "cookie": pair})
    assert out.status == 303 and f'{login.COOKIE}=""' in out.headers["set-cookie"]
    assert home(site, pair).status == 303  # signed out, a copy of the cookie opens nothing either


def test_the_cookie_is_good_for_pages_alone_and_only_while_the_key_is(site: Direct) -> None:
    key = made(site, "read", "admin")
    cookie = signed_in(site, key)
    assert home(site, cookie).status == 200
    assert site.ask("GET", "/v1/experiments", headers={"authorization": f"Bearer {cookie[9:]}"}).status == 401
    assert site.ask("GET", "/v1/experiments", headers={"cookie": cookie}).status == 401
    site.write(lambda writing: api_keys.revoke(writing, key.split("_")[1], site.context.clock.now()))
    assert home(site, cookie).status == 303


def test_a_wrong_key_or_one_that_may_not_read_gets_no_cookie(site: Direct) -> None:
    writer = made(site, "decide", "reward", "admin")
    for key in ("nonsense", "", "tk_ü_x", writer, f"{writer}x"):
        said = typed(site, key)
        assert (said.status, said.body) == (401, b"form, next /, failed True") and "set-cookie" not in said.headers
        assert not key or key.encode() not in said.body
    assert home(site, f"{login.COOKIE}={writer}").status == 303


def test_the_cookie_is_not_the_key(site: Direct) -> None:
    """It held the key itself: who read the cookie had all that the key may do."""
    key = made(site, "read", "admin")
    token = signed_in(site, key).partition("=")[2]
    assert len(token) >= 43 and key.split("_")[1] not in token and key.split("_", 2)[2] not in token
    assert home(site, f"{login.COOKIE}={key}").status == 303
    assert signed_in(site, key).partition("=")[2] != token
    stored = site.write(lambda session: session.rows("SELECT sha256, api_key FROM login_session"))
    assert {row[1] for row in stored} == {key.split("_")[1]} and len(stored) == 2
    assert hashlib.sha256(token.encode()).hexdigest() in {row[0] for row in stored} and token not in str(stored)


def test_a_login_ends_by_itself(tmp_path: Path) -> None:
    clock = HandClock()
    context = make_context(tmp_path, clock=clock)
    with direct(context) as site:
        site._app = make_app(context, DashboardLogin(context, PlainPages()).routes([Route("/", home_page)]))
        cookie = signed_in(site, made(site, "read"))
        clock.time += login_sessions.SECONDS - 1.0
        assert home(site, cookie).status == 200
        clock.time += 1.0
        assert home(site, cookie).status == 303
        signed_in(site, made(site, "read"))  # deletes what has run out
        assert site.write(lambda session: session.rows("SELECT COUNT(*) FROM login_session")) == [(1,)]


def test_a_key_for_one_experiment_sees_the_pages_of_it_alone(real: Direct) -> None:
    assert real.post("/v1/experiments", {"key": "other", "arms": ["a", "b"]}).status == 201
    ids = {key: real.post(f"/v1/experiments/{key}/decisions", {}).json()["decision_id"] for key in ("e", "other")}
    everything, one = signed_in(real, made(real, "read")), signed_in(real, made(real, "read", experiments=["e"]))

    def page(path: str, cookie: str) -> Said:
        return real.ask("GET", path, headers={"cookie": cookie})

    for path in ("/", "/experiments/other", "/system"):
        assert page(path, everything).status == 200 and page("/", everything).body.count(b"/experiments/other")
    assert page("/", one).status == 200 and page("/", one).body.count(b"/experiments/e")
    assert b"other" not in page("/", one).body  # the same page, cached for the other key
    assert page("/experiments/e", one).status == 200
    assert page("/experiments/other", one).status == page("/experiments/nothing", one).status == 404
    assert page("/system", one).status == 403
    assert b"propensity" in page(f"/decisions?id={ids['e']}", one).body.lower()
    assert page(f"/decisions?id={ids['other']}", one).body.count(b"other") == 0
    for path in ("/decisions", "/decisions.csv", "/decisions.ndjson"):
        assert ids["other"].encode() in page(path, everything).body, path
        assert page(path, one).status == page(f"{path}?experiment=%20", one).status == 403, path
        assert page(f"{path}?experiment=other", one).status == 404, path
        assert page(f"{path}?experiment=mine&experiment=other", one).status == 404, path
        shown = page(f"{path}?experiment=other&experiment=e", one)  # the last one counts, here and there
        assert shown.status == 200 and ids["e"].encode() in shown.body and ids["other"].encode() not in shown.body, path


def test_forms_are_for_the_key_s_own_experiments(real: Direct) -> None:
    assert real.post("/v1/experiments", {"key": "other", "arms": ["a", "b"]}).status == 201
    cookie = signed_in(real, made(real, "read", "admin", experiments=["e"]))
    for path, expected in (
        ("/new", 403),
        ("/experiments/e/settings", 200),
        ("/experiments/other/settings", 404),
        ("/experiments/other/retire?arm=a", 404),
    ):
        assert real.ask("GET", path, headers={"cookie": cookie}).status == expected, path
    form = b"do=state&state=stopped&revision=1"
    for key, expected in (("other", 404), ("e", 303)):
        said = real.ask("POST", f"/experiments/{key}/settings", form, {**FORM, "cookie": cookie})
        assert said.status == expected, said.body
    revoked = real.ask("POST", "/experiments/e/settings", form, {**FORM, "cookie": f"{login.COOKIE}=x"})
    assert revoked.status == 401


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
    assert site.ask("POST", "/logout", b"", {**FORM, **sent}).status == 403


def test_a_form_without_a_sign_of_where_it_is_from_is_refused(site: Direct) -> None:
    key = made(site, "read")
    said = site.ask("POST", "/login", f"key={key}".encode(), {"content-type": FORM["content-type"]})
    assert said.status == 403


def test_behind_https_the_cookie_is_for_https_alone(site: Direct) -> None:
    key = made(site, "read")
    said = typed(site, key, **{"x-forwarded-proto": "https", "origin": "https://localhost"})
    assert "secure" in said.headers["set-cookie"].lower()


def test_a_form_has_its_limits(site: Direct) -> None:
    made(site, "read")
    assert site.ask("POST", "/login", b"x" * 100_000, FORM).status == 413
    assert site.ask("POST", "/login", b"&".join([b"a=b"] * 50), FORM).status == 400
    assert site.ask("POST", "/login", b"key=\xff", FORM).status == 400


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Direct]:
    """The dashboard itself, with an experiment `e`."""
    context = make_context(tmp_path)
    with direct(context) as one:
        one._app = make_app(context, dashboard_routes(context))
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


def its_pages(context: AppContext) -> list[str]:
    """Those that only show something; test_page_forms.py has the others."""
    routes = [route for route in dashboard_routes(context) if route.methods is None or "POST" not in route.methods]
    return [r.path.replace("{key}", "e") for r in routes if not r.path.startswith(("/static", "/log"))]


def test_every_page_is_shown_to_this_machine_while_there_is_no_key(real: Direct) -> None:
    assert len(its_pages(real.context)) >= 4
    for path in its_pages(real.context):
        said = real.ask("GET", path)
        assert said.status == 200 and "default-src 'none'" in said.headers["content-security-policy"], path
        assert real.ask("GET", path, host="evil.example").status == 403


def test_every_page_is_behind_the_door_once_there_is_one(real: Direct) -> None:
    key = made(real, "read")
    cookie = signed_in(real, key)
    for path in its_pages(real.context):
        said = real.ask("GET", path, headers={"authorization": f"Bearer {key}"})  # a page goes by its cookie alone
        assert said.status == 303 and said.headers["location"].startswith("/login?next="), path
        assert real.ask("POST", path, b"", FORM).status == 401, path
        assert real.ask("GET", path, headers={"cookie": cookie}).status == 200, path
    form = real.ask("GET", "/login?next=%2Fsystem")
    assert form.status == 200 and b'action="/login"' in form.body and b'value="/system"' in form.body
    wrong = typed(real, "nonsense")
    assert wrong.status == 401 and b'role="alert"' in wrong.body
    assert "default-src 'none'" in wrong.headers["content-security-policy"]
