"""The list of decisions: every filter against the whole log, pages by key that lose and repeat nothing, downloads."""

from __future__ import annotations

import csv
import io
import itertools
import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.service.dashboard.history import FastClock, History
from tests.service.dashboard.test_pages import Document, check, client
from turncoat.service import messages
from turncoat.service.dashboard.data import decisions
from turncoat.service.dashboard.data.decisions import Filter, find_decisions
from turncoat.service.dashboard.pages import downloads, routes
from turncoat.service.dashboard.pages.renderer import render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.store.interface import Store


def pages(store: Store, wanted: Filter, limit: int) -> list[str]:
    """The ids on all pages, which must come to an end."""
    found: list[str] = []
    before: str | None = None
    for _ in range(10_000):
        with store.reading() as session:
            some, before = find_decisions(session, wanted, limit, before)
        assert len(some) <= limit
        found += [one.decision_id for one in some]
        if before is None:
            return found
    raise AssertionError("the pages do not end")


def passes(wanted: Filter, one: messages.LogLine) -> bool:
    at = one.decided_at.timestamp()
    named = all(
        getattr(wanted, name) in (None, getattr(one, name)) for name in ("experiment", "arm", "stream", "outcome")
    )
    return named and (wanted.since is None or at >= wanted.since) and (wanted.until is None or at < wanted.until)


@pytest.fixture
def many(store: Store) -> tuple[Store, list[messages.LogLine]]:
    """Two experiments, all streams and outcomes, and ids that callers chose, which do not begin with the time."""
    clock, chance = FastClock(), random.Random(3)
    engine = Engine(store, clock)
    for key, default in (("one", 0.0), ("two", None)):
        engine.create(
            messages.NewExperiment(
                key=key,
                arms=["a", "=b", "c"],
                reward_window_s=100.0,
                default_reward=default,
                control=messages.Control(arm="a", share=0.3),
                holdout_share=0.2,
            )
        )
    for i in range(150):
        clock.at += 3.0
        own = f"{chance.getrandbits(128):032x}" if i % 5 == 0 else None
        own = own and f"{own[:8]}-{own[8:12]}-4{own[13:16]}-8{own[17:20]}-{own[20:]}"
        made = engine.decide("one" if i % 3 else "two", unit_id=f"unit-{i}", decision_id=own)
        if chance.random() < 0.5:
            engine.reward(made.decision_id or "", chance.random())
        engine.work()
    return store, [line for key in ("one", "two") for line in engine.log(key)]


def test_every_filter_finds_what_the_log_has(
    many: tuple[Store, list[messages.LogLine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCANNED is small here, so that pages end without being full, and are followed by others."""
    store, log = many
    times = sorted(one.decided_at.timestamp() for one in log)
    choices: dict[str, list[Any]] = {
        "experiment": [None, "one", "two", "nobody"],
        "arm": [None, "=b"],
        "stream": [None, "control", "holdout"],
        "outcome": [None, "open", "rewarded", "defaulted", "expired"],
        "since": [None, times[40]],
        "until": [None, times[90]],
    }
    seen = set()
    monkeypatch.setattr(decisions, "SCANNED", 40)
    for values in itertools.product(*choices.values()):
        wanted = Filter(**dict(zip(choices, values, strict=True)))
        expected = sorted((one.decision_id for one in log if passes(wanted, one)), reverse=True)
        assert pages(store, wanted, 7) == expected, wanted
        seen.add(len(expected))
    assert len(seen) > 20


def test_a_page_looks_at_so_many_and_says_where_to_go_on(
    many: tuple[Store, list[messages.LogLine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, log = many
    monkeypatch.setattr(decisions, "SCANNED", 40)
    with store.reading() as session:
        found = find_decisions(session, Filter(arm="nobody"), 50)
    assert (found.decisions, found.older) == ([], sorted((one.decision_id for one in log), reverse=True)[39])
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=FastClock())))) as browser:
        page = browser.get("/decisions?arm=nobody").text
    assert "None among the" in Document(page).text and f"arm=nobody&amp;before={found.older}" in page


def test_the_list_shows_no_unit_and_leads_on(many: tuple[Store, list[messages.LogLine]]) -> None:
    store, log = many
    units = {one.unit for one in log if one.unit}
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=FastClock())))) as browser:
        page = browser.get("/decisions", params={"experiment": "one", "arm": "=b"}).text
        rest = [browser.get(f"/decisions.{kind}").text for kind in downloads.MEDIA]
        assert len(units) > 100 and not any(unit in text for unit in units for text in (page, *rest))
        first = check(browser.get("/decisions").text)
        (older,) = [one["href"] for one in first.all("a") if one.get("rel") == "next"]
        shown = [one["href"] for one in first.all("a") if one["href"].startswith("/decisions?id=")]
        more = check(browser.get(older).text)
        assert len(shown) == 50 and len([one for one in more.all("a") if "?id=" in one["href"]]) == 50
        assert not {one["href"] for one in more.all("a") if "?id=" in one["href"]} & set(shown)


def test_downloads_hold_all_that_is_filtered(
    many: tuple[Store, list[messages.LogLine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, log = many
    monkeypatch.setattr(downloads, "AT_ONCE", 9)
    expected = sorted((one for one in log if one.experiment == "one"), key=lambda one: one.decision_id, reverse=True)
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=FastClock())))) as browser:
        lines = browser.get("/decisions.ndjson?experiment=one")
        table = browser.get("/decisions.csv?experiment=one")
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert lines.headers["content-disposition"] == 'attachment; filename="decisions.ndjson"'
    for text, one in zip(lines.text.splitlines(), expected, strict=True):
        line, whole = msgspec.json.decode(text), msgspec.to_builtins(one)
        assert whole.pop("unit") and line == whole
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["decision_id"] for row in rows] == [one.decision_id for one in expected]
    for row, one in zip(rows, expected, strict=True):
        assert row["arm"] == one.arm.replace("=b", "'=b")  # a spreadsheet would compute it
        assert float(row["propensity"]) == one.propensity and row["outcome"] == one.outcome
        assert (float(row["reward"]) if row["reward"] else None) == one.reward


@pytest.mark.parametrize(("field", "value"), [("since", "yesterday"), ("stream", "all"), ("outcome", "won")])
def test_a_filter_that_cannot_be_read_is_said_beside_the_field(told: History, field: str, value: str) -> None:
    with client(told.store, told) as browser:
        answer = browser.get("/decisions", params={field: value, "arm": "<b>"})
        document = check(answer.text)
        (wrong,) = [one for _, one in document.elements if one.get("aria-invalid")]
        assert wrong["name"] == field and f'id="{wrong["aria-describedby"]}"' in answer.text
        assert "Accepted is" in document.text
        assert browser.get("/decisions.csv", params={field: value}).status_code == 422


def test_times_are_read_as_utc(told: History) -> None:
    at = told.clock.at - 1_800.0
    with client(told.store, told) as browser:
        lines = browser.get(
            f"/decisions.ndjson?since={datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"
        ).text.splitlines()
    expected = [one for one in told.engine.log(told.key) if one.decided_at.timestamp() >= at]
    assert len(lines) == len(expected) > 100
