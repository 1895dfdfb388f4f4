"""What pages show, against the same from the raw log; and how much of the log is read for it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.naive import gains as naive
from tests.service.dashboard.history import START, FastClock, History
from turncoat.service import messages
from turncoat.service.dashboard.data import DashboardData, Page
from turncoat.service.dashboard.data.windows import LONGEST, Windows, read_windows
from turncoat.service.dashboard.pages.renderer import Renderer
from turncoat.service.engine import Engine
from turncoat.service.errors import NotFound
from turncoat.service.store import open_store
from turncoat.service.store.interface import DeferredResult, Row, Session, Store

CHANCES = """
    SELECT d.arm, d.propensity, d.reward, COALESCE(d.probabilities, v.probabilities)
    FROM decision d JOIN version v ON v.experiment = d.experiment AND v.version = d.version
    WHERE d.stream = 'learn' AND d.reward IS NOT NULL AND d.decided_at < :until
"""


class Decision(NamedTuple):
    id: str
    arm: str
    propensity: float
    stream: str
    decided_at: float
    outcome: str | None
    reward: float | None
    rewarded_at: float | None


@pytest.fixture(scope="module")
def log(told: History) -> list[Decision]:
    with told.store.reading() as session:
        columns = ", ".join(Decision._fields)
        return [Decision(*row) for row in session.rows(f"SELECT {columns} FROM decision ORDER BY id")]


@pytest.fixture(scope="module")
def page(told: History) -> Page:
    return DashboardData(told.store, told.clock).experiment(told.key)


def rows(log: list[Decision], until: float, stream: str = "learn", since: float = 0.0) -> list[naive.Row]:
    """What an estimate is made of: decisions with a reward, made in this time."""
    return [
        (one.arm, one.propensity, one.reward)
        for one in log
        if one.stream == stream and since <= one.decided_at < until and one.reward is not None
    ]


def end_of(windows: Windows) -> float:
    return windows.begins(windows.n_windows)


def test_only_time_whose_rewards_are_all_in_is_counted(told: History, page: Page, log: list[Decision]) -> None:
    assert page.present.settled == told.clock.at - told.window_s
    assert page.present.settled - page.windows.step < end_of(page.windows) <= page.present.settled
    assert all(one.outcome for one in log if one.decided_at < end_of(page.windows))
    assert not all(one.outcome for one in log)


def test_means_are_those_of_the_log(page: Page, log: list[Decision]) -> None:
    for line in page.arms:
        own = [row for row in rows(log, end_of(page.windows)) if row[0] == line.row.arm]
        assert line.mean is not None
        assert (line.mean.value, line.mean.low, line.mean.high) == pytest.approx(naive.mean_reward(own, 0.0, 1.0))


def test_means_by_window_are_those_of_the_log(page: Page, log: list[Decision]) -> None:
    wide = page.wide_windows
    assert wide.n_windows <= 24 and wide.step % page.windows.step == 0
    for window in range(wide.n_windows):
        period = rows(log, wide.begins(window + 1), since=wide.begins(window))
        for arm, means in page.means.items():
            own, mean = [row for row in period if row[0] == arm], means[window]
            assert (mean is None) == (not own)
            if mean is not None:
                assert (mean.value, mean.low, mean.high) == pytest.approx(naive.mean_reward(own, 0.0, 1.0))
        total = page.own[window]
        assert (total is None) == (not period)
        assert total is None or total.value == pytest.approx(sum(r for _, _, r in period) / len(period))


def test_the_gain_over_control_is_that_of_the_log(told: History, page: Page, log: list[Decision]) -> None:
    """No setting of control's changes, and every request could be control: there is one stratum. All have a unit."""
    with told.store.reading() as session:
        sql = "SELECT unit, reward FROM decision WHERE stream = 'control' AND reward IS NOT NULL"
        units = [(0, int(unit[-4:], 16) % 64, reward) for unit, reward in session.rows(sql)]
    gain, until = page.gains.gains[0], page.gains.until.timestamp()
    strata = [([r for _, _, r in rows(log, until)], [r for _, _, r in rows(log, until, "control")])]
    assert gain.over == "control" and gain.total is not None and not gain.left_out
    truth = naive.gain_over_stream(strata, 0.0, 1.0, naive.clustering(units, [gain.n]))
    assert (gain.total.value, gain.total.low, gain.total.high) == pytest.approx(truth)
    last = page.gained[-1]
    assert last is not None and (last.value, last.low, last.high) == pytest.approx(truth)
    assert page.edges[-1] == until and len(page.edges) == len(page.gained) + 1
    assert page.gains == told.engine.gain(told.key)


