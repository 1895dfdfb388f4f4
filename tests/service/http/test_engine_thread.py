"""The engine thread: who comes while it works is served together, the store's failures are said, the end is orderly."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.service.http.direct import JSON, Direct, direct
from tests.service.http.served import make_context
from turncoat.service import messages
from turncoat.service.errors import NotFound, Unavailable
from turncoat.service.http import context
from turncoat.service.http.engine_thread import BATCH, EngineThread
from turncoat.service.http.server import Settings
from turncoat.service.messages import Command, Decide, Result, Tell
from turncoat.service.store import StoreDown


class Slow:
    """An engine that takes its time, and remembers."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.worked = 0
        self.refreshed = 0
        self.go = threading.Event()
        self.go.set()
        self.fails: Exception | None = None
        self.threads: set[int] = set()

    def serve(self, commands: Sequence[Command]) -> list[Result]:
        self.threads.add(threading.get_ident())
        self.go.wait(10.0)
        if self.fails is not None:
            raise self.fails
        self.batches.append(len(commands))
        return [
            NotFound("no such")
            if isinstance(one, Decide)
            else messages.Receipt(decision_id=one.decision_id, status="late")
            for one in commands
        ]

    def work(self) -> bool:
        self.threads.add(threading.get_ident())
        self.worked += 1
        return False

    def refresh(self) -> None:
        self.refreshed += 1

    def check_writable(self) -> None:
        if self.fails is not None:
            raise self.fails


def told(number: int) -> Tell:
    return Tell(str(number), messages.Reward(value=1.0))


async def tidy(engine_thread: EngineThread) -> None:
    await engine_thread.close()
    assert not engine_thread.alive


def test_who_comes_while_it_works_is_served_together() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine)
        engine_thread.open()
        engine.go.clear()
        first = engine_thread.submit(told(0))
        await asyncio.sleep(0.05)
        rest = [engine_thread.submit(told(number)) for number in range(1, BATCH + 100)]
        engine.go.set()
        answers = await asyncio.gather(first, *rest)
        assert [one.decision_id for one in answers] == [str(number) for number in range(BATCH + 100)]  # in order
        assert engine.batches == [1, BATCH, 99]
        assert len(engine.threads) == 1 and threading.get_ident() not in engine.threads
        await tidy(engine_thread)

    asyncio.run(story())


def test_an_answer_may_be_a_problem_and_the_others_are_not_held_up() -> None:
    async def story() -> None:
        engine_thread = EngineThread(Slow())
        engine_thread.open()
        waits = engine_thread.submit(Decide("k", messages.Ask())), engine_thread.submit(told(1))
        problem, receipt = await asyncio.gather(*waits)
        assert isinstance(problem, NotFound) and receipt.status == "late"
        await tidy(engine_thread)

    asyncio.run(story())


def test_one_that_gave_up_waiting_holds_up_nobody() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine)
        engine_thread.open()
        engine.go.clear()
        lost, kept = engine_thread.submit(told(1)), engine_thread.submit(told(2))
        lost.cancel()
        engine.go.set()
        assert (await kept).decision_id == "2"
        await tidy(engine_thread)

    asyncio.run(story())


def test_rewards_are_applied_soon_and_now_and_then_anyway() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine)
        engine_thread.open()
        await asyncio.sleep(0.5)
        assert 3 <= engine.worked <= 12  # every 100 ms, on a machine that may be busy
        idle = engine.worked
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            await engine_thread.submit(told(1))
        assert 15 <= engine.worked - idle <= 60  # every 25 ms while rewards come in, not after each batch
        assert sum(engine.batches) > 100
        await tidy(engine_thread)

    asyncio.run(story())


def test_a_front_applies_nothing() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine, applies=False)
        engine_thread.open()
        await asyncio.sleep(0.3)
        await tidy(engine_thread)
        assert engine.worked == 0 and engine.refreshed >= 2

    asyncio.run(story())


def test_the_end_finishes_what_waits_and_applies_it() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine)
        engine_thread.open()
        engine.go.clear()
        waits = [engine_thread.submit(told(number)) for number in range(1000)]
        closing = asyncio.create_task(engine_thread.close())
        await asyncio.sleep(0.05)
        with pytest.raises(Unavailable):
            engine_thread.submit(told(1))
        with pytest.raises(Unavailable):
            await engine_thread.run(lambda: None)
        worked = engine.worked
        engine.go.set()
        await closing
        assert len(await asyncio.gather(*waits)) == 1000
        assert sum(engine.batches) == 1000 and engine.worked > worked
        assert not engine_thread.alive

    asyncio.run(story())


def test_a_mistake_in_a_batch_is_everybody_s_and_the_thread_lives_on() -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine)
        engine_thread.open()
        engine.fails = ZeroDivisionError("a mistake")
        assert isinstance(await engine_thread.submit(told(1)), ZeroDivisionError)
        engine.fails = None
        assert (await engine_thread.submit(told(2))).decision_id == "2"
        with pytest.raises(KeyError):
            await engine_thread.run(lambda: {"a": 1}["b"])
        assert await engine_thread.run(lambda: 7) == 7
        await tidy(engine_thread)

    asyncio.run(story())


