"""`turncoat serve --demo`: two simulated experiments whose best arm keeps changing, with some hours of history.

The history is simulated into a new database with a simulated clock. Then a thread sends live traffic over HTTP: it asks
for decisions and reports most of their rewards after a delay.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from turncoat.cli.console import screen
from turncoat.errors import OptionError
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.messages import Command, Decide, Tell
from turncoat.service.store import open_store

HOURS = 2.0
ACTOR = "demo"
TICK = 15.0  # seconds of simulated history per step
RATE = 12.0  # live decisions per second
HURRY = 30.0  # live, the best arm changes this many times faster than in the history


class Game(NamedTuple):
    """One experiment and the model of its rewards."""

    new: messages.NewExperiment
    share: float  # of all decisions
    lasts: float  # seconds between changes of the best arm
    best: float
    others: float
    noise: bool  # rewards between 0 and 1; otherwise 0 or 1
    missing: float  # share of decisions without a reward

    def mean(self, arm: int, n_arms: int, at: float) -> float:
        """The mean reward of an arm at this time."""
        turn = int(at // self.lasts)
        return self.best if arm == (turn + turn // n_arms) % n_arms else self.others - 0.03 * arm

    def reward(self, arm: int, n_arms: int, at: float, chance: random.Random) -> float:
        """A random reward of an arm at this time."""
        mean = self.mean(arm, n_arms, at)
        if self.noise:
            return min(max(chance.gauss(mean, 0.12), 0.0), 1.0)
        return float(chance.random() < mean)


GAMES = (
    Game(
        messages.NewExperiment(
            key="checkout-button",
            arms=["one click", "two steps", "guest first", "with reviews"],
            reward_window_s=30.0,
            default_reward=0.0,
            control=messages.Control(arm="two steps", share=0.1),
        ),
        share=0.7,
        lasts=2_400.0,
        best=0.5,
        others=0.25,
        noise=False,
        missing=0.3,
    ),
    Game(
        messages.NewExperiment(
            key="llm-provider",
            arms=[
                messages.NamedArm(arm=name, payload={"model": f"{name}-1"}) for name in ("aurora", "boreas", "cirrus")
            ],
            reward_window_s=60.0,
            control=messages.Control(arm="aurora", share=0.1),
            floors={"aurora": 0.05, "boreas": 0.05, "cirrus": 0.05},
        ),
        share=0.3,
        lasts=3_300.0,
        best=0.75,
        others=0.55,
        noise=True,
        missing=0.02,
    ),
)


class _Then:
    """A clock that is set by hand."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def past_of_it(database: str, until: float | None = None, randomness: Randomness | None = None) -> None:
    """Create the experiments and simulate their history up to `until`, now by default, unless an earlier demo did."""
    from rich.progress import track

    store = open_store(database)
    try:
        end = time.time() if until is None else until
        clock = _Then(end - HOURS * 3600.0)
        engine, chance = Engine(store, clock, randomness), random.Random(20)
        if _was_here(engine):
            return
        for game in GAMES:
            engine.create(game.new, actor=ACTOR)
        waiting: list[tuple[float, int, Tell]] = []
        tie = itertools.count()
        steps = range(int((end - clock.at) / TICK))
        for _ in track(steps, "two hours of history", console=screen(stderr=True), transient=True):
            clock.at += TICK
            due: list[Command] = []
            while waiting and waiting[0][0] <= clock.at:
                due.append(heapq.heappop(waiting)[2])
            asked = [(game, Decide(game.new.key, messages.Ask())) for game in _some(chance, 12)]
            answers = engine.serve([*due, *(command for _, command in asked)])[len(due) :]
            for (game, _), decided in zip(asked, answers, strict=True):
                if isinstance(decided, messages.Decided):
                    for delay, tell in _told(game, decided, clock.at, chance):
                        heapq.heappush(waiting, (clock.at + delay, next(tie), tell))
            engine.work()
    finally:
        store.close()


def _was_here(engine: Engine) -> bool:
    """Whether an earlier demo filled the database; an error if it holds other experiments."""
    keys = [one.key for one in engine.experiments()]
    if all(engine.audit(key)[0].actor == ACTOR for key in keys):
        return bool(keys)
    raise OptionError(f"the database has {', '.join(map(repr, keys[:3]))} in it; --demo wants a new one, or its own")


def _some(chance: random.Random, n: int) -> list[Game]:
    return chance.choices(GAMES, [game.share for game in GAMES], k=n)


def _told(game: Game, decided: messages.Decided, at: float, chance: random.Random) -> Iterator[tuple[float, Tell]]:
    """The reward of a decision and its delay in seconds, unless it is missing."""
    if chance.random() >= game.missing and decided.decision_id is not None:
        names = [arm if isinstance(arm, str) else arm.arm for arm in game.new.arms]
        reward = game.reward(names.index(decided.arm), len(names), at, chance)
        yield (
            min(-math.log(1.0 - chance.random()) * 4.0, 40.0),
            Tell(decided.decision_id, messages.Reward(value=reward)),
        )


def live_in_it(address: str) -> None:
    """Start a daemon thread that sends live traffic."""
    threading.Thread(target=_live, args=(address,), name="turncoat-demo", daemon=True).start()


def _live(address: str) -> None:
    from turncoat.service.client import Client
    from turncoat.service.errors import Problem

    chance = random.Random()
    waiting: list[tuple[float, int, Tell]] = []
    tie, start = itertools.count(), time.time()
    with Client(address) as client:
        while True:
            time.sleep(1.0 / RATE)
            try:
                (game,) = _some(chance, 1)
                decided = client.decide(game.new.key)
                now = time.time()
                for delay, tell in _told(game, decided, start + HURRY * (now - start), chance):
                    heapq.heappush(waiting, (now + delay, next(tie), tell))
                while waiting and waiting[0][0] <= time.time():
                    tell = heapq.heappop(waiting)[2]
                    client.reward(tell.decision_id, tell.reward.value)
            except (Problem, OSError):
                time.sleep(1.0)  # it is starting, or ending
