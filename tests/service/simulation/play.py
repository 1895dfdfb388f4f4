"""What happens in a simulated world: a seed is a course of things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tests.naive.service_records import DAY, Arm, Decision, Settings
from tests.service.experiments.lab import RULE, uuid
from tests.service.simulation.invariants import check
from tests.service.simulation.world import NO_FAULT, Fault, Worker, World, Wrong
from turncoat.service import messages
from turncoat.service.messages import Command, Decide, Tell

HOUR = 3_600.0
KEYS = ("x", "y")
UNITS = ("anna", "bert", "carl")
NAMES = ("a", "b", "c", "d", "e")


def simulate(world: World, n_turns: int = 40) -> None:
    """One world, from its beginning until everything is closed; raises Wrong."""
    player = Player(world)
    with world.few_at_a_time():
        player.open_all()
        for _ in range(n_turns):
            player.turn()
        player.finish()
        check(world)


class Player:
    """Clients, operators and accidents."""

    def __init__(self, world: World) -> None:
        self.world, self.model, self.random = world, world.model, world.random
        self.has_faults = self.random.random() < 0.7
        self.told: list[Tell] = []

    def worker(self) -> Worker:
        return self.random.choice(self.world.workers)

    def fault(self) -> Fault:
        """Seldom one."""
        if not self.has_faults or self.random.random() > 0.25:
            return NO_FAULT
        crash, kind = self.random.random() < 0.3, self.random.random()
        if kind < 0.1:
            return Fault(is_down=True)
        if kind < 0.5:
            return Fault(statement=self.random.randint(1, 14), crash=crash)
        return Fault(commit=self.random.choice([1, 1, 2, 3]), after_commit=self.random.random() < 0.6, crash=crash)

    # --- settings ---

    def settings(self, arms: Sequence[str]) -> Settings:
        draw = self.random
        aggregation = draw.choice(["first", "first", "first", "sum", "mean", "last", "min", "max"])
        return Settings(
            0.0, draw.choice([1.0, 2.0]), aggregation, draw.choice([5.0, 60.0, 600.0]), draw.choice([None, 0.0, 0.5]),
            draw.choice([None, (draw.choice(arms), 0.25)]), draw.choice([0.0, 0.25]),
            flags=draw.random() < 0.7, keep=draw.choice([math.inf, math.inf, 3.0, 100.0]),
            keep_days=draw.choice([None, 1.0, 2.0]),
        )  # fmt: skip

    def open_all(self) -> None:
        for key in KEYS[: self.random.choice([1, 1, 2])]:
            arms = {name: Arm("active") for name in NAMES[: self.random.randint(2, 4)]}
            if self.random.random() < 0.3:
                arms["a"] = Arm("active", floor=0.2, cap=0.6)
            settings = self.settings(list(arms))
            while key not in self.model.experiments:
                self.world.create(self.worker(), key, settings, arms, self.fault())

    def change(self, worker: Worker, fault: Fault) -> None:
        """A caller changes settings or arms."""
        draw, key = self.random, self.random.choice(list(self.model.experiments))
        now = self.model.experiments[key].now
        if draw.random() < 0.4:
            new = self.settings(list(now.arms))
            running = now.settings.running if draw.random() < 0.8 else not now.settings.running
            kept = replace(new, low=now.settings.low, high=now.settings.high, aggregation=now.settings.aggregation)
            self.world.change(worker, key, replace(kept, running=running), fault)
            return
        name = draw.choice(NAMES[: len(now.arms) + 1])
        old = now.arms.get(name)
        if old is None:
            arm = Arm(draw.choice(["active", "pending"]), draw.choice([0.0, 0.1]))
        elif draw.random() < 0.7:
            arm = replace(old, state=draw.choice(["active", "active", "paused", "retired"]))
        elif old.state == "pending":
            return
        else:
            arm = replace(old, floor=draw.choice([0.0, 0.1, 0.5, 0.7]), cap=draw.choice([1.0, 0.5, 0.2]))
        self.world.set_arm(worker, key, name, arm, fault)

    # --- clients ---

    def ask(self) -> Decide:
        """A caller asks for a decision."""
        draw, key = self.random, self.random.choice([*self.model.experiments, *self.model.experiments, "nobody"])
        arms = list(self.model.experiments[key].now.arms) if key in self.model.experiments else ["a"]
        allowed = draw.sample(arms, draw.randint(1, len(arms))) if draw.random() < 0.25 else None
        unit = draw.choice(UNITS) if draw.random() < 0.4 else None
        ask = messages.Ask(
            unit_id=unit,
            allowed_arms=[*allowed, "z"] if allowed and draw.random() < 0.05 else allowed,
            sticky=draw.random() < (0.6 if unit else 0.02),
            deferred=draw.random() < 0.1,
            context=None if unit is None else {"of": unit},
            decision_id=uuid(draw.randint(1, 12)) if draw.random() < 0.3 else None,
        )
        again = draw.choice(["k1", "k2", "k3", "k4"]) if draw.random() < 0.3 else None
        return Decide(key, ask, again, is_flag=draw.random() < 0.3)

    def tell(self) -> Tell:
        """A caller reports a reward, often more than once."""
        draw = self.random
        if self.told and draw.random() < 0.25:
            again = draw.choice(self.told[-6:])
            if draw.random() < 0.7:
                return again
            return again._replace(reward=messages.Reward(value=0.25, reward_id=again.reward.reward_id))
        ids = list(self.model.decisions)[-8:]
        one = draw.choice(ids) if ids and draw.random() < 0.8 else uuid(draw.randint(1, 14))
        value = draw.choice([0.0, 0.5, 1.0, 1.0, 0.75, draw.choice([2.5, -1.0, math.nan])])
        self.told.append(Tell(one, messages.Reward(value=value, reward_id=draw.choice([None, None, "p", "q"]))))
        return self.told[-1]

    def batch(self, fault: Fault) -> list[Command]:
        """Some at a time. If the answer may get lost, decisions can be found again by their key or id."""
        commands: list[Command] = []
        for _ in range(self.random.choice([1, 1, 2, 4])):
            command: Command = self.ask() if self.random.random() < 0.5 else self.tell()
            nameless = (
                isinstance(command, Decide) and command.idempotency_key is None and command.ask.decision_id is None
            )
            if nameless and fault != NO_FAULT and len(commands) > 0:
                continue
            commands.append(command)
            if nameless and fault != NO_FAULT:
                break
        return commands

    def turn(self) -> None:
        """One thing happens."""
        self.move_clock()
        draw, world, fault = self.random.random(), self.world, self.fault()
        if len(world.workers) > 1 and self.random.random() < 0.15:
            self.race()
        elif draw < 0.58:
            if world.retries and self.random.random() < 0.6:
                world.serve(self.worker(), world.retries.pop())
            else:
                world.serve(self.worker(), self.batch(fault), fault)
        elif draw < 0.8:
            world.work(self.worker(), fault)
        elif draw < 0.92:
            self.change(self.worker(), fault)
        elif draw < 0.93:
            key = self.random.choice([None, *self.model.experiments])
            world.erase(self.worker(), self.random.choice(UNITS), key, fault)
        elif draw < 0.94:
            world.thin(self.worker(), self.random.choice(list(self.model.experiments)), fault)
        elif draw < 0.96:
            ids = [*self.model.decisions][-5:]
            world.activate(self.worker(), self.random.choice([*ids, uuid(99)]), fault)
        elif self.model.rule == RULE and self.random.random() < 0.3:
            world.upgrade()
        else:
            world.restart(self.worker())

    def race(self) -> None:
        """One worker has read what it needs, and is about to write; the other one is quicker."""
        slow, quick = self.random.sample(self.world.workers, 2)
        world, kind = self.world, self.random.random()

        def meanwhile() -> None:
            if kind < 0.5:
                world.work(quick)
            elif kind < 0.8:
                world.serve(quick, self.batch(NO_FAULT))
            else:
                self.change(quick, NO_FAULT)

        if self.random.random() < 0.5:
            world.work_interrupted(slow, self.random.randint(1, 3), meanwhile)
            return
        commands = self.batch(NO_FAULT)
        with world.interrupted(slow, 1, meanwhile):
            world.serve(slow, commands)

    def move_clock(self) -> None:
        """On as a rule; to the very end of a window, or a moment before; at times an hour off; hardly ever a day."""
        draw, clock = self.random, self.world.clock
        kind = draw.random()
        if kind < 0.45:
            clock.move(draw.choice([0.0, 0.01, 0.2, 0.3, 1.0, 7.0]))
        elif kind < 0.6:
            ends = [one.expires_at for one in self.model.decisions.values() if one.outcome is None and one.expires_at]
            if ends:
                end = draw.choice(ends)
                clock.time = draw.choice([end, math.nextafter(end, 0.0)])
        elif kind < 0.64:
            clock.move(draw.choice([HOUR, -HOUR]))
        elif kind < 0.67:
            clock.move(25.0 * HOUR)

    def work_twice(self) -> None:
        """A worker skips what another has just changed; without such a change it does everything."""
        worker = self.worker()
        self.world.work(worker)
        self.world.clock.move(1.0)
        self.world.work(worker)

    def finish(self) -> None:
        """Faults end, and time passes: everything that can be closed is."""
        world = self.world
        for worker in world.workers:
            world.restart(worker)
        while world.retries:
            world.serve(self.worker(), world.retries.pop())
        ends = [one.expires_at or 0.0 for one in self.model.decisions.values()]
        latest = max([world.clock.time, *ends, *self.model.early.values()])
        world.clock.time = latest + 1.0
        for _ in range(3 + len(self.model.decisions)):
            world.clock.move(1.0)
            self.work_twice()
            if not self.still_open() and not self.model.inbox:
                break
        world.clock.move(HOUR + 1.0)
        self.work_twice()
        if self.still_open() or self.model.inbox or self.model.early:
            raise Wrong(f"not closed: {self.still_open()}, {self.model.inbox}, {self.model.early}")
        self.prune_all()

    def prune_all(self) -> None:
        """Time passes, until decisions that are not kept for ever are old."""
        clock = self.world.clock
        times = [version.at for one in self.model.experiments.values() for version in one.versions]
        clock.time = max(clock.time, *times) + 2.0 * DAY + 1.0
        for _ in range(3 + len(self.model.decisions)):
            clock.move(61.0)
            self.work_twice()
        for key, one in self.model.experiments.items():
            self.world.thin(self.worker(), key)
            left = [decision.id for decision in self.model.decisions.values() if decision.experiment == key]
            if one.now.settings.keep_days is not None and set(left) - {one.id for one in self.open_for_ever()}:
                raise Wrong(f"not pruned: {left}")

    def open_for_ever(self) -> list[Decision]:
        """Deferred ones that were not activated."""
        return [one for one in self.model.decisions.values() if one.outcome is None]

    def still_open(self) -> list[Decision]:
        """Those that have a window."""
        return [one for one in self.model.decisions.values() if one.outcome is None and one.expires_at is not None]
