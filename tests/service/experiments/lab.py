"""A service to experiment with: its clock stands still until it is moved, its chance has a seed."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.architecture.test_start_up import one_compiles
from turncoat.learners import Turncoat, restore
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.waiting import no_delays, with_delays
from turncoat.service.store import Store

NOON = 1_800_000_000.0  # some day in 2027
WINDOW = 100.0  # seconds
TABLES = (
    *("experiment", "learner", "arm", "version", "decision", "inbox", "part", "refused"),
    *("idempotency", "sticky", "audit", "bucket", "checkpoint", "comparison", "unit_group", "damage"),
)


class StillClock:
    """Moved by hand."""

    def __init__(self, now: float = NOON) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += seconds


class Lab:
    """An engine on a store, and a look behind it."""

    def __init__(self, store: Store, seed: int = 1) -> None:
        self.store = store
        self.clock = StillClock()
        self.randomness = Randomness(seed)
        self.engine = Engine(store, self.clock, self.randomness)

    def restart(self) -> Engine:
        """Whatever was in memory is lost."""
        self.engine = Engine(self.store, self.clock, self.randomness)
        return self.engine

    def open(self, key: str = "x", arms: Any = ("a", "b"), **more: Any) -> messages.Experiment:
        more.setdefault("reward_window_s", WINDOW)
        more.setdefault("seed", 7)
        return self.engine.create(messages.NewExperiment(key=key, arms=list(arms), **more))

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        with self.store.reading() as session:
            return session.rows(sql, **values)

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All that is stored, to see that something changes nothing."""
        return {table: sorted(map(_plain, self.rows(f"SELECT * FROM {table}")), key=repr) for table in TABLES}

    def refused(self, decision_id: str | None = None) -> list[str]:
        """What became of rewards that do not count, in order."""
        rows = self.rows("SELECT decision_id, status FROM refused ORDER BY received_at, status")
        return [status for one, status in rows if decision_id in (None, one)]

    def state(self, key: str = "x") -> bytes:
        """The learner's, as it is stored."""
        sql = "SELECT l.state FROM learner l JOIN experiment e ON e.id = l.experiment WHERE e.key = :key"
        return bytes(self.rows(sql, key=key)[0][0])

    def work(self, seconds: float = 1.0) -> None:
        """A moment passes, and everything that can be applied is."""
        self.clock.move(seconds)
        while self.engine.work():
            pass
        assert not self.engine.damaged

    def damage(self, key: str = "x") -> messages.Damage:
        """A moment passes, and a pass over this experiment fails: what is shown of it."""
        self.clock.move(1.0)
        self.engine.work()
        found = self.engine.experiment(key).damage
        assert found is not None
        return found

    def pause(self, arm: str, key: str = "x") -> None:
        self.engine.change_arm(key, arm, messages.ArmChange(state="paused"))

    def retire(self, arm: str, key: str = "x") -> None:
        self.engine.change_arm(key, arm, messages.ArmChange(state="retired"))

    def resume(self, arm: str, key: str = "x") -> None:
        self.engine.change_arm(key, arm, messages.ArmChange(state="active"))


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)


def uuid(number: int) -> str:
    """A caller's own id."""
    return f"00000000-0000-4000-8000-{number:012x}"


def with_other_chance(state: dict[str, Any]) -> dict[str, Any]:
    """A state with other random words, which the service does not use: whatever it learns and serves is the same."""
    words = np.frombuffer(base64.b64decode(state["buffer"])).copy()
    words[:4].view(np.uint64)[:] ^= np.uint64(5)
    return {**state, "buffer": base64.b64encode(words.tobytes()).decode()}


RULE = Turncoat.rule_version
NEXT_RULE = RULE + 1


def raise_rule(
    patch: pytest.MonkeyPatch, rule: int = NEXT_RULE, migrated: Callable[[dict[str, Any]], Any] = with_other_chance
) -> None:
    """As if another version of Turncoat were installed, whose learner has this rule."""
    patch.setattr(Turncoat, "rule_version", rule)
    patch.setattr(Turncoat, "_migrated", classmethod(lambda cls, state: migrated(state)))


def compile_kernels() -> None:
    """All that the service asks of a learner, once: compiling takes a while, and others may be waiting for a lock.

    Another process of the tests may be compiling just that; then wait, and find it on disk.
    """
    with one_compiles():
        _compile_kernels()


def _compile_kernels() -> None:
    learner = Turncoat(["a", "b"], seed=1)
    learner.observe(0, 0.5, 0.5)
    learner.add_arm("c")
    learner.observe(0, 0.5, 0.5, allowed=[0, 1])
    learner.observe(0, 0.5, 0.5, m=2)
    learner.retire_arm("c")
    learner.probabilities(allowed=["a", "b"])
    learner.probabilities(m=2)
    with_delays(no_delays(), [0.5])
    restore(learner.state()).probabilities()


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder for files that need not survive: in memory where there is such a place."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
