"""Whatever is done in whatever order, by one worker or two whose clocks differ: the log alone rebuilds the state."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.service.experiments.lab import Lab, StillClock, uuid
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.errors import Problem, Unavailable
from turncoat.service.experiments.aggregates import Closed, bucket_rows
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.repair import repair
from turncoat.service.experiments.verify import broken_audit, verify

STEPS, FEWER = 200, 80  # on SQLite, on PostgreSQL
CLOSED = """
    SELECT decided_at, arm, stream, outcome, reward, propensity FROM decision WHERE applied_version IS NOT NULL
"""


class Skewed:
    """A clock that goes wrong by so many seconds."""

    def __init__(self, right: StillClock, wrong: float) -> None:
        self._right, self._wrong = right, wrong

    def now(self) -> float:
        return self._right.now() + self._wrong


class Somebody:
    """Does anything at all, by a seed."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.randomness = lab, random.Random(seed)
        skews = (0.0, self.randomness.choice([-2.5, 3.0])) if lab.store.shared else (0.0,)
        self.engines = [
            Engine(lab.store, Skewed(lab.clock, skew), Randomness(seed * 10 + place))
            for place, skew in enumerate(skews)
        ]
        self.ids = [uuid(0)]

    def step(self, number: int) -> None:
        """One thing; what is refused is refused."""
        todo = (self.decide, self.reward, self.reward, self.decide, self.pass_time, self.change, self.arm, self.rare)
        engine = self.randomness.choice(self.engines)
        try:
            self.randomness.choices(todo, [20, 20, 10, 15, 12, 4, 9, 4])[0](engine, number)
        except Unavailable:
            raise
        except Problem:
            pass

    def decide(self, engine: Engine, number: int) -> None:
        pick = self.randomness.random
        wanted: dict[str, Any] = {}
        if pick() < 0.4:
            arms = [arm.arm for arm in engine.arms("x")]
            wanted["allowed_arms"] = self.randomness.sample(arms, self.randomness.randint(1, len(arms)))
        if pick() < 0.4:
            wanted |= {"unit_id": f"u{self.randomness.randrange(5)}", "sticky": pick() < 0.6}
        if pick() < 0.3:
            wanted["decision_id"] = uuid(number + self.randomness.randint(-3, 3))
        if pick() < 0.2:
            wanted["idempotency_key"] = f"k{self.randomness.randrange(8)}"
        self.ids.append(str(engine.decide("x", deferred=pick() < 0.15, **wanted).decision_id))

    def reward(self, engine: Engine, number: int) -> None:
        known = self.randomness.random() < 0.85
        which = self.randomness.choice(self.ids[-40:]) if known else uuid(number + self.randomness.randint(0, 3))
        name = self.randomness.choice([None, "r1", "r2"])
        engine.reward(which, self.randomness.choice([0.0, 1.0, 2.0, -1.0, 0.37]), reward_id=name)

    def pass_time(self, engine: Engine, number: int) -> None:
        self.lab.clock.move(self.randomness.choice([0.01, 1.0, 5.0, 30.0, -3.0]))
        engine.work()

    def change(self, engine: Engine, number: int) -> None:
        window, default = self.randomness.choice([1e-9, 2.0, 50.0]), self.randomness.choice([None, 1.0])
        share, state = self.randomness.choice([0.0, 0.3]), self.randomness.choice(["running", "running", "stopped"])
        one: Any = {"reward_window_s": window, "default_reward": default, "holdout_share": share, "state": state}
        name = self.randomness.choice(list(one))
        engine.change("x", messages.ExperimentChange(**{name: one[name]}))

    def arm(self, engine: Engine, number: int) -> None:
        state: Any = self.randomness.choice(["pending", "active", "paused", "retired"])
        if state == "pending" or self.randomness.random() < 0.3:
            new: Any = "active" if state in ("paused", "retired") else state
            engine.add_arm("x", messages.NewArm(arm=f"n{number}", state=new, floor=self.randomness.choice([0.0, 0.05])))
        else:
            arm = self.randomness.choice(engine.arms("x")).arm
            engine.change_arm("x", arm, messages.ArmChange(state=state, cap=self.randomness.choice([1.0, 0.3])))

    def rare(self, engine: Engine, number: int) -> None:
        if self.randomness.random() < 0.5:
            engine.activate(self.randomness.choice(self.ids))
        else:  # it is started again
            place = self.engines.index(engine)
            self.engines[place] = Engine(self.lab.store, engine.clock, engine.randomness)


@pytest.mark.parametrize("aggregation", ["first", "sum", "mean"])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_log_says_it_all(labs: Lab, aggregation: messages.Aggregation, seed: int) -> None:
    rule = messages.RewardRule(min=-1.0, max=2.0, aggregation=aggregation)
    control = messages.Control(arm="a", share=0.2) if seed % 2 else None
    labs.open(reward=rule, reward_window_s=20.0, default_reward=0.3 if seed > 1 else None, control=control)
    somebody = Somebody(labs, seed)
    for number in range(1, FEWER if labs.store.shared else STEPS):
        somebody.step(number)
    for seconds in (4_000.0, *[5.0] * 6):
        labs.clock.move(seconds)
        for engine in somebody.engines:
            while engine.work():
                pass
    with labs.store.reading() as session:
        verified = verify(session, "x")
        assert verified.identical and not verified.findings and broken_audit(session) is None
    assert repair(labs.store, 0.0, "x").version is None
    assert labs.rows("SELECT * FROM inbox") == []
    assert labs.rows("SELECT id FROM decision WHERE applied_version IS NULL AND expires_at IS NOT NULL") == []
    counted = {row[1:5]: row[5:9] for row in map(tuple, labs.rows("SELECT * FROM bucket"))}
    closed = {row[1:5]: row[5:9] for row in bucket_rows(1, [Closed(*row) for row in labs.rows(CLOSED)])}
    coarse = {key: counts for key, counts in closed.items() if key[0] == 10_800}  # the finer ones are not kept so long
    assert coarse == {key: counts for key, counts in counted.items() if key[0] == 10_800} != {}