class Flaky:
    """Makes a store fail, and lets it come back."""

    def __init__(self, asked: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
        self._store, self._monkeypatch = asked.context.store, monkeypatch

    def down(self) -> None:
        def fails(*_: object) -> object:
            raise StoreDown("the disk is full")

        for name in ("transaction", "reading"):
            self._monkeypatch.setattr(self._store, name, fails)

    def up(self) -> None:
        self._monkeypatch.undo()


def ask_all(asked: Direct) -> dict[str, int]:
    reads = ("experiments", "experiments/e", "experiments/e/state", "experiments/e/log.ndjson", "experiments/e/audit")
    return {
        "decide": asked.post("/v1/experiments/e/decisions", {}).status,
        "reward": asked.post("/v1/decisions/00000000-0000-7000-8000-000000000000/reward", {"value": 1.0}).status,
        "change": asked.ask("PATCH", "/v1/experiments/e", b"{}", JSON).status,
        "create": asked.post("/v1/experiments", {"key": "f", "arms": ["a"]}).status,
        "flag": asked.post("/ofrep/v1/evaluate/flags/e", {}).status,
        "batch": asked.ask(
            "POST", "/v1/rewards", b'{"decision_id":"00000000-0000-7000-8000-000000000000","value":1}',
            {"content-type": "application/x-ndjson"},
        ).status,
        "ready": asked.ask("GET", "/readyz").status,
        "metrics": asked.ask("GET", "/metrics").status,
        **{name: asked.ask("GET", f"/v1/{name}").status for name in reads},
    }  # fmt: skip


def test_while_the_store_is_down_everything_is_refused(asked: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    flaky = Flaky(asked, monkeypatch)
    flaky.down()
    assert set(ask_all(asked).values()) == {503}
    said = asked.post("/v1/experiments/e/decisions", {})
    assert said.headers["retry-after"] == "1" and "the disk is full" in said.json()["detail"]
    assert asked.ask("GET", "/healthz").status == 200
    flaky.up()
    time.sleep(0.6)  # until it has looked again
    assert asked.ask("GET", "/readyz").status == 200
    assert asked.post("/v1/experiments/e/decisions", {}).status == 201
    assert len(asked.ask("GET", "/v1/experiments/e/log.ndjson").body.splitlines()) == 1


def test_a_store_that_stays_down_does_not_fill_the_log(
    asked: Direct, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was said twice a second that keys could not be read, for as long as it took."""
    monkeypatch.setattr(context, "WATCH_EVERY", 0.01)
    Flaky(asked, monkeypatch).down()
    for _ in range(80):  # one wait of the usual length, then many short ones
        time.sleep(0.01)
        asked.ask("GET", "/healthz")
    assert sum("keys could not be read" in record.message for record in caplog.records) == 1


def test_by_choice_decisions_go_on_from_what_was_known_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with direct(make_context(tmp_path, Settings(on_store_down="stale"))) as asked:
        assert asked.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        fresh = asked.post("/v1/experiments/e/decisions", {}).json()
        flaky = Flaky(asked, monkeypatch)
        flaky.down()
        said = asked.post("/v1/experiments/e/decisions", {})
        assert said.status == 200  # nothing was made
        stale = said.json()
        assert (stale["decision_id"], stale["reason"], stale["expires_at"]) == (None, "stale", None)
        assert stale["probabilities"] == fresh["probabilities"] and stale["arm"] in ("a", "b")
        flag = asked.post("/ofrep/v1/evaluate/flags/e", {}).json()
        assert flag["reason"] == "STALE" and "decision_id" not in flag["metadata"]
        assert asked.post("/v1/experiments/nobody/decisions", {}).status in (404, 503)
        others = ask_all(asked)
        assert {name for name, status in others.items() if status == 200} == {"decide", "flag", "ready"}
        flaky.up()
        time.sleep(0.6)
        assert asked.post("/v1/experiments/e/decisions", {}).json()["reason"] == "split"
        assert len(asked.ask("GET", "/v1/experiments/e/log.ndjson").body.splitlines()) == 2  # the stale ones are not


def test_without_its_thread_it_is_not_ready(asked: Direct) -> None:
    assert asked.ask("GET", "/readyz").status == 200
    asked.run(asked.context.engine_thread.close())
    assert asked.ask("GET", "/readyz").status == 503
    assert asked.ask("GET", "/healthz").status == 200
    assert asked.post("/v1/experiments/e/decisions", {}).status == 503


def test_long_looks_hold_up_neither_keys_nor_signs_of_life(asked: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(asked.context.engine, "state", lambda key: go.wait(20.0))

    async def story() -> None:
        looks = [asyncio.create_task(asked.asked("GET", "/v1/experiments/e/state")) for _ in range(20)]
        await asyncio.sleep(0.05)
        began = time.monotonic()
        assert (await asked.asked("GET", "/readyz")).status == 200
        assert (await asked.asked("POST", "/v1/experiments/e/decisions", b"{}", JSON)).status == 201
        await asked.context.query(asked.context.ring.refresh, urgent=True)
        assert time.monotonic() - began < 5.0 and not any(look.done() for look in looks)
        go.set()
        await asyncio.gather(*looks)

    asked.run(story())
