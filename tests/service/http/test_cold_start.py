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
from turncoat.service.http.context import Office
from turncoat.service.http.engine_thread import Desk
from turncoat.service.http.settings import Settings
from turncoat.service.store import open_store

DECISIONS = "/v1/experiments/e/decisions"
SOME = b'{"allowed_arms": ["a", "b"]}'


@pytest.fixture
def warmth() -> threading.Event:
    return threading.Event()


@pytest.fixture
def cold(tmp_path: Path, warmth: threading.Event) -> Iterator[Direct]:
    """A service that has just begun, with an experiment from before."""
    store = open_store(str(tmp_path / "turncoat.db"))
    engine = Engine(store)
    engine.create(messages.NewExperiment(key="e", arms=["a", "b", "c"]))
    with direct(Office(engine, store, Settings(), is_warm=warmth.is_set)) as asked:
        yield asked
        warmth.set()


def test_it_decides_and_takes_rewards_before_it_learns(cold: Direct, warmth: threading.Event) -> None:
    assert cold.ask("GET", "/readyz").status == 200
    decided = cold.post(DECISIONS, {}).json()
    assert cold.post(f"/v1/decisions/{decided['decision_id']}/reward", {"value": 1.0}).json()["status"] == "accepted"
    time.sleep(0.3)  # three looks at rewards
    assert cold.ask("GET", "/v1/experiments/e").json()["version"] == 1
    warmth.set()
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
    cold: Direct, warmth: threading.Event, method: str, target: str, body: bytes, status: int
) -> None:
    async def story() -> Said:
        waiting = asyncio.create_task(cold.asked(method, target, body, JSON))
        await asyncio.sleep(0.1)
        assert (await cold.asked("POST", DECISIONS, b"{}", JSON)).status == 201
        assert (await cold.asked("GET", "/readyz")).status == 200
        assert not waiting.done()
        warmth.set()
        return await waiting

    said: Said = cold.run(story())
    assert said.status == status


def test_a_desk_only_looks_until_it_is_warm(warmth: threading.Event) -> None:
    async def story() -> None:
        engine = Slow()
        desk = Desk(engine, is_warm=warmth.is_set)
        desk.open()
        async with asyncio.timeout(10.0):
            while engine.refreshed < 3:
                await asyncio.sleep(0.01)
            assert engine.worked == 0
            warmth.set()
            while not engine.worked:
                await asyncio.sleep(0.01)
        await tidy(desk)

    asyncio.run(story())


def test_what_ends_while_it_is_cold_learns_when_it_starts_again(warmth: threading.Event) -> None:
    async def story() -> None:
        engine = Slow()
        desk = Desk(engine, is_warm=warmth.is_set)
        desk.open()
        assert (await desk.leave(told(1))).decision_id == "1"
        await tidy(desk)
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
