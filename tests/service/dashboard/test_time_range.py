"""The time shown: the last hour counts the last hour alone; before the first full window nothing is extrapolated."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.service.dashboard.history import START, FastClock, History
from tests.service.dashboard.test_pages import Document, check, client
from turncoat.service import messages
from turncoat.service.dashboard.data import DashboardData
from turncoat.service.dashboard.pages import routes
from turncoat.service.dashboard.pages.renderer import render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.store.interface import Store


def test_the_last_hour_counts_the_last_hour_alone(told: History) -> None:
    data = DashboardData(told.store, told.clock)
    whole, hour = data.experiment(told.key), data.experiment(told.key, "hour")
    now = told.clock.at
    assert hour.begin == now - 3600.0 and whole.begin < hour.begin
    log = list(told.engine.log(told.key))
    decided = [
        one for one in log if one.decided_at.timestamp() >= hour.windows.start and one.applied_version is not None
    ]
    assert 0 < sum(line.n for line in hour.arms) == len(decided) < sum(line.n for line in whole.arms)
    settled = [
        one
        for one in log
        if one.stream == "learn" and hour.edges[0] <= one.decided_at.timestamp() < hour.gains.until.timestamp()
    ]
    assert hour.begin - 60.0 < hour.edges[0] <= hour.begin
    own = hour.gains.gains[0]
    assert own.n == len(settled)  # the gain is of these decisions
    assert hour.shares.times[0] == hour.begin and hour.shares.times == sorted(hour.shares.times)
    last, first = told.engine.timeline(told.key), hour.shares.rows[0]
    served = [point for point in last if point.at.timestamp() <= hour.begin][-1].probabilities
    assert dict(zip(hour.shares.arms, first, strict=True)) == {arm: served.get(arm, 0.0) for arm in hour.shares.arms}


def test_a_range_longer_than_its_life_is_all_of_it(told: History) -> None:
    data = DashboardData(told.store, told.clock)
    assert data.experiment(told.key, "day")[1:] == data.experiment(told.key)[1:]


def test_the_range_is_an_address(told: History) -> None:
    with client(told.store, told) as browser:
        pages = {
            name: browser.get(f"/experiments/{told.key}?range={name}").text for name in ("hour", "week", "x", "all")
        }
        for name, page in pages.items():
            document = check(page)
            current = [one["href"] for one in document.all("a") if one.get("aria-current") == "true"]
            kept = "" if name in ("x", "all") else f"?range={name}"
            assert current == [f"/experiments/{told.key}{kept}"]
    assert "The last hour: charts" in pages["hour"] and "The last hour: charts" not in pages["all"]
    assert "banner paused" not in pages["hour"].split('id="rewards"')[0]  # its mark lies before
    assert "banner paused" in pages["all"].split('id="rewards"')[0]


@pytest.mark.parametrize("begun", [0.0, 3.0])
def test_the_first_seconds_wait_for_the_first_full_window(store: Store, begun: float) -> None:
    """Two decisions in the first second were shown as 7,200 an hour, and one reward as a mean of 1."""
    clock = FastClock(START + begun)
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="new", arms=["a", "b"], control=messages.Control(arm="a", share=0.5)))
    for _ in range(8):
        engine.reward(engine.decide("new").decision_id or "", 1.0)
    engine.work()
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=clock)))) as browser:
        clock.at += 1.0
        for address in ("/experiments/new", "/"):
            text = Document(browser.get(address).text).text
            assert "waiting for the first full window" in text
            assert not any(odd in text for odd in ("28,800", "1.00", "100\N{NO-BREAK SPACE}%  "))
        shown = Document(browser.get("/experiments/new").text)
        assert "Gain over" not in shown.text and "Control, last hour" not in shown.text
        clock.at = START + (10.0 if begun == 0.0 else 20.0)
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=clock)))) as browser:
        for address in ("/experiments/new", "/"):
            text = Document(browser.get(address).text).text
            assert "waiting for the first full window" not in text and "1.00" in text
