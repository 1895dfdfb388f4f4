"""Readiness is the store's and the engine's; a damaged experiment says so itself; a hanging store holds up no one."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.service.experiments.damaging import damage_learner, damage_settings
from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import serving
from tests.service.http.test_engine_thread import Flaky, Slow, told
from tests.service.http.test_metrics import figures
from turncoat.service import client as client_module
from turncoat.service import messages
from turncoat.service.client import Client
from turncoat.service.engine import Engine
from turncoat.service.errors import Unavailable
from turncoat.service.experiments.repair import repair
from turncoat.service.http.app import PATIENCE
from turncoat.service.http.context import AppContext
from turncoat.service.http.deadlines import Deadlines, Submitted
from turncoat.service.http.engine_thread import EngineThread
from turncoat.service.http.server import Settings
from turncoat.service.messages import Decide, Result
from turncoat.service.store import Session, StoreDown, open_store

DEADLINE = 1.0
DECISIONS = "/v1/experiments/e/decisions"


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


# --- a damaged experiment ---


@pytest.fixture
def store_with_two(store_url: str) -> str:
    """`broken` and `e`, which have learned; a reward of `broken` waits."""
    store = open_store(store_url)
    engine = Engine(store)
    for key in ("broken", "e"):
        engine.create(messages.NewExperiment(key=key, arms=["a", "b"]))
        engine.reward(str(engine.decide(key).decision_id), 1.0)
    engine.work()
    engine.reward(str(engine.decide("broken").decision_id), 1.0)
    store.close()
    return store_url


@contextmanager
def damaged(url: str, how: Callable[[Session, int], None]) -> Iterator[Direct]:
    """A service that begins after the damage was done."""
    store = open_store(url)
    with store.transaction() as session:
        how(session, 1)
    with direct(AppContext(Engine(store), store, Settings(database=url, deadline_s=60.0))) as asked:
        yield asked


def test_a_damaged_learner_is_shown_where_it_is(store_with_two: str) -> None:
    """/readyz of the whole service was 503: 'applying failed; see the log'."""
    with damaged(store_with_two, damage_learner) as asked:
        until(lambda: figures(asked)["turncoat_damaged_experiments", "learner"] == 1.0)
        assert (asked.ask("GET", "/readyz").status, asked.ask("GET", "/readyz").json()) == (200, {"status": "ready"})
        shown = asked.ask("GET", "/v1/experiments/broken").json()["damage"]
        assert shown["part"] == "learner" and "turncoat repair broken" in shown["detail"]
        assert [one["damage"] is None for one in asked.ask("GET", "/v1/experiments").json()] == [False, True]
        assert asked.post("/v1/experiments/broken/decisions", {}).status == 201
        for refused in (
            asked.post("/v1/experiments/broken/decisions", {"allowed_arms": ["a"]}),
            asked.ask("GET", "/v1/experiments/broken/state"),
            asked.ask("PATCH", "/v1/experiments/broken", b'{"holdout_share": 0.1}', JSON),
        ):
            problem = refused.json()
            assert refused.status == 503 and problem["type"] == "urn:turncoat:problem:damaged", problem
            assert "'broken'" in problem["detail"] and "turncoat repair broken" in problem["detail"]
            assert "retry-after" not in refused.headers
        one = asked.post(DECISIONS, {}).json()["decision_id"]
        assert asked.post(f"/v1/decisions/{one}/reward", {"value": 1.0}).status == 202
        until(lambda: asked.ask("GET", f"/v1/decisions/{one}").json()["outcome"] == "rewarded")
        page = asked.run(asked.context.pages.render("experiment", False, {"key": "broken", "base": ""}))
        assert page.count("turncoat repair broken") == 1 and "It does not learn: " in page
        repair(asked.context.store, time.time(), "broken")
        until(lambda: asked.ask("GET", "/v1/experiments/broken/state").status == 200)
        until(lambda: asked.ask("GET", "/v1/experiments/broken/state").json()["pending_rewards"] == 0)
        assert asked.ask("GET", "/v1/experiments/broken").json()["damage"] is None
        assert figures(asked)["turncoat_damaged_experiments", "learner"] == 0.0


def test_settings_that_cannot_be_read_are_one_experiment_s(store_with_two: str) -> None:
    """The service did not start."""
    with damaged(store_with_two, damage_settings) as asked:
        until(lambda: figures(asked)["turncoat_damaged_experiments", "settings"] == 1.0)
        assert asked.ask("GET", "/readyz").status == 200
        assert [one["key"] for one in asked.ask("GET", "/v1/experiments").json()] == ["e"]
        for refused in (
            asked.ask("GET", "/v1/experiments/broken"),
            asked.post("/v1/experiments/broken/decisions", {}),
            asked.post("/ofrep/v1/evaluate/flags/broken", {}),
        ):
            assert refused.status == 503 and "turncoat repair broken" in refused.body.decode()
        flags = asked.post("/ofrep/v1/evaluate/flags", {}).json()["flags"]
        assert [flag["key"] for flag in flags] == ["e"]
        page = asked.run(asked.context.pages.render("experiments", False, {"number": 1, "base": ""}))
        assert page.count("turncoat repair broken") == 1 and 'href="/experiments/e"' in page


# --- a store that is down ---


def test_what_still_decides_is_sent_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stale decisions were answered 200 while /readyz said 503, so that no balancer sent any."""
    for choice, status in (("stale", 200), ("refuse", 503)):
        folder = tmp_path / choice
        folder.mkdir()
        store = open_store(str(folder / "t.db"))
        settings: Any = {"on_store_down": choice}
        with direct(AppContext(Engine(store), store, Settings(**settings))) as asked, monkeypatch.context() as patch:
            assert asked.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
            assert asked.ask("GET", "/readyz").json() == {"status": "ready"}
            Flaky(asked, patch).down()
            assert asked.post(DECISIONS, {}).status == status
            said = asked.ask("GET", "/readyz")
            assert said.status == status
            assert "the disk is full" in said.json()["detail"]
            assert choice == "refuse" or said.json()["status"] == "degraded, deciding"
            asked.run(asked.context.engine_thread.close())
            assert asked.ask("GET", "/readyz").status == 503  # nothing decides


