"""The dashboard in a real browser: it loads, refreshes itself, logs nothing to the console, loads nothing foreign."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from tests.report.chromium import Chromium, find
from tests.service.dashboard.history import History
from turncoat.service import messages
from turncoat.service.api_keys import NewKey, issue
from turncoat.service.dashboard.pages import routes
from turncoat.service.dashboard.pages.renderer import render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.http.login import dashboard_routes
from turncoat.service.http.server import Settings
from turncoat.service.store import Store, open_store

PATH = find()
WHY = "there is no Chromium here (Debian: apt-get install chromium); with CI=true, make test installs it for root"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(PATH is None, reason=WHY)]
READY = "document.readyState === 'complete'"
FITS = "document.documentElement.scrollWidth <= window.innerWidth"


class Server:
    """The pages on a free port of this machine, served from a thread."""

    def __init__(self, app: ASGIApp, lifespan: Literal["on", "off"] = "off") -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan=lifespan))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> str:
        self._thread.start()
        return self.base

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._socket.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "turncoat.db"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def history(told: History) -> Iterator[str]:
    with Server(Starlette(routes=routes(render_in_threads(told.store, clock=told.clock)))) as base:
        yield base


def go(browser: Chromium, address: str) -> None:
    browser.call("Page.navigate", url=address)
    browser.wait(f"{READY} && location.href === {address!r}")


def resize(browser: Chromium, width: int) -> None:
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_page_loads_fits_and_asks_nobody_else(told: History, history: str, width: int, dark: bool) -> None:
    with Chromium(PATH or "", dark=dark) as browser:
        resize(browser, width)
        for page in (
            "/",
            f"/experiments/{told.key}?range=hour",
            f"/decisions?id={told.served[-1].decision_id}",
            "/decisions",
            "/system",
        ):
            go(browser, history + page)
            assert browser.evaluate(FITS), page
            ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(16, 18, 22)" if dark else "rgb(246, 247, 249)")
        assert browser.errors == []
        ours = (history, "data:image/svg+xml;")  # the latter is the browser's own, in the field for a time
        assert browser.requests and all(address.startswith(ours) for address in browser.requests)


def test_the_page_keeps_itself_up_to_date(store: Store) -> None:
    engine = Engine(store)
    with Server(Starlette(routes=routes(render_in_threads(store)))) as base, Chromium(PATH or "") as browser:
        go(browser, f"{base}/")
        assert browser.evaluate("document.querySelectorAll('.welcome li').length") == 3
        engine.create(messages.NewExperiment(key="live", arms=["a", "b"]))
        browser.wait("document.querySelector('article h2 a') !== null", 15)
        go(browser, f"{base}/experiments/live")
        pending = "document.querySelector('#health').innerText"
        assert "Waiting for its first decision" in browser.evaluate("document.body.innerText")
        decided = engine.decide("live")
        browser.wait(f"/Pending\\s+1\\b/.test({pending})", 15)
        assert "Waiting for its first decision" not in browser.evaluate("document.body.innerText")
        engine.reward(decided.decision_id or "", 1.0)
        engine.work()
        browser.wait(f"/Pending\\s+0\\b/.test({pending}) && /of 1 closed/.test({pending})", 15)
        assert browser.evaluate("document.querySelector('[data-pulse]').hidden") is False
        assert browser.errors == []
        assert all(address.startswith(base) for address in browser.requests)


def test_what_is_open_and_read_stays_so_while_the_page_changes(store: Store) -> None:
    engine = Engine(store)
    engine.create(messages.NewExperiment(key="live", arms=["a", "b"]))
    with Server(Starlette(routes=routes(render_in_threads(store)))) as base, Chromium(PATH or "") as browser:
        go(browser, f"{base}/experiments/live")
        browser.evaluate("document.querySelector('#audit details').open = true")
        engine.change_arm("live", "b", messages.ArmChange(state="paused"))
        browser.wait("document.querySelectorAll('#audit li').length === 2", 15)
        assert browser.evaluate("document.querySelector('#audit li:last-child details').open") is True
        assert browser.evaluate("document.querySelector('#audit li:first-child details').open") is False
        assert browser.errors == []


def test_a_picture_tells_its_values_at_the_pointer(told: History, history: str) -> None:
    with Chromium(PATH or "") as browser:
        go(browser, f"{history}/experiments/{told.key}")
        place = browser.evaluate(
            "(() => { const b = document.querySelector('#shares .picture').getBoundingClientRect();"
            " return [b.left + b.width * 0.9, b.top + 100]; })()"
        )
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        browser.wait("document.querySelector('.readout') !== null", 10)
        said = browser.evaluate("document.querySelector('.readout').innerText")
        assert "15 Nov" in said and "video" in said and "%" in said
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
        browser.wait("document.querySelector('.readout') === null", 10)
        assert browser.errors == []


def test_everything_is_there_without_scripts(told: History, history: str) -> None:
    with Chromium(PATH or "") as browser:
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        go(browser, f"{history}/experiments/{told.key}")
        assert browser.evaluate("document.querySelectorAll('.chart').length") == 7
        assert browser.evaluate("document.querySelector('[data-pulse]').hidden") is True
        assert browser.evaluate("document.querySelector('meta[http-equiv=refresh]').content") == "10"
        assert browser.errors == []


def test_the_policy_stops_what_slips_in(told: History, history: str) -> None:
    """Were a name ever to get through as markup, it would not run: the browser refuses it, and says so here."""
    with Chromium(PATH or "") as browser:
        go(browser, f"{history}/experiments/{told.key}")
        browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
        browser.wait("document.images[0].complete")
        assert browser.evaluate("window.ran") is None
        assert any("Content Security Policy" in error for error in browser.errors)


def test_a_key_opens_the_door_and_signing_out_shuts_it(store: Store) -> None:
    """The whole service. Browsers send `Origin: null` with a form if pages forbid all referrers: every login failed."""
    with store.transaction() as session:
        key = issue(session, NewKey(name="me", scopes=["read"]), time.time()).key
    context = AppContext(Engine(store), store, Settings())
    app = make_app(context, dashboard_routes(context))
    type_ = "document.getElementById('key').value = {!r}; document.querySelector('.login button').click()"
    with Server(app, lifespan="on") as base, Chromium(PATH or "") as browser:
        browser.call("Page.navigate", url=f"{base}/system")
        browser.wait(f"{READY} && location.pathname === '/login'")
        browser.evaluate(type_.format("tk_wrong_key"))
        browser.wait(f"{READY} && document.querySelector('.alarm') !== null", 15)
        assert "This key is not known" in browser.evaluate("document.querySelector('.alarm').innerText")
        browser.evaluate(type_.format(key))
        browser.wait(f"{READY} && location.pathname === '/system'", 15)
        assert browser.evaluate("document.cookie") == ""  # no script sees it
        browser.evaluate("document.querySelector('.out button').click()")
        browser.wait(f"{READY} && location.pathname === '/login'", 15)
        assert [error for error in browser.errors if "401" not in error] == []
        assert all(address.startswith(base) for address in browser.requests)
