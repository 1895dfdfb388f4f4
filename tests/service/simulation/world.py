"""A small world with a seed: a few workers on one store, the model beside them, a clock that jumps, faults.

Everything that is done is done to the workers first and then to the model, which says what should have come of it. What
a fault leaves open (was it recorded?) the store knows: it counts its commits.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.naive import service_decisions as decisions
from tests.naive.service_model import Model
from tests.naive.service_records import Arm, Gates, Settings
from tests.service.experiments.faults import Crash, FaultyStore, Trouble, down
from tests.service.experiments.lab import NEXT_RULE, RULE, StillClock, raise_rule
from tests.service.simulation.answers import as_answer, as_ask, as_control, as_got, as_number, as_status, as_stickiness
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.errors import Problem, Unavailable
from turncoat.service.experiments import retention
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.messages import Command, Decide, Tell
from turncoat.service.store.interface import Store, StoreDown
from turncoat.service.store.sqlite import SQLiteStore

LOST = object()  # the answer was lost: the outcome is unknown


class Wrong(AssertionError):
    """The service did what it must not."""


@dataclass(frozen=True)
class Fault:
    """What happens to one operation: nothing, as a rule."""

    statement: int | None = None
    commit: int | None = None
    after_commit: bool = False
    crash: bool = False
    is_down: bool = False

    @property
    def trouble(self) -> Trouble:
        return Crash if self.crash else down


NO_FAULT = Fault()


@dataclass
class Worker:
    """One process."""

    store: FaultyStore
    clock: StillClock
    randomness: Randomness
    gates: Gates = field(default_factory=Gates)
    known: dict[str, int] = field(default_factory=dict)  # versions that it is sure to know

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """From nothing but what is stored."""
        self.store.arm()
        self.engine = Engine(self.store, self.clock, self.randomness)
        self.gates = Gates()


class World:
    """All of it. `alone`: with one worker; else there may be two."""

    def __init__(self, seed: int, stores: Sequence[Store], *, alone: bool = False) -> None:
        self.random = random.Random(seed)
        self.clock = StillClock()
        self.model = Model(self.random.choice([1, 2, 3, 1000]), RULE, least=2)
        shared = not alone and (len(stores) > 1 or self.random.random() < 0.5)
        several = stores if len(stores) > 1 else [stores[0]] * (2 if shared else 1)
        chances = [Randomness(seed * 2 + i) for i in range(len(several))]
        self.workers = [
            Worker(FaultyStore(store, shared=shared), self.clock, randomness)
            for store, randomness in zip(several, chances, strict=True)
        ]
        self.retries: list[tuple[Command, ...]] = []
        self.n_lost = 0

    def restart(self, worker: Worker) -> None:
        """It forgets everything. A store that no other worker uses is reopened from its file."""
        if len(self.workers) == 1 and isinstance(worker.store._store, SQLiteStore):
            worker.store._store.close()
            worker.store._store = SQLiteStore(worker.store._store.path)
        worker.start()
        worker.known = self.latest()

    def upgrade(self) -> None:
        """All workers end, and start again with a version of Turncoat whose learner has another rule."""
        raise_rule(self.patch)
        self.model.rule = NEXT_RULE
        for worker in self.workers:
            self.restart(worker)

    @contextmanager
    def few_at_a_time(self) -> Iterator[None]:
        """A pass closes no more decisions than the model's does, and a few open ones make a version without news.

        What `upgrade` changes is changed until the end.
        """
        with pytest.MonkeyPatch.context() as self.patch, pytest.MonkeyPatch.context() as patch:
            for module in ("experiments.learn", "experiments.retention", "engine"):
                patch.setattr(f"turncoat.service.{module}.MOST", self.model.most)
            patch.setattr("turncoat.service.experiments.waiting.LEAST_PLANNED", self.model.least)
            patch.setattr("turncoat.service.experiments.retention.LEAST_KEPT", 2)
            patch.setattr("turncoat.service.experiments.retention.THINNED", 4)
            yield

    # --- doing something ---

    def attempt(self, worker: Worker, fault: Fault, do: Callable[[], Any]) -> Any:
        """What it gives: an answer, a Problem, or LOST."""
        worker.store.arm(fault.statement, commit=fault.commit, after_commit=fault.after_commit, trouble=fault.trouble)
        worker.store.is_down = fault.is_down
        try:
            return do()
        except (Unavailable, StoreDown):
            if not worker.store.failed:
                raise
            return LOST
        except Problem as problem:
            return problem
        except Crash:
            committed = worker.store.n_committed
            self.restart(worker)
            worker.store.n_committed, worker.store.failed = committed, True
            return LOST
        finally:
            worker.store.is_down = False
            worker.store.disarm()
            self.n_lost += worker.store.failed

    @contextmanager
    def interrupted(self, worker: Worker, before: int, do: Callable[[], None]) -> Iterator[None]:
        """Another worker acts just before this worker's transaction begins, after everything it has read."""

        def interrupt(number: int) -> None:
            if number == before:
                worker.store.before_begin = lambda number: None
                do()

        worker.store.before_begin = interrupt
        yield
        worker.store.before_begin = lambda number: None

    def serve(self, worker: Worker, commands: Sequence[Command], fault: Fault = NO_FAULT) -> None:
        """A batch: decisions first, as the service does it, then rewards."""
        now = self.clock.now()
        known = dict(worker.known) if len(self.workers) > 1 else self.latest()
        got = self.attempt(worker, fault, lambda: worker.engine.serve(commands))
        if got is LOST:
            self.retries.append(tuple(commands))
            if not worker.store.n_committed:
                return
        for place, command in enumerate(commands):
            if isinstance(command, Decide):
                ask = as_ask(command)
                answer = self.stored_answer(ask) if got is LOST else as_got(got[place])
                wrong = decisions.decide(self.model, ask, now, answer, self.versions(known, command.key))
                if wrong is not None:
                    raise Wrong(wrong)
        for place, command in enumerate(commands):
            if isinstance(command, Tell):
                reward = command.reward
                expected = self.model.tell(command.decision_id, reward.value, reward.reward_id, now)
                told = expected if got is LOST else as_status(got[place])
                if told != expected:
                    raise Wrong(f"{command} was {told}; the model says {expected}")

    def latest(self) -> dict[str, int]:
        """The present versions."""
        return {key: one.number for key, one in self.model.experiments.items()}

    def versions(self, known: dict[str, int], key: str) -> Sequence[int]:
        """The versions that a decision may be drawn from by a worker that knew these."""
        latest = self.latest()
        return range(known.get(key, 1), latest[key] + 1) if key in latest else []

    def stored_answer(self, ask: decisions.Ask) -> decisions.Answer | None:
        """What was recorded for a caller that did not get the answer."""
        known = self.model.keys.get((ask.key, ask.idempotency_key or ""))
        if known is not None and known[0] != ask.body:
            return None
        if ask.idempotency_key is not None:
            sql = """SELECT i.answer FROM idempotency i JOIN experiment e ON e.id = i.experiment
                     WHERE e.key = :key AND i.key = :own AND i.body_hash = :body"""
            body = hashlib.sha256(msgspec.json.encode(ask.body, order="deterministic")).hexdigest()
            rows = self.rows(sql, key=ask.key, own=ask.idempotency_key, body=body)
            return as_answer(msgspec.json.decode(bytes(rows[0][0]), type=messages.Decided)) if rows else None
        there = {row[0] for row in self.rows(OF_EXPERIMENT, key=ask.key)} - set(self.model.decisions)
        new = there & {ask.decision_id} if ask.decision_id else there
        return self._recorded(new.pop()) if new else None

    def _recorded(self, decision_id: str) -> decisions.Answer:
        record = self.workers[0].engine.decision(decision_id)
        return decisions.Answer(
            record.decision_id, record.arm, record.propensity, record.probabilities, record.state_version,
            record.stream, record.reason, None if record.expires_at is None else record.expires_at.timestamp(), b"",
        )  # fmt: skip

    @property
    def store(self) -> Store:
        """What is under all faults."""
        return self.workers[0].store._store

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Straight from the store."""
        with self.store.reading() as session:
            return session.rows(sql, **values)

    def news(self, worker: Worker) -> set[str]:
        """Experiments that others have changed since this worker looked: it leaves them to those workers."""
        cache = worker.engine.cache
        return {
            key
            for number, key, version in self.rows("SELECT id, key, version FROM experiment")
            if (known := cache.by_id(number)) is None or known.version != version
        }

    def steps(self, worker: Worker) -> Iterator[Gates]:
        """A pass of this worker, as the model sees it."""
        others = self.news(worker) if worker.store.shared else set()
        return self.model.work(worker.gates, self.clock.now(), others)

    def work_interrupted(self, worker: Worker, before: int, do: Callable[[], None]) -> None:
        """One pass, interrupted by another worker's write."""
        steps, known = self.steps(worker), self.latest()
        gates: list[Gates] = []

        def after_some_steps() -> None:
            gates.extend(next(steps) for _ in range(before))
            do()

        with self.interrupted(worker, before, after_some_steps):
            got = self.attempt(worker, NO_FAULT, worker.engine.work)
        self._check_pass(worker, got, [*gates, *steps])
        worker.known = known

    def work(self, worker: Worker, fault: Fault = NO_FAULT) -> None:
        """One pass."""
        steps = self.steps(worker)
        got = self.attempt(worker, fault, worker.engine.work)
        if got is LOST:
            for _ in range(worker.store.n_committed + 1):
                if next(steps, None) is None:
                    raise Wrong("the pass had more transactions than the model's")
            worker.gates = self.gates(worker)
            return
        self._check_pass(worker, got, list(steps))

    def gates(self, worker: Worker) -> Gates:
        """As they stand."""
        engine, keys = worker.engine, dict(self.rows("SELECT id, key FROM experiment"))
        old = tuple(keys[number] for number in engine.pruner.due)
        return Gates(engine._looked, engine._tidied, engine.pruner.looked, old)

    def _check_pass(self, worker: Worker, got: Any, gates: list[Gates]) -> None:
        if not isinstance(got, bool) or len(gates) - 1 != worker.store.n_committed:
            raise Wrong(
                f"a pass gave {got} after {worker.store.n_committed} transactions; the model's {len(gates) - 1}"
            )
        worker.gates = gates[-1]
        worker.known = self.latest()

    def activate(self, worker: Worker, decision_id: str, fault: Fault = NO_FAULT) -> None:
        now = self.clock.now()
        got = self.attempt(worker, fault, lambda: worker.engine.activate(decision_id))
        if got is not LOST or worker.store.n_committed:
            expected = self.model.activate(decision_id, now)
            if got is not LOST and as_number(got) != expected:
                raise Wrong(f"activating {decision_id} gave {got}; the model says {expected}")

    # --- what is old, and units ---

    def thin(self, worker: Worker, key: str, fault: Fault = NO_FAULT) -> None:
        """All of it; after a fault it is done again."""
        ((number,),) = self.rows("SELECT id FROM experiment WHERE key = :key", key=key)
        now = self.clock.now()
        if self.attempt(worker, fault, lambda: list(retention.thin(worker.store, number, now))) is not LOST:
            self.model.thin(key, now, retention.LEAST_KEPT)

    def erase(self, worker: Worker, unit: str, key: str | None, fault: Fault = NO_FAULT) -> None:
        """A transaction per experiment that has such decisions."""
        ours = {one.experiment for one in self.model.decisions.values() if one.unit == unit}
        keys = [one for one in self.model.experiments if one in ours and key in (None, one)]
        got = self.attempt(worker, fault, lambda: worker.engine.erase(unit, experiment=key))
        expected = sum(self.model.erase(unit, one) for one in keys[: worker.store.n_committed])
        if got is not LOST and (got.decisions, worker.store.n_committed) != (expected, len(keys)):
            raise Wrong(f"erased {got} in {worker.store.n_committed} of {keys}; the model says {expected}")

    # --- settings ---

    def create(
        self, worker: Worker, key: str, settings: Settings, arms: dict[str, Arm], fault: Fault = NO_FAULT
    ) -> None:
        new = messages.NewExperiment(
            key=key,
            arms=list(arms),
            reward=messages.RewardRule(min=settings.low, max=settings.high, aggregation=settings.aggregation),  # type: ignore[arg-type]
            reward_window_s=settings.window,
            default_reward=settings.default,
            control=as_control(settings),
            holdout_share=settings.holdout,
            stickiness=as_stickiness(settings),
            floors={name: arm.floor for name, arm in arms.items() if arm.floor > 0.0},
            caps={name: arm.cap for name, arm in arms.items() if arm.cap < 1.0},
            seed=7,
            keep_days=settings.keep_days,
        )  # fmt: skip
        got = self.attempt(worker, fault, lambda: worker.engine.create(new))
        if isinstance(got, Problem):
            raise Wrong(f"{new} was refused: {got}")
        if got is not LOST or worker.store.n_committed:
            salt = self.rows("SELECT salt FROM experiment WHERE key = :key", key=key)[0][0]
            self.model.create(key, salt, settings, arms, self.clock.now())
            worker.known[key] = 1

    def set_arm(self, worker: Worker, key: str, name: str, arm: Arm, fault: Fault = NO_FAULT) -> None:
        """Add it, or change it."""
        if name in self.model.experiments[key].now.arms:
            change = messages.ArmChange(state=arm.state, floor=arm.floor, cap=arm.cap)  # type: ignore[arg-type]
            self._settle(worker, key, fault, lambda: worker.engine.change_arm(key, name, change),
                         lambda: self.model.set_arm(key, name, arm, self.clock.now()))  # fmt: skip
        else:
            new = messages.NewArm(arm=name, state=arm.state, floor=arm.floor, cap=arm.cap)  # type: ignore[arg-type]
            self._settle(worker, key, fault, lambda: worker.engine.add_arm(key, new),
                         lambda: self.model.set_arm(key, name, arm, self.clock.now()))  # fmt: skip

    def change(self, worker: Worker, key: str, settings: Settings, fault: Fault = NO_FAULT) -> None:
        change = messages.ExperimentChange(
            reward_window_s=settings.window,
            default_reward=settings.default,
            control=as_control(settings),
            holdout_share=settings.holdout,
            stickiness=as_stickiness(settings),
            state="running" if settings.running else "stopped",
            keep_days=settings.keep_days,
        )
        self._settle(worker, key, fault, lambda: worker.engine.change(key, change),
                     lambda: self.model.change(key, settings, self.clock.now()))  # fmt: skip

    def _settle(
        self, worker: Worker, key: str, fault: Fault, do: Callable[[], Any], foretold: Callable[[], int | None]
    ) -> None:
        got = self.attempt(worker, fault, do)
        if got is LOST and not worker.store.n_committed:
            return
        expected = foretold()
        if got is not LOST and as_number(got) != expected:
            raise Wrong(f"{got!r} at {key}; the model says {expected}")
        if got is not LOST:
            worker.known[key] = self.model.experiments[key].number


OF_EXPERIMENT = "SELECT d.id FROM decision d JOIN experiment e ON e.id = d.experiment WHERE e.key = :key"