def test_gains_over_arms_are_those_of_the_log(told: History, page: Page) -> None:
    """Each is judged by the decisions in which it had a chance of a hundredth. Control measures its own arm."""
    with told.store.reading() as session:
        found = session.rows(CHANCES, until=page.gains.until.timestamp())
    decisions = [(arm, q, r, json.loads(shares)) for arm, q, r, shares in found]
    gains = {one.arm: one for one in page.gains.gains if one.over == "arm"}
    assert set(gains) == {"one-click", "banner", "video"}
    for arm, gain in gains.items():
        own = [row for row in decisions if row[3].get(arm, 0.0) >= 0.01]
        truth = naive.gain_over_arm(
            str(arm), [(one, q, r) for one, q, r, _ in own], [shares[arm] for *_, shares in own], 0.0, 1.0
        )
        assert gain.total is not None and gain.n == len(own)
        assert (gain.total.value, gain.total.low, gain.total.high) == pytest.approx(truth)
        assert sum(left.n for left in gain.left_out) == page.gains.n_learn - gain.n
    assert gains["banner"].n < page.gains.n_learn and gains["video"].n < page.gains.n_learn


def test_a_switch_is_worth_something_only_where_the_interval_says_so(page: Page) -> None:
    assert any(one.worth for one in page.present.path)
    for one in page.present.path:
        assert one.worth is None or (one.worth.is_sure and not one.worth.is_thin and one.left is not None)


def test_switches_are_the_learners_at_about_the_right_time(told: History, page: Page) -> None:
    """The engine dates a switch by when its round was learned, at most a reward window after it was decided."""
    engines = told.engine.switches(told.key)
    ours = [one for one in page.present.path if one.left is not None]
    assert [(one.left, one.arm) for one in ours] == [(one.before, one.after) for one in engines] != []
    for one, other in zip(ours, engines, strict=True):
        assert -page.windows.step <= other.at.timestamp() - one.at <= told.window_s + page.windows.step
    assert page.present.last_switch == ours[-1]


def test_counts_are_those_of_the_log(told: History, page: Page, log: list[Decision]) -> None:
    closed = Counter(one.arm for one in log if one.outcome)
    assert {line.row.arm: line.n for line in page.arms} == closed
    assert {line.row.arm: line.n_open for line in page.arms} == Counter(dict.fromkeys(closed, 0)) | Counter(
        one.arm for one in log if not one.outcome
    )
    assert sum(line.n_rewarded for line in page.arms) == sum(one.outcome == "rewarded" for one in log)
    for outcome in ("rewarded", "defaulted", "expired"):
        assert sum(page.hours[outcome]) == sum(one.outcome == outcome for one in log)
    with told.store.reading() as session:
        found = session.rows("SELECT status, COUNT(*) FROM refused GROUP BY status")
    refused = {str(status): int(n) for status, n in found}
    assert {kind: sum(page.hours[kind]) for kind in refused} == refused and set(refused) >= {"late", "duplicate"}
    step = told.step_s / 600.0  # decisions come a step at a time: ten minutes hold one step more if both ends do
    assert 0.98 <= page.present.pace / (60.0 * told.per_minute) <= 1.02 + step


def test_delays_are_those_of_the_last_decisions(page: Page, log: list[Decision]) -> None:
    waits = sorted(
        one.rewarded_at - one.decided_at for one in log[-2000:] if one.outcome == "rewarded" and one.rewarded_at
    )
    assert page.latest.delays == tuple(waits[int(q * len(waits))] for q in (0.5, 0.9, 0.99))


def test_the_sample_ratio_is_fine_and_would_not_be(told: History, store: Store) -> None:
    assert DashboardData(told.store, told.clock).experiment(told.key).latest.ratio.is_fine
    engine = Engine(store, FastClock())
    engine.create(messages.NewExperiment(key="odd", arms=["a", "b"], floors={"a": 0.4, "b": 0.4}))
    for _ in range(120):
        engine.decide("odd")
    with store.transaction() as session:  # a client that logs another arm than the one it was told
        session.run("UPDATE decision SET arm = 'b'")
    found = DashboardData(store, FastClock()).experiment("odd")
    assert set(found.latest.ratio.odd) == {"a", "b"} and found.latest.ratio.n == 120
    assert any("sample-ratio" in alarm for alarm in found.alarms)


def test_shares_are_versions_found_by_number(told: History, page: Page) -> None:
    assert len(page.shares.times) <= 182 and page.shares.times == sorted(page.shares.times)
    last = dict(zip(page.shares.arms, page.shares.rows[-1], strict=True))
    assert last == {"video": 0.0} | page.present.head.probabilities
    assert all(sum(row) == pytest.approx(1.0) for row in page.shares.rows + page.realised.rows)
    assert [one.event for one in reversed(page.audit) if one.event] == ["video added", "banner paused", "banner active"]


def test_the_list_shows_the_newest_first_and_pages(store: Store) -> None:
    engine = Engine(store, FastClock())
    data = DashboardData(store, FastClock())
    assert data.experiments() == ([], 0, [], [])
    for i in range(27):
        engine.create(messages.NewExperiment(key=f"e{i}", arms=["a", "b"]))
    first, n_found, *_ = data.experiments()
    assert [line.present.head.key for line in first] == [f"e{i}" for i in range(26, 1, -1)] and n_found == 27
    assert [line.present.head.key for line in data.experiments(2).lines] == ["e1", "e0"]
    assert data.experiments(3).lines == []
    with pytest.raises(NotFound):
        data.experiment("nothing")


