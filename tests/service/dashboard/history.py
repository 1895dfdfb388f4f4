"""A made-up history, told to a real engine by a clock that runs fast: switches, arms that come and go, bad rewards."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field

from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.messages import Command, Decide, Tell
from turncoat.service.store.interface import Store

START = 1_763_200_800.0  # 15 November 2025, 10:00 UTC


@dataclass
class FastClock:
    """Shows what it was set to."""

    at: float = START

    def now(self) -> float:
        return self.at


@dataclass
class History:
    """One experiment with its callers. `means`: from which share of the time on which arm pays how much."""

    store: Store
    key: str = "checkout-button"
    hours: float = 6.0
    per_minute: int = 30
    means: tuple[tuple[float, dict[str, float]], ...] = (
        (0.0, {"classic": 0.10, "one-click": 0.26, "banner": 0.08, "video": 0.0}),
        (0.35, {"classic": 0.28, "one-click": 0.10, "banner": 0.08, "video": 0.12}),
        (0.7, {"classic": 0.09, "one-click": 0.10, "banner": 0.12, "video": 0.32}),
    )
    window_s: float = 900.0
    seed: int = 7
    step_s: float = 10.0
    clock: FastClock = field(default_factory=FastClock)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.engine = Engine(self.store, self.clock, Randomness(self.seed))
        self._due: list[tuple[float, str, float]] = []
        self.served: list[messages.Decided] = []

    def open(self) -> None:
        """Three arms, a control, a default of 0."""
        self.engine.create(
            messages.NewExperiment(
                key=self.key,
                arms=[
                    "classic",
                    messages.NamedArm(arm="one-click", payload={"label": "Buy now"}),
                    "banner",
                ],
                reward_window_s=self.window_s,
                default_reward=0.0,
                control=messages.Control(arm="classic", share=0.1),
                floors={"classic": 0.02, "one-click": 0.02, "banner": 0.02},
                seed=self.seed,
            ),
            actor="ana",
        )

    def run(self) -> None:
        """All of it: an arm is added at a quarter, one paused at half and active again at four fifths of the time."""
        self.open()
        begin, length = self.clock.at, self.hours * 3600.0
        plan = [
            (0.25, lambda: self.engine.add_arm(self.key, messages.NewArm(arm="video", floor=0.02), actor="ben")),
            (0.5, lambda: self.engine.change_arm(self.key, "banner", messages.ArmChange(state="paused"), actor="ana")),
            (0.8, lambda: self.engine.change_arm(self.key, "banner", messages.ArmChange(state="active"), actor="ana")),
        ]
        while (done := (self.clock.at - begin) / length) < 1.0:
            while plan and plan[0][0] <= done:
                plan.pop(0)[1]()
            pays = [means for since, means in self.means if since <= done][-1]
            self.step(self.step_s, pays)

    def step(self, seconds: float, pays: dict[str, float]) -> None:
        """So many seconds pass."""
        self.clock.at += seconds
        n = round(self.per_minute * seconds / 60.0) or 1
        asks: list[Command] = [
            Decide(self.key, messages.Ask(unit_id=f"visitor-{self.chance.random()}")) for _ in range(n)
        ]
        for decided in self.engine.serve(asks):
            assert isinstance(decided, messages.Decided) and decided.decision_id is not None
            self.served.append(decided)
            if self.chance.random() < pays[decided.arm]:
                delay = self.chance.expovariate(1 / 60.0) + (1200.0 if self.chance.random() < 0.02 else 0.0)
                heapq.heappush(self._due, (self.clock.at + delay, decided.decision_id, 1.0))
        tells: list[Command] = []
        while self._due and self._due[0][0] <= self.clock.at:
            _, one, value = heapq.heappop(self._due)
            tells += [Tell(one, messages.Reward(value=value))]
            odd = self.chance.random()
            if odd < 0.03:
                tells += [Tell(one, messages.Reward(value=value if odd < 0.02 else 0.5))]  # again, or otherwise
        self.engine.serve(tells)
        while self.engine.work():
            pass
