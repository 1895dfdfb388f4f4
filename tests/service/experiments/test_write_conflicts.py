"""Two workers at the same thing at the same moment, on PostgreSQL: each race is run with either of them first.

The one that is first is stopped just before its commit, with all its locks; the other then starts, and must wait or do
without. Only then may the first one go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.service.experiments.faults import FaultyStore
from tests.service.experiments.lab import NOON, WINDOW, StillClock, uuid
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.verify import verify
from turncoat.service.store import Store

PATIENCE = 10.0


class Gate(FaultyStore):
    """Stops before one of its next commits, until it is opened."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reached, self.opened = threading.Event(), threading.Event()
        self.before = 0  # of the commits from now on

    def step(self, what: str) -> bool:
        if what == "COMMIT" and self.before > 0:
            self.before -= 1
            if self.before == 0:
                self.reached.set()
                assert self.opened.wait(PATIENCE)
        return super().step(what)


class Worker:
    """An engine with a thread to run it in, and a clock of its own: machines never agree on the time."""

    def __init__(self, store: Store, seed: int) -> None:
        self.gate = Gate(store)
        self.clock = StillClock()
        self.engine = Engine(self.gate, self.clock, Randomness(seed))


class Task:
    """Something done in another thread."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self.result: Any = None
        self._do = do
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._do()
        except BaseException as problem:
            self.result = problem

    def done(self, seconds: float = PATIENCE) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


@contextmanager
def overtaken(worker: Worker, do: Callable[[], Any], commit: int = 1) -> Iterator[Task]:
    """Meanwhile `do` has done everything but this commit of its; it commits when the block ends."""
    worker.gate.before = commit
    task = Task(do)
    assert worker.gate.reached.wait(PATIENCE), task.result
    try:
        yield task
    finally:
        worker.gate.opened.set()
    assert task.done()


@pytest.fixture
def workers(postgres_stores: tuple[Store, Store]) -> tuple[Worker, Worker]:
    one, other = Worker(postgres_stores[0], 1), Worker(postgres_stores[1], 2)
    return one, other


def opened(workers: tuple[Worker, Worker], aggregation: messages.Aggregation) -> str:
    rule = messages.RewardRule(max=10.0, aggregation=aggregation)
    new = messages.NewExperiment(key="x", arms=["a", "b"], reward=rule, reward_window_s=WINDOW, default_reward=0.0)
    workers[0].engine.create(new)
    for worker in workers:
        worker.engine.work()  # tidies up, so that it does not later
        worker.clock.time = NOON + 1.0
    return str(workers[0].engine.decide("x").decision_id)


def closed(worker: Worker, decision_id: str) -> tuple[str, float | None]:
    worker.engine.clock = StillClock(NOON + 10.0 * WINDOW)
    worker.engine.work()
    record = worker.engine.decision(decision_id)
    with worker.gate.reading() as session:
        assert session.rows("SELECT SUM(n_learned) FROM version") == [(1,)]
        assert session.rows("SELECT COUNT(*) FROM inbox") == [(0,)]
        assert verify(session, "x").identical
    return record.outcome, record.reward


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_a_reward_in_time_and_the_end_of_the_window(
    workers: tuple[Worker, Worker], aggregation: messages.Aggregation
) -> None:
    """Told in time by one clock, over by another. Accepted is accepted: the applier waits for it. (A reward that is
    added to others was not waited for, only given a second.)"""
    teller, applier = workers
    one = opened(workers, aggregation)
    teller.clock.time = NOON + WINDOW
    applier.clock.time = NOON + 3.0 * WINDOW
    with overtaken(teller, lambda: teller.engine.reward(one, 4.0)) as told:
        passed = Task(applier.engine.work)
        assert not passed.done(0.3)  # it waits
    assert told.result.status == "accepted" and passed.done() and passed.result is False
    assert closed(applier, one) == ("rewarded", 4.0)


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_the_end_of_the_window_and_a_reward_in_time(
    workers: tuple[Worker, Worker], aggregation: messages.Aggregation
) -> None:
    teller, applier = workers
    one = opened(workers, aggregation)
    teller.clock.time = NOON + WINDOW
    applier.clock.time = NOON + 3.0 * WINDOW
    with overtaken(applier, applier.engine.work, commit=2):  # after that of tidying up
        told = Task(lambda: teller.engine.reward(one, 4.0))
        assert not told.done(0.3)
    assert told.done() and told.result.status == "late"
    assert closed(applier, one) == ("defaulted", 0.0)


@pytest.mark.parametrize("values", [(4.0, 4.0), (4.0, 5.0)])
@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_the_same_reward_at_two_workers(
    workers: tuple[Worker, Worker], aggregation: messages.Aggregation, values: tuple[float, float]
) -> None:
    one = opened(workers, aggregation)
    with overtaken(workers[0], lambda: workers[0].engine.reward(one, values[0])) as first:
        second = Task(lambda: workers[1].engine.reward(one, values[1]))
        assert not second.done(0.3)
    assert first.result.status == "accepted" and second.done()
    assert second.result.status == ("duplicate" if values[0] == values[1] else "conflict")
    assert closed(workers[0], one) == ("rewarded", 4.0)


def test_a_reward_at_one_worker_while_the_other_applies_the_first(workers: tuple[Worker, Worker]) -> None:
    """The first is closed and gone from the inbox when the second one gets its turn."""
    one = opened(workers, "first")
    workers[0].engine.reward(one, 4.0)
    with overtaken(workers[0], workers[0].engine.work):
        second = Task(lambda: workers[1].engine.reward(one, 5.0))
        second.done(0.3)
    assert second.done() and second.result.status == "conflict"
    assert closed(workers[0], one) == ("rewarded", 4.0)


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_a_decision_and_its_early_reward(workers: tuple[Worker, Worker], aggregation: messages.Aggregation) -> None:
    """Neither sees the other: the reward is told that it waits. The next look brings them together."""
    opened(workers, aggregation)
    one = uuid(7)
    with overtaken(workers[0], lambda: workers[0].engine.decide("x", decision_id=one)):
        told = workers[1].engine.reward(one, 4.0)
        assert told.status == "pending_decision"
    workers[1].clock.move(1.0)
    workers[1].engine.work()
    workers[1].clock.move(2.0 * WINDOW)
    workers[1].engine.work()
    record = workers[1].engine.decision(one)
    assert (record.outcome, record.reward) == ("rewarded", 4.0)


def test_early_rewards_are_taken_once(workers: tuple[Worker, Worker]) -> None:
    opened(workers, "first")
    one = uuid(7)
    for value, name in ((4.0, "a"), (5.0, "b")):
        workers[0].engine.reward(one, value, reward_id=name)
        workers[0].clock.move(1.0)
    workers[0].engine.decide("x", decision_id=one)
    for worker in workers:
        worker.clock.move(1.0)
    with overtaken(workers[0], workers[0].engine.work):
        other = Task(workers[1].engine.work)
        other.done(0.3)
    assert other.done() and other.result is False
    record = workers[1].engine.decision(one)
    assert [refused.status for refused in record.refused] == ["conflict"] and record.reward == 4.0


@pytest.mark.parametrize("same", [True, False])
def test_one_idempotency_key_at_two_workers(workers: tuple[Worker, Worker], same: bool) -> None:
    opened(workers, "first")
    units = ("u", "u" if same else "v")
    first_do, second_do = (
        lambda worker=worker, unit=unit: worker.engine.decide("x", unit_id=unit, idempotency_key="k")
        for worker, unit in zip(workers, units, strict=True)
    )
    with overtaken(workers[0], first_do) as first:
        second = Task(second_do)
        assert not second.done(0.3)
    assert second.done()
    assert (second.result == first.result) if same else ("another body" in str(second.result))


def test_one_sticky_unit_at_two_workers(workers: tuple[Worker, Worker]) -> None:
    opened(workers, "first")
    with overtaken(workers[0], lambda: workers[0].engine.decide("x", unit_id="u", sticky=True)) as first:
        second = Task(lambda: workers[1].engine.decide("x", unit_id="u", sticky=True))
        assert not second.done(0.3)
    assert second.done() and second.result.decision_id == first.result.decision_id


def test_one_decision_id_at_two_workers(workers: tuple[Worker, Worker]) -> None:
    opened(workers, "first")
    with overtaken(workers[0], lambda: workers[0].engine.decide("x", decision_id=uuid(7))):
        second = Task(lambda: workers[1].engine.decide("x", decision_id=uuid(7)))
        assert not second.done(0.3)
    assert second.done() and "was used before" in str(second.result)


def test_two_appliers_on_one_experiment(workers: tuple[Worker, Worker]) -> None:
    one = opened(workers, "first")
    workers[0].engine.reward(one, 4.0)
    with overtaken(workers[0], workers[0].engine.work):
        other = Task(workers[1].engine.work)
        assert other.done() and other.result is False  # it leaves it to the first, without waiting
    assert closed(workers[1], one) == ("rewarded", 4.0)


def test_a_change_waits_for_the_applier_and_goes_on_from_its_state(workers: tuple[Worker, Worker]) -> None:
    one = opened(workers, "first")
    workers[0].engine.reward(one, 4.0)
    with overtaken(workers[0], workers[0].engine.work):
        change = Task(lambda: workers[1].engine.add_arm("x", messages.NewArm(arm="c")))
        assert not change.done(0.3)
    assert change.done() and change.result.arm == "c"
    assert closed(workers[0], one) == ("rewarded", 4.0)


def test_two_changes_at_once(workers: tuple[Worker, Worker]) -> None:
    opened(workers, "first")
    with overtaken(workers[0], lambda: workers[0].engine.add_arm("x", messages.NewArm(arm="c"))):
        change = Task(lambda: workers[1].engine.add_arm("x", messages.NewArm(arm="d")))
        assert not change.done(0.3)
    assert change.done()
    assert [arm.arm for arm in workers[0].engine.arms("x")] == ["a", "b", "c", "d"]
    with workers[0].gate.reading() as session:
        assert verify(session, "x").identical
