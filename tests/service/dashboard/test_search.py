"""Search and tags: the list shows what has the text in its key or tags, on both stores."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.service.dashboard.history import FastClock
from tests.service.dashboard.test_pages import check
from turncoat.service import messages
from turncoat.service.dashboard.data import DashboardData
from turncoat.service.dashboard.pages import routes
from turncoat.service.dashboard.pages.renderer import render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.store.interface import Store

MADE = {"checkout_button": ["web", "checkout"], "checkoutXbutton": ["web"], "search-order": ["search"], "plain": []}


@pytest.fixture
def filled(store: Store) -> Store:
    engine = Engine(store, FastClock())
    for key, tags in MADE.items():
        engine.create(messages.NewExperiment(key=key, arms=["a", "b"], tags=tags))
    return store


@pytest.mark.parametrize(
    ("search", "tag", "keys"),
    [
        ("", "", ["plain", "search-order", "checkoutXbutton", "checkout_button"]),
        ("CHECKOUT", "", ["checkoutXbutton", "checkout_button"]),
        ("checkout_", "", ["checkout_button"]),  # no wildcard
        ("%", "", []),
        ("sear", "", ["search-order"]),
        ("", "web", ["checkoutXbutton", "checkout_button"]),
        ("", "we", []),
        (" button ", "checkout", ["checkout_button"]),
        ("'; DROP TABLE experiment; --", "", []),
    ],
)
def test_the_list_shows_what_is_looked_for(filled: Store, search: str, tag: str, keys: list[str]) -> None:
    found = DashboardData(filled, FastClock()).experiments(1, search, tag)
    assert [line.present.head.key for line in found.lines] == keys and found.n_found == len(keys)
    assert found.tags == [("checkout", 1), ("search", 1), ("web", 2)]


def test_a_search_is_an_address_and_its_text_stays_text(filled: Store) -> None:
    with TestClient(Starlette(routes=routes(render_in_threads(filled, clock=FastClock())))) as browser:
        page = browser.get("/", params={"search": "checkout", "tag": "web"}).text
        document = check(page)
        assert 'value="checkout"' in page and "2 found" in page and "search-order" not in document.text
        chosen = [one for one in document.all("a") if one.get("aria-current") == "true"]
        assert [one["href"] for one in chosen] == ["/?tag=web"]
        evil = '"><script>alert(1)</script>'
        nothing = check(browser.get("/", params={"search": evil}).text)
        assert evil in nothing.text and len(nothing.all("script")) == 1
        assert "No experiment has" in nothing.text