def test_a_store_that_can_only_be_read_is_down_until_it_can_be_written(
    asked: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, a lock: the applier's passes, which found nothing to write, said that all was well again."""

    def fails() -> object:
        raise StoreDown("the disk is full")

    monkeypatch.setattr(asked.context.store, "transaction", fails)
    assert asked.post(DECISIONS, {}).status == 503
    for _ in range(30):
        assert asked.ask("GET", "/readyz").status == 503
        time.sleep(0.05)
    monkeypatch.undo()
    until(lambda: asked.ask("GET", "/readyz").status == 200)


def test_an_applier_is_not_ready_without_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "t.db"))
    with direct(AppContext(Engine(store), store, Settings(on_store_down="stale", role="applier"))) as asked:
        Flaky(asked, monkeypatch).down()
        assert asked.ask("GET", "/readyz").status == 503
        monkeypatch.undo()


# --- a store that hangs ---


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Another program has locked what decisions are written to."""
    if "://" in url:
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE decision IN SHARE MODE")
            yield
    else:
        with contextlib.closing(sqlite3.connect(url, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield


@contextmanager
def hanging(url: str, **settings: Any) -> Iterator[tuple[Direct, contextlib.AbstractContextManager[None]]]:
    """A service with an experiment, and what locks its store."""
    chosen = Settings(database=url, deadline_s=DEADLINE, **settings)
    store = open_store(url, patience=PATIENCE * DEADLINE)
    engine = Engine(store)
    engine.create(messages.NewExperiment(key="e", arms=["a", "b"]))
    with direct(AppContext(engine, store, chosen)) as asked:
        asked.post(DECISIONS, {})
        yield asked, locked(url)


def all_at_once(asked: Direct, n: int = 6) -> list[tuple[float, Any]]:
    """How long each of some callers waited, and what each was answered, one of them asked every 0.2 seconds."""

    async def one(i: int) -> tuple[float, Any]:
        await asyncio.sleep(0.2 * i)
        began = time.monotonic()
        said = await asked.asked("POST", DECISIONS, b"{}", {**JSON, "idempotency-key": f"k{i}"})
        return time.monotonic() - began, said

    async def story() -> list[tuple[float, Any]]:
        return list(await asyncio.gather(*(one(i) for i in range(n))))

    found: list[tuple[float, Any]] = asked.run(story())
    return found


def test_who_finds_the_store_locked_is_answered_within_the_deadline(store_url: str) -> None:
    """Callers were held for 9 s."""
    with hanging(store_url) as (asked, lock):
        with lock:
            answers = all_at_once(asked)
            assert max(waited for waited, _ in answers) < 1.5 * DEADLINE
            for _, said in answers:
                assert said.status == 503 and said.headers["retry-after"] == "1"
                assert said.json()["type"] == "urn:turncoat:problem:unavailable"
            began = time.monotonic()
            assert asked.ask("GET", "/readyz").status == 503 and time.monotonic() - began < 2.5
            change = asked.ask("PATCH", "/v1/experiments/e", b'{"holdout_share": 0.1}', JSON)
            assert change.status == 503
        until(lambda: asked.ask("GET", "/readyz").status == 200, 30.0)
        again = [asked.post(DECISIONS, {}, **{"idempotency-key": f"k{i}"}) for i in range(6)]
        twice = [asked.post(DECISIONS, {}, **{"idempotency-key": f"k{i}"}) for i in range(6)]
        assert [one.body for one in again] == [one.body for one in twice]
        log = asked.ask("GET", "/v1/experiments/e/log.ndjson").body.splitlines()
        assert len(log) == 1 + 6  # nothing twice, and nothing of those that were refused


def test_while_the_store_is_locked_decisions_may_be_stale(store_url: str) -> None:
    with hanging(store_url, on_store_down="stale") as (asked, lock), lock:
        for waited, said in all_at_once(asked):
            assert waited < 1.5 * DEADLINE
            assert said.status == 200 and said.json()["reason"] == "stale" and said.json()["decision_id"] is None
        said = asked.ask("GET", "/readyz")
        assert said.status == 200 and said.json()["status"] == "degraded, deciding"


def test_on_a_socket_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where decisions go from the parser to the engine thread, without ASGI: the engine hangs, and comes back."""
    go = threading.Event()
    store = open_store(str(tmp_path / "t.db"))
    context = AppContext(Engine(store), store, Settings(deadline_s=0.5))
    context.engine.create(messages.NewExperiment(key="e", arms=["a", "b"]))
    serve = context.engine.serve
    with serving(context) as served, Client(served.url) as client:
        monkeypatch.setattr(context.engine, "serve", lambda commands: (go.wait(20.0), serve(commands))[1])
        monkeypatch.setattr(client_module, "TRIES", 1)
        for _ in range(3):  # the first is being recorded meanwhile, the others never are
            began = time.monotonic()
            with pytest.raises(Unavailable, match=r"no answer within 0\.5 s"):
                client.decide("e", idempotency_key="k")
            assert time.monotonic() - began < 1.0
        go.set()
        decided = client.decide("e", idempotency_key="k")
        assert [line.decision_id for line in client.log("e")] == [decided.decision_id]


