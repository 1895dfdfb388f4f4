"""A short life of a service that uses everything it can do, as a list of things to do to a world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.naive.service_records import DAY, Arm, Settings
from tests.service.experiments.lab import uuid
from tests.service.simulation.invariants import check
from tests.service.simulation.play import Player
from tests.service.simulation.world import NO_FAULT, Fault, World
from turncoat.service import messages
from turncoat.service.experiments.retention import count_due
from turncoat.service.messages import Command, Decide, Tell

WINDOW = 60.0
LONG_AGO = "01000000-0000-7000-8000-000000000001"  # an id of version 7
FIRST = Settings(0.0, 1.0, "first", WINDOW, 0.25, ("a", 0.2), 0.1)
SUM = Settings(0.0, 1.0, "sum", WINDOW, None, None, 0.0)
Step = Callable[[World, Fault], None]


def ask(key: str, idempotency_key: str | None = None, number: int | None = None, **more: object) -> Decide:
    decision_id = None if number is None else uuid(number)
    return Decide(key, messages.Ask(decision_id=decision_id, **more), idempotency_key)  # type: ignore[arg-type]


def keep(idempotency_key: str | None, number: int, *arms: str) -> Decide:
    more = {"unit_id": "u", "sticky": True, "context": {"of": "u"}}
    return ask("x", idempotency_key, number, allowed_arms=list(arms), **more)


def told(number: int, value: float, reward_id: str | None = None) -> Tell:
    return Tell(uuid(number), messages.Reward(value=value, reward_id=reward_id))


def serve(*commands: Command) -> Step:
    return lambda world, fault: world.serve(world.workers[0], commands, fault)


def work(seconds: float) -> Step:
    def step(world: World, fault: Fault) -> None:
        world.clock.move(seconds)
        world.work(world.workers[0], fault)

    return step


def create(key: str, settings: Settings, arms: Sequence[str], floor: float) -> Step:
    def step(world: World, fault: Fault) -> None:
        if key not in world.model.experiments:
            several = {name: Arm("active", floor if name == "a" else 0.0) for name in arms}
            world.create(world.workers[0], key, settings, several, fault)

    return step


def set_arm(key: str, name: str, arm: Arm) -> Step:
    return lambda world, fault: world.set_arm(world.workers[0], key, name, arm, fault)


def change(key: str, settings: Settings) -> Step:
    return lambda world, fault: world.change(world.workers[0], key, settings, fault)


def activate(number: int) -> Step:
    return lambda world, fault: world.activate(world.workers[0], uuid(number), fault)


def erase(unit: str, key: str | None) -> Step:
    return lambda world, fault: world.erase(world.workers[0], unit, key, fault)


def thin(key: str) -> Step:
    return lambda world, fault: world.thin(world.workers[0], key, fault)


def look(world: World, fault: Fault) -> None:
    """Everything that only reads."""
    engine = world.workers[0].engine
    heads = (engine.experiments, engine.audit)
    of_one = (engine.experiment, engine.arms, engine.state, engine.timeline, engine.switches)

    def everything() -> None:
        for read in heads:
            read()
        for read_one in of_one:
            read_one("x")
        engine.read(count_due, 1, world.clock.now())
        assert len(list(engine.log("x"))) > 0 and engine.decision(uuid(1)).experiment == "x"

    world.attempt(world.workers[0], fault, everything)


def upgrade(world: World, fault: Fault) -> None:
    """Another rule: the next change of x, and the next pass over y, begin with a checkpoint."""
    world.upgrade()
    look(world, fault)


SCRIPT: list[Step] = [
    create("x", FIRST, "abc", 0.1),
    create("y", SUM, "ab", 0.0),
    serve(ask("x", "k1", 1), keep("k2", 2, "a", "b"), ask("x", None, 3, deferred=True)),
    serve(ask("y", None, 4), ask("y", "k1", 5), ask("x", None, 6, allowed_arms=["a", "b"])),
    serve(told(1, 1.0), told(1, 1.0), told(4, 0.5, "p"), told(7, 0.5, "p"), told(8, 0.5), told(9, 9.0)),
    serve(told(1, 0.0), told(4, 0.25, "q"), told(5, 0.75, "p"), told(5, 0.75, "q"), told(7, 0.25, "q"), told(8, 0.25)),
    serve(ask("x", None, 7), ask("y", None, 8), ask("x", None, 9)),
    serve(told(7, 0.5), told(6, 0.75)),
    work(1.0),
    set_arm("x", "d", Arm("active")),
    set_arm("x", "b", Arm("paused")),
    serve(ask("x", "k1", 1), keep(None, 10, "c", "d"), ask("x", "k3", 11)),
    serve(keep(None, 12, "a", "b", "c", "d"), ask("y", "k2", 13), told(10, 1.0), told(99, 1.0)),
    activate(3),
    change("x", replace(FIRST, default=0.5, holdout=0.2)),
    work(1.0),
    upgrade,
    set_arm("x", "a", Arm("retired")),
    serve(told(13, 0.5)),
    look,
    work(WINDOW),
    serve(told(2, 1.0), told(13, 0.5), told(4, 0.1, "r")),
    work(3_700.0),
    erase("u", "x"),
    erase("v", None),
    change("x", replace(FIRST, default=0.5, holdout=0.2, keep_days=1.0)),
    change("y", replace(SUM, keep_days=2.0)),
    work(DAY + WINDOW),
    serve(
        ask("y", "k4", unit_id="v", sticky=True, context={"of": "v"}),
        ask("x", None, unit_id="w", sticky=True, context={"of": "w"}),
    ),
    *(work(0.1) for _ in range(20)),
    serve(told(1, 1.0), told(14, 1.0), Tell(LONG_AGO, messages.Reward(value=1.0))),
    thin("x"),
    thin("y"),
    erase("v", None),
    work(WINDOW),
    *(work(DAY) for _ in range(2)),
]


def act(world: World, step: int | None = None, fault: Fault = NO_FAULT) -> list[list[str]]:
    """The whole script, with a fault in one step, after which it is tried again; then all is checked.

    The statements of each step.
    """
    statements: list[list[str]] = []
    with world.few_at_a_time():
        for number, do in enumerate(SCRIPT):
            if number == step:
                do(world, fault)
                while world.retries:
                    world.serve(world.workers[0], world.retries.pop())
            do(world, NO_FAULT)
            statements.append(world.workers[0].store.names)
        Player(world).finish()
        check(world)
    return statements
