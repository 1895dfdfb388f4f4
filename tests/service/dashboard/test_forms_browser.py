"""Forms in a real browser: they work without scripts, fit a phone, and pages of other origins cannot send them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.report.chromium import Chromium
from tests.service.dashboard.test_browser import FITS, PATH, READY, WHY, Server, go, resize
from turncoat.service import messages
from turncoat.service.api_keys import NewKey, issue
from turncoat.service.engine import Engine
from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.http.login import dashboard_routes
from turncoat.service.http.server import Settings
from turncoat.service.store import open_store

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PATH is None, reason=WHY)]
NAME = "a rather long name of an arm, / with & signs?"


class Site:
    """The whole service on a port, its engine, and an admin's key."""

    def __init__(self, folder: Path) -> None:
        store = open_store(str(folder / "turncoat.db"))
        self.engine = Engine(store)
        self.engine.create(messages.NewExperiment(key="e", arms=["a", "b", NAME], tags=["web"]))
        with store.transaction() as session:
            self.key = issue(session, NewKey(name="ana", scopes=["read", "admin"]), time.time()).key
        context = AppContext(self.engine, store, Settings())
        self.server = Server(make_app(context, dashboard_routes(context)), lifespan="on")

    def states(self) -> dict[str, str]:
        return {arm.arm: arm.state for arm in self.engine.experiment("e").arms}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    with found.server:
        yield found


def sign_in(browser: Chromium, site: Site) -> str:
    base = site.server.base
    browser.call("Page.navigate", url=f"{base}/system")
    browser.wait(f"{READY} && location.pathname === '/login'", 15)
    fill(browser, {"key": site.key}, ".login button")
    browser.wait(f"{READY} && location.pathname === '/system'", 15)
    return base


def fill(browser: Chromium, values: dict[str, str], button: str) -> None:
    for name, value in values.items():
        browser.evaluate(f"document.getElementById({name!r}).value = {value!r}")
    browser.evaluate(f"document.querySelector({button!r}).click()")


def test_an_experiment_lives_without_scripts(site: Site) -> None:
    with Chromium(PATH or "") as browser:
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        base = sign_in(browser, site)
        go(browser, f"{base}/new")
        fill(browser, {"key": "e", "arms": "x\ny"}, "main button[type=submit]")
        browser.wait(f"{READY} && document.querySelector('#key-problem') !== null", 15)
        assert browser.evaluate("document.getElementById('arms').value.split(/\\s+/).join()") == "x,y"
        fill(browser, {"key": "mine", "tags": "web shop"}, "main button[type=submit]")
        browser.wait(f"{READY} && location.pathname === '/experiments/mine'", 15)
        assert site.engine.experiment("mine").tags == ["web", "shop"]
        go(browser, f"{base}/experiments/e/settings")
        browser.evaluate("document.querySelector('[value=paused] + button').click()")
        browser.wait(f"{READY} && document.querySelector('h1 .pill').innerText === 'paused'", 15)
        fill(browser, {"add-arm": "late", "add-floor": "0.1"}, "form[aria-labelledby=add-title] button")
        browser.wait(f"{READY} && document.querySelectorAll('#arms tbody tr').length === 4", 15)
        browser.evaluate("document.querySelectorAll('#arms td a')[2].click()")
        browser.wait(f"{READY} && location.pathname === '/experiments/e/retire'", 15)
        assert NAME in browser.evaluate("document.querySelector('h1').innerText")
        browser.evaluate("document.querySelector('.danger').click()")
        browser.wait(f"{READY} && location.pathname === '/experiments/e/settings'", 15)
        assert site.engine.experiment("e").state == "paused"
        assert site.states() == {"a": "active", "b": "active", NAME: "retired", "late": "active"}
        assert [error for error in browser.errors if "409" not in error] == []


@pytest.mark.parametrize("dark", [False, True])
def test_forms_fit_a_phone(site: Site, dark: bool) -> None:
    with Chromium(PATH or "", dark=dark) as browser:
        resize(browser, 400)
        base = sign_in(browser, site)
        for page in (
            "/",
            "/new",
            "/experiments/e/settings",
            "/experiments/e/retire?arm=b",
            "/experiments/e",
            "/decisions",
        ):
            go(browser, base + page)
            assert browser.evaluate(FITS), page
            wide = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
            assert browser.evaluate(wide) == 0, page  # nor is a table scrolled sideways
        assert browser.errors == []


def test_a_page_of_another_origin_cannot_send_a_form(site: Site) -> None:
    """The other page is on another port of the same host: that is the same site, so the cookie is sent with it."""

    wanted = {"do": "state", "state": "stopped", "revision": "1"}

    async def evil(request: Request) -> HTMLResponse:
        fields = "".join(f"<input name={name} value={value}>" for name, value in wanted.items())
        form = f"<form method=post action='{site.server.base}/experiments/e/settings'>{fields}</form>"
        return HTMLResponse(f"{form}<script>document.forms[0].submit()</script>")

    with Chromium(PATH or "") as browser, Server(Starlette(routes=[Route("/", evil)])) as other:
        base = sign_in(browser, site)
        browser.call("Page.navigate", url=other)
        browser.wait(f"{READY} && location.href === '{base}/experiments/e/settings'", 15)
        assert "another origin" in browser.evaluate("document.body.innerText")
        assert site.engine.experiment("e").state == "running"
        go(browser, f"{base}/experiments/e/settings")  # signed in, it may do the same itself
        browser.evaluate("document.querySelector('[value=stopped] + button').click()")
        browser.wait(f"{READY} && document.querySelector('h1 .pill').innerText === 'stopped'", 15)
        assert site.engine.experiment("e").state == "stopped"