class Late(Slow):
    """Says when it has begun a batch, and answers decisions."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.served: list[Any] = []

    def serve(self, commands: Any) -> list[Result]:
        self.begun.set()
        done = super().serve(commands)
        self.served += commands
        return done


def test_what_was_not_begun_by_its_deadline_is_never_recorded() -> None:
    async def story() -> None:
        engine = Late()
        engine_thread = EngineThread(engine, deadline=0.2)
        engine_thread.open()
        engine.go.clear()
        begun = engine_thread.submit(told(1))
        await asyncio.to_thread(engine.begun.wait, 10.0)
        waiting = engine_thread.submit(Decide("k", messages.Ask()))
        ran: list[int] = []
        change = engine_thread.submit(lambda: ran.append(1))
        gone = engine_thread.submit(told(2))
        gone.cancel()  # its caller does not wait for the answer
        for answer in await asyncio.gather(begun, waiting):
            assert isinstance(answer, Unavailable) and "no answer within 0.2 s" in answer.detail
        with pytest.raises(Unavailable, match="whether it was recorded is not known"):
            await change
        engine.go.set()
        assert (await engine_thread.submit(told(3))).decision_id == "3"
        assert [one.decision_id for one in engine.served] == ["1", "2", "3"] and ran == []
        await engine_thread.close()

    asyncio.run(story())


def test_each_is_answered_at_its_own_deadline() -> None:
    async def story() -> None:
        late: list[Any] = []

        def answer(one: Submitted) -> None:
            late.append(one.work)
            one.receiver.set_result(None)

        deadlines = Deadlines(0.4, answer)
        loop = asyncio.get_running_loop()
        deadlines.open(loop)
        futures = [loop.create_future() for _ in range(3)]
        works: list[Any] = [0, 1, 2]
        for work, future in zip(works, futures, strict=True):
            deadlines.add(work, future)
            await asyncio.sleep(0.1)
        futures[1].set_result(None)
        await futures[0]
        assert late == [0]
        await futures[2]
        assert late == [0, 2]
        deadlines.close()
        assert not deadlines._waiting

    asyncio.run(story())


def test_a_long_query_is_not_cut_while_the_store_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "t.db"))
    with direct(AppContext(Engine(store), store, Settings(deadline_s=0.4))) as asked:

        def slow() -> list[messages.Experiment]:
            time.sleep(1.0)
            return []

        monkeypatch.setattr(asked.context.engine, "experiments", slow)
        assert asked.ask("GET", "/v1/experiments").status == 200
        monkeypatch.setattr(asked.context.engine, "read", lambda *_: time.sleep(1.0))  # now it does not
        began = time.monotonic()
        assert asked.ask("GET", "/v1/experiments").status == 503
        assert time.monotonic() - began < 0.9
