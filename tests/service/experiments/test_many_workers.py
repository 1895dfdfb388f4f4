"""Several engines on one PostgreSQL database, at the same moment: everything happens once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any, TypeVar

import msgspec
import pytest

from tests.service.experiments.lab import NOON, StillClock
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.errors import Conflicting
from turncoat.service.experiments import verify
from turncoat.service.messages import Decide, Tell
from turncoat.service.store import Store, open_store

T = TypeVar("T")

FROZEN = """
import os, signal, sys
from turncoat.service.experiments import learn
from turncoat.service.engine import Engine
from turncoat.service.store import StoreDown, open_store
from turncoat.service.store.postgres import pipeline
from turncoat.service.precompile import precompile
precompile()
pipeline.WRITING["idle_in_transaction_session_timeout"] = "400ms"
advance = learn.advance
def stopped(*args, **more):
    os.kill(os.getpid(), signal.SIGSTOP)
    return advance(*args, **more)
learn.advance = stopped
engine = Engine(open_store(sys.argv[1]))
try:
    engine.work()
    print("went on", flush=True)
except StoreDown:
    print("too late", flush=True)
learn.advance = advance
engine.work()
print(engine.experiment("x").version)
"""


class Workers:
    """Workers with an engine each, on one database."""

    def __init__(self, url: str, n: int) -> None:
        self.stores = [open_store(url) for _ in range(n)]
        self.clocks = [StillClock() for _ in range(n)]
        self.engines = [Engine(store, clock) for store, clock in zip(self.stores, self.clocks, strict=True)]
        self._pool = ThreadPoolExecutor(n)

    def open(self, key: str = "x", **more: Any) -> None:
        more.setdefault("reward_window_s", 100.0)
        self.engines[0].create(messages.NewExperiment(key=key, arms=["a", "b", "c"], seed=1, **more))
        for engine in self.engines:
            engine.refresh()

    def decisions(self, n: int, key: str = "x") -> list[str]:
        done = self.engines[0].serve([Decide(key, messages.Ask())] * n)
        return [str(one.decision_id) for one in done if isinstance(one, messages.Decided)]

    def at_once(self, *deeds: Callable[[Engine], T], waits: Sequence[float] = ()) -> list[T]:
        """Each worker does its own, all from the same moment on, or a little later."""
        barrier = Barrier(len(deeds))

        def do(i: int) -> T:
            barrier.wait()
            time.sleep(waits[i] if waits else 0.0)
            return deeds[i](self.engines[i])

        return list(self._pool.map(do, range(len(deeds))))

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        with self.stores[0].reading() as session:
            return session.rows(sql, **values)

    def close(self) -> None:
        self._pool.shutdown()
        for store in self.stores:
            store.close()


@pytest.fixture
def workers(postgres_store_url: str) -> Iterator[Workers]:
    made = Workers(postgres_store_url, 4)
    yield made
    made.close()


def told(*lines: tuple[str, float]) -> Callable[[Engine], list[str]]:
    """Tell rewards, as one batch; what became of them."""
    commands = [Tell(decision, messages.Reward(value=value)) for decision, value in lines]
    return lambda engine: [one.status for one in engine.serve(commands) if isinstance(one, messages.Receipt)]


def check_once(store: Store, n: int, key: str = "x") -> None:
    """All of it was closed once, in versions without a gap, and is what the log says."""
    with store.reading() as session:
        places = session.rows("SELECT applied_version, applied_position FROM decision ORDER BY 1, 2")
        versions = [version for (version,) in session.rows("SELECT version FROM version ORDER BY version")]
        learned = session.rows("SELECT SUM(n_learned) FROM version")[0][0]
        counted = session.rows("SELECT width, SUM(n) FROM bucket GROUP BY width")
        present = session.rows("SELECT version FROM experiment")[0][0]
        verified = verify.verify(session, key)
    assert len(places) == len(set(places)) == learned == n
    assert versions == list(range(1, present + 1))
    assert [count for _, count in counted] == [n] * 3
    assert verified.identical and verified.learned == n


def test_one_key_is_one_decision(workers: Workers) -> None:
    workers.open()
    asked = [Decide("x", messages.Ask(unit_id="u"), "the key")] * 25
    answers = [one for some in workers.at_once(*[lambda engine: engine.serve(asked)] * 4) for one in some]
    assert len(answers) == 100
    assert len({msgspec.json.encode(one) for one in answers}) == 1
    assert workers.rows("SELECT COUNT(*) FROM decision") == [(1,)]
    other = Decide("x", messages.Ask(unit_id="other"), "the key")
    for engine in workers.engines:
        assert [type(one) for one in engine.serve([other])] == [Conflicting]


def test_many_keys_in_any_order_are_one_decision_each(workers: Workers) -> None:
    workers.open()
    keys = [f"k{i}" for i in range(40)]

    def ask(seed: int) -> Callable[[Engine], dict[str, str]]:
        order = random.Random(seed).sample(keys, len(keys))
        commands = [Decide("x", messages.Ask(unit_id=key, sticky=True), key) for key in order]

        def do(engine: Engine) -> dict[str, str]:
            done = [one for i in range(0, 40, 10) for one in engine.serve(commands[i : i + 10])]
            return {key: id_of(one) for key, one in zip(order, done, strict=True)}

        return do

    answers = workers.at_once(*[ask(seed) for seed in range(4)])
    assert len(answers[0]) == 40
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert workers.rows("SELECT COUNT(*) FROM decision") == [(40,)]


def id_of(done: Any) -> str:
    assert isinstance(done, messages.Decided), done
    return str(done.decision_id)


@pytest.mark.parametrize("values", [(0.5, 0.5), (0.25, 0.75)])
def test_of_two_rewards_one_is_accepted_and_that_one_counts(workers: Workers, values: tuple[float, float]) -> None:
    workers.open()
    decisions = workers.decisions(60)
    accepted: dict[str, float] = {}
    for i in range(0, 60, 5):
        some = decisions[i : i + 5]
        backwards = some[::-1]
        one, other = workers.at_once(told(*[(d, values[0]) for d in some]), told(*[(d, values[1]) for d in backwards]))
        for decision, ours, theirs in zip(some, one, other[::-1], strict=True):
            assert sorted([ours, theirs]) == ["accepted", "duplicate" if values[0] == values[1] else "conflict"]
            accepted[decision] = values[0] if ours == "accepted" else values[1]
    workers.engines[2].work()
    assert dict(workers.rows("SELECT id, reward FROM decision")) == accepted
    check_once(workers.stores[0], 60)


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_at_the_end_of_a_window_either_the_reward_counts_or_the_default(workers: Workers, aggregation: Any) -> None:
    """The teller's clock says that there is still time, the appliers' that there is none."""
    workers.open(reward=messages.RewardRule(aggregation=aggregation), default_reward=0.0)
    rng, seen = random.Random(3), Counter[str]()
    for i in range(40):
        for clock in workers.clocks:
            clock.time = NOON + 150.0 * i
        decisions = workers.decisions(8)
        for clock in workers.clocks[1:]:
            clock.move(100.5)
        waits = [rng.choice((0.0, rng.random() * 0.01, 0.02)) for _ in range(3)]
        said, _, _ = workers.at_once(told(*[(d, 0.75) for d in decisions]), worked, worked, waits=waits)
        for _ in range(2):  # the first time it may leave it to who was at it last
            workers.engines[1]._looked = float("-inf")
            workers.engines[1].work()
        closed = {row[0]: row[1:] for row in workers.rows("SELECT id, outcome, reward FROM decision WHERE id IN :ids",
                                                         ids=decisions)}  # fmt: skip
        for decision, status in zip(decisions, said, strict=True):
            assert closed[decision] == {"accepted": ("rewarded", 0.75), "late": ("defaulted", 0.0)}[status]
        seen.update(said)
    assert seen["accepted"] + seen["late"] == 320
    assert min(seen["accepted"], seen["late"]) > 0
    check_once(workers.stores[0], 320)


def worked(engine: Engine) -> list[str]:
    engine.work()
    return []


def test_appliers_take_turns_and_every_reward_is_applied_once(workers: Workers) -> None:
    workers.open()
    decisions, done = workers.decisions(600), Event()

    def tell(part: int) -> Callable[[Engine], int]:
        def do(engine: Engine) -> int:
            ours = decisions[part::2]
            for i in range(0, len(ours), 10):
                told(*[(d, 1.0 if d[-1] < "8" else 0.0) for d in ours[i : i + 10]])(engine)
            return 0

        return do

    def some_wait() -> bool:
        return workers.rows("SELECT COUNT(*) FROM inbox") != [(0,)]

    def keep_working(engine: Engine) -> int:
        before, passes = 0, 0
        while not done.is_set() or some_wait():
            engine.work()
            passes += engine.cache.get("x").version != before
            before = engine.cache.get("x").version
        return passes

    def tell_and_end(engine: Engine) -> int:
        tell(1)(engine)
        time.sleep(0.1)
        done.set()
        return 0

    workers.at_once(tell(0), tell_and_end, keep_working, keep_working)
    workers.engines[0].work()
    assert workers.rows("SELECT COUNT(*) FROM inbox") == [(0,)]
    check_once(workers.stores[0], 600)


def test_whoever_has_the_learner_goes_on_with_it_until_it_does_not(workers: Workers) -> None:
    workers.open()
    one, other = workers.engines[:2]
    decisions = iter(workers.decisions(3))

    def waiting() -> int:
        return int(workers.rows("SELECT COUNT(*) FROM inbox")[0][0])

    def tell() -> None:
        told((next(decisions), 1.0))(one)

    tell()
    one.work()
    tell()
    other.work()  # sees that another applier holds it
    assert waiting() == 1
    other.work()  # sees that it is free
    assert waiting() == 0
    tell()
    one.work()
    assert waiting() == 1
    one.work()
    assert waiting() == 0
    check_once(workers.stores[0], 3)


def test_a_worker_frozen_in_a_pass_cannot_write_over_what_came_after(workers: Workers, postgres_store_url: str) -> None:
    workers.open()
    early, late = workers.decisions(5), workers.decisions(5)
    told(*[(d, 1.0) for d in early])(workers.engines[0])
    with subprocess.Popen(
        [sys.executable, "-c", FROZEN, postgres_store_url], stdout=subprocess.PIPE, text=True
    ) as frozen:
        assert frozen.stdout
        try:
            _, status = os.waitpid(frozen.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), frozen.stdout.read()
            workers.engines[0].work()
            assert workers.engines[0].experiment("x").version == 1  # it holds the experiment
            end = time.monotonic() + 20.0
            while workers.engines[0].experiment("x").version == 1:  # until PostgreSQL takes it away
                assert time.monotonic() < end
                workers.engines[0].work()
                time.sleep(0.05)
            told(*[(d, 0.0) for d in late])(workers.engines[0])
            workers.engines[0].work()
            assert workers.engines[0].experiment("x").version == 3
        finally:
            frozen.send_signal(signal.SIGCONT)
        assert frozen.stdout.read().split("\n") == ["too late", "3", ""]
    check_once(workers.stores[0], 10)


def test_what_one_changes_the_others_see_at_their_next_pass(workers: Workers) -> None:
    workers.open()
    workers.engines[0].change_arm("x", "a", messages.ArmChange(state="paused"))
    workers.engines[0].change_arm("x", "b", messages.ArmChange(state="paused"))
    for engine in workers.engines[1:]:
        engine.work()
        assert {engine.decide("x").arm for _ in range(20)} == {"c"}


def test_settings_change_one_after_the_other_and_the_audit_holds(workers: Workers) -> None:
    workers.open()

    def change(who: int) -> Callable[[Engine], list[int]]:
        def do(engine: Engine) -> list[int]:
            return [
                engine.change("x", messages.ExperimentChange(reward_window_s=who + i + 1.0)).revision for i in range(5)
            ]

        return do

    revisions = sorted(revision for some in workers.at_once(*[change(10 * i) for i in range(4)]) for revision in some)
    assert revisions == list(range(2, 22))
    with workers.stores[0].reading() as session:
        assert verify.broken_audit(session) is None
        assert session.rows("SELECT COUNT(*) FROM audit") == [(21,)]


def test_a_key_of_an_experiment_is_used_once(workers: Workers) -> None:
    def create(engine: Engine) -> str:
        try:
            return engine.create(messages.NewExperiment(key="new", arms=["a"])).key
        except Conflicting:
            return ""

    assert sorted(workers.at_once(*[create] * 4)) == ["", "", "", "new"]
    assert workers.rows("SELECT id, key, version FROM experiment") == [(1, "new", 1)]
