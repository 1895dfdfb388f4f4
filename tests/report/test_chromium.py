"""The page in a real browser: it draws every figure, logs nothing to the console, and makes no network request."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.report.chromium import Chromium, find
from tests.report.sample import crowd, in_games, some_games
from turncoat.report import Frames, report, write
from turncoat.report.page import MANY_GAMES

PATH = find()
READY = "document.body !== null && document.body.dataset.ready === 'yes'"
WHY = "there is no Chromium here (Debian: apt-get install chromium); with CI=true, make test installs it for root"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(PATH is None, reason=WHY)]


@pytest.fixture(scope="module")
def page(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all figures, each of two games, without pictures beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "pictures", lambda spec: {})
        return report(some_games(frames, "flip/3", "drift/2"), tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_opens_without_an_error_or_a_request(page: Path, dark: bool) -> None:
    with Chromium(PATH or "", dark=dark) as browser:
        browser.open(page)
        browser.wait(READY)
        assert browser.evaluate("document.querySelectorAll('.figure svg.marks').length") == 10
        assert browser.evaluate("[...document.querySelectorAll('svg.marks')].every(f => f.clientHeight > 50)")
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(22, 24, 28)" if dark else "rgb(255, 255, 255)")
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert browser.errors == []
        assert browser.requests == [page.as_uri()]


def test_a_click_on_a_learner_dims_the_others_everywhere(page: Path) -> None:
    lines = "[...document.querySelectorAll('[data-figure=regret] .mark-line path')]"
    faint = f"{lines}.map(line => line.getAttribute('stroke-opacity'))"
    with Chromium(PATH or "") as browser:
        browser.open(page)
        browser.wait(READY)
        assert set(browser.evaluate(faint)) == {"1"}
        browser.evaluate("document.querySelector('[data-learner=exp3]').click()")
        browser.wait(f"{faint}.filter(o => o === '0.08').length === 10 && {faint}.filter(o => o === '1').length === 2")
        browser.evaluate("document.querySelector('[data-learner=exp3]').click()")
        browser.wait(f"{faint}.every(o => o === '1')")
        assert browser.errors == []


@pytest.mark.usefixtures("page_alone")
def test_regret_below_zero_leaves_the_panel_without_a_complaint(frames: Frames, tmp_path: Path) -> None:
    """A log axis has no place for it: a marker at "NaN" would be an error on the console."""
    assert frames.traces is not None
    sunk = pl.when(pl.col("learner") == "exp3").then(pl.col("regret") - 60).otherwise(pl.col("regret"))
    one = frames.games.filter(pl.col("environment") == "flip/3")
    traces = frames.traces.with_columns(sunk.alias("regret"))
    page = report(Frames(one, frames.leaderboard, traces=traces), tmp_path)
    with Chromium(PATH or "") as browser:
        browser.open(page)
        browser.wait(READY)
        assert browser.errors == []
        assert not browser.evaluate("[...document.querySelectorAll('.figure')].some(f => f.innerHTML.includes('NaN'))")


@pytest.mark.usefixtures("page_alone")
def test_the_rest_of_thirty_learners_is_one_click_away(frames: Frames, tmp_path: Path) -> None:
    many = crowd(frames, 30)
    one = many.games.filter(pl.col("environment") == "flip/3")
    page = report(Frames(one, many.leaderboard, traces=many.traces), tmp_path)
    lines = "document.querySelectorAll('[data-figure=regret] .mark-line path').length"
    shown = "[...document.querySelectorAll('.standings tbody tr')].filter(row => row.checkVisibility()).length"
    with Chromium(PATH or "") as browser:
        browser.open(page)
        browser.wait(READY)
        assert (browser.evaluate(lines), browser.evaluate(shown)) == (12, 12)
        browser.evaluate("document.getElementById('more').click()")
        browser.wait(f"{READY} && {lines} === 30")
        assert browser.evaluate(shown) == 30
        assert browser.errors == [] and browser.requests == [page.as_uri()]


@pytest.mark.usefixtures("page_alone")
def test_figures_of_many_games_are_drawn_when_they_are_opened(frames: Frames, tmp_path: Path) -> None:
    many = in_games(frames, MANY_GAMES + 1)
    page = report(Frames(many.games, many.leaderboard, traces=many.traces, times=many.times), tmp_path)
    drawn = (
        "[...document.querySelectorAll('.figure')].filter(f => f.querySelector('svg.marks')).map(f => f.dataset.figure)"
    )
    with Chromium(PATH or "") as browser:
        browser.open(page)
        browser.wait(READY)
        assert browser.evaluate(drawn) == ["leaderboard", "time"]
        browser.evaluate("document.querySelector('#regret details').open = true")
        browser.wait(f"{READY} && {drawn}.includes('regret')")
        assert browser.evaluate(drawn) == ["leaderboard", "regret", "time"]
        assert browser.evaluate("document.querySelector('#regret svg.marks').clientHeight > 50")
        assert browser.errors == [] and browser.requests == [page.as_uri()]


def test_this_would_hear_an_error_and_a_request(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<body data-ready='yes'><img src='http://127.0.0.1:9/x.png'><script>nobody();</script>")
    with Chromium(PATH or "") as browser:
        browser.open(page)
        browser.wait(READY)
        browser.wait("document.images[0].complete")
        assert "http://127.0.0.1:9/x.png" in browser.requests
        assert any("nobody is not defined" in error for error in browser.errors)
