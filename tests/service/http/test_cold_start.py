"""While the compiler is being loaded the service decides from what is stored; what needs a learner waits for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.http.direct import JSON, Direct, Said, direct
from tests.service.http.test_engine_thread import Slow, tidy, told
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.http.context import AppContext
from turncoat.service.http.engine_thread import EngineThread
from turncoat.service.http.server import Settings
from turncoat.service.store import open_store

DECISIONS = "/v1/experiments/e/decisions"
SOME = b'{"allowed_arms": ["a", "b"]}'


@pytest.fixture
def loaded() -> threading.Event:
    return threading.Event()


@pytest.fixture
def cold(tmp_path: Path, loaded: threading.Event) -> Iterator[Direct]:
    """A service that has just begun, with an experiment from before."""
    store = open_store(str(tmp_path / "turncoat.db"))
    engine = Engine(store)
    engine.create(messages.NewExperiment(key="e", arms=["a", "b", "c"]))
    with direct(AppContext(engine, store, Settings(), is_loaded=loaded.is_set)) as asked:
        yield asked
        loaded.set()


def test_it_decides_and_takes_rewards_before_it_learns(cold: Direct, loaded: threading.Event) -> None:
    assert cold.ask("GET", "/readyz").status == 200
    decided = cold.post(DECISIONS, {}).json()
    assert cold.post(f"/v1/decisions/{decided['decision_id']}/reward", {"value": 1.0}).json()["status"] == "accepted"
    time.sleep(0.3)  # three looks at rewards
    assert cold.ask("GET", "/v1/experiments/e").json()["version"] == 1
    loaded.set()
    until = time.monotonic() + 10.0
    while cold.ask("GET", "/v1/experiments/e").json()["version"] == 1:
        assert time.monotonic() < until, "the reward was not learned"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("POST", DECISIONS, SOME, 201),
        ("POST", "/v1/experiments", b'{"key": "f", "arms": ["a"]}', 201),
        ("PATCH", "/v1/experiments/e", b'{"default_reward": 0.5}', 200),
        ("POST", "/v1/experiments/e/arms", b'{"arm": "d"}', 201),
        ("PATCH", "/v1/experiments/e/arms/a", b'{"state": "paused"}', 200),
        ("GET", "/v1/experiments/e/state", b"", 200),
        ("GET", "/v1/experiments/e/switches", b"", 200),
    ],
)
def test_what_needs_a_learner_waits_and_holds_up_nobody(
    cold: Direct, loaded: threading.Event, method: str, target: str, body: bytes, status: int
) -> None:
    async def story() -> Said:
        waiting = asyncio.create_task(cold.asked(method, target, body, JSON))
        await asyncio.sleep(0.1)
        assert (await cold.asked("POST", DECISIONS, b"{}", JSON)).status == 201
        assert (await cold.asked("GET", "/readyz")).status == 200
        assert not waiting.done()
        loaded.set()
        return await waiting

    said: Said = cold.run(story())
    assert said.status == status


def test_the_engine_thread_only_refreshes_until_learners_are_loaded(loaded: threading.Event) -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine, is_loaded=loaded.is_set)
        engine_thread.open()
        async with asyncio.timeout(10.0):
            while engine.refreshed < 3:
                await asyncio.sleep(0.01)
            assert engine.worked == 0
            loaded.set()
            while not engine.worked:
                await asyncio.sleep(0.01)
        await tidy(engine_thread)

    asyncio.run(story())


def test_a_service_that_ends_before_learners_are_loaded_learns_at_its_next_start(loaded: threading.Event) -> None:
    async def story() -> None:
        engine = Slow()
        engine_thread = EngineThread(engine, is_loaded=loaded.is_set)
        engine_thread.open()
        assert (await engine_thread.submit(told(1))).decision_id == "1"
        await tidy(engine_thread)
        assert engine.worked == 0

    asyncio.run(story())


def test_a_plain_decision_does_without_the_compiler(tmp_path: Path) -> None:
    path = str(tmp_path / "turncoat.db")
    store = open_store(path)
    Engine(store).create(messages.NewExperiment(key="e", arms=["a", "b", "c"]))
    store.close()
    code = f"""
import sys
from turncoat.service.engine import Engine
from turncoat.service.store import open_store
engine = Engine(open_store({path!r}))
seen = ["numba" in sys.modules]
for ask in ({{}}, {{"unit_id": "u", "sticky": True}}, {{"allowed_arms": ["a", "b"]}}):
    decided = engine.decide("e", **ask)
    engine.reward(decided.decision_id, 1.0)
    seen.append("numba" in sys.modules)
print(*seen)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False", "True"]