def test_a_default_that_is_not_there_hides_nothing(store: Store) -> None:
    """Without a default, a decision without a reward says nothing, so rewards count at once."""
    clock = FastClock()
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="quick", arms=["a", "b"], reward_window_s=86_400.0))
    for value in (1.0, 0.0):
        engine.reward(engine.decide("quick").decision_id or "", value)
    engine.work()
    clock.at += 60.0
    page = DashboardData(store, clock).experiment("quick")
    assert page.present.settled == clock.at
    assert sum(mean.effective for line in page.arms if (mean := line.mean)) >= 1.0
    assert page.present.reward is not None and page.present.reward.value == 0.5


def test_alarms(store: Store) -> None:
    clock = FastClock()
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="troubled", arms=["a"], reward_window_s=5.0))
    first, second = (engine.decide("troubled").decision_id or "" for _ in range(2))
    engine.reward(first, 1.0)
    engine.reward(first, 0.0)
    clock.at += 60.0
    engine.reward(second, 1.0)
    engine.change_arm("troubled", "a", messages.ArmChange(state="paused"))
    said = " ".join(DashboardData(store, clock).experiment("troubled").alarms)
    for word in ("waited 60 s", "No arm is active", "1 rewards of the last two hours contradict", "after their window"):
        assert word in said


@pytest.mark.parametrize("default", [None, 0.0])
def test_silence_that_teaches_nothing_is_an_alarm(store: Store, default: float | None) -> None:
    """Who reports successes only, without a default, finds that the arm that never has one is never charged."""
    clock = FastClock()
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="silent", arms=["a"], reward_window_s=5.0, default_reward=default))
    for _ in range(4):
        engine.decide("silent")
    engine.reward(engine.decide("silent").decision_id or "", 1.0)
    clock.at += 6.0
    engine.work()
    said = " ".join(DashboardData(store, clock).experiment("silent").alarms)
    assert ("80% of the last day's decisions ended without a reward" in said) == (default is None)


@pytest.mark.parametrize("age", [0.0, 5.0, 3_000.0, 30_000.0, 300_000.0, 3e6, 3e8])
def test_windows_are_few_and_cover_its_life(store: Store, age: float) -> None:
    with store.reading() as session:
        windows = read_windows(session, 1, START - age, START)
    assert 1 <= windows.n_windows <= 62
    assert windows.begins(0) <= START - min(age, LONGEST) and windows.begins(windows.n_windows) > START
    assert windows.begins(0) > START - min(age, LONGEST) - windows.step


def test_both_stores_show_the_same(postgres_store_url: str, tmp_path: Path) -> None:
    """To the last digit that is shown: sums are added in another order, so their last bits differ."""
    found = list[str]()
    for url in (postgres_store_url, str(tmp_path / "turncoat.db")):
        store = open_store(url)
        told = History(store, hours=1.0, per_minute=6, step_s=60.0, window_s=300.0)
        told.run()
        pages = Renderer(store, clock=told.clock)
        found.append(pages.render("experiment", False, {"key": told.key, "base": ""}))
        found.append(pages.render("experiments", False, {"number": 1, "base": ""}))
        store.close()
    assert found[:2] == found[2:] and "What learning has gained" in found[0]


class Spy:
    """A store that remembers what was asked of it."""

    def __init__(self, store: Store) -> None:
        self._store, self.asked = store, list[tuple[str, dict[str, Any]]]()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._store.reading() as session:
            yield SpySession(session, self.asked)  # type: ignore[misc]


class SpySession:
    def __init__(self, session: Session, asked: list[tuple[str, dict[str, Any]]]) -> None:
        self._session, self._asked = session, asked

    def send(self, sql: str, **values: Any) -> DeferredResult[list[Row]]:
        found = self.rows(sql, **values)
        return lambda: found

    def rows(self, sql: str, **values: Any) -> list[Row]:
        self._asked.append((sql, dict(values)))
        return self._session.rows(sql, **values)


def test_no_query_reads_more_because_the_log_is_longer(told: History) -> None:
    """SQLite's own plans: the large tables are searched by an index, or read up to a limit in the order of one."""
    spy = Spy(told.store)
    data = DashboardData(spy, told.clock)  # type: ignore[arg-type]
    data.experiment(told.key)
    data.experiments()
    assert len(spy.asked) > 20
    large = ("decision", "version", "bucket", "comparison", "refused", "inbox", "learner", "part")
    for sql, values in spy.asked:
        bound = {name: "[1]" if isinstance(value, list) else value for name, value in values.items()}
        plain = sql.replace("IN :versions", "IN (SELECT value FROM json_each(:versions))")
        with told.store.reading() as session:
            plan = [row[3] for row in session.rows(f"EXPLAIN QUERY PLAN {plain}", **bound)]
        scans = [step for step, table in itertools.product(plan, large) if step.startswith(f"SCAN {table}")]
        assert all("USING INDEX" in step and "LIMIT" in sql for step in scans), (sql, plan)
        if any("SEARCH" in step for step in plan) and ("bucket" in sql or "comparison" in sql):
            assert any("start>? AND start<?" in step for step in plan), plan
