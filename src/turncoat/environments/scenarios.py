"""Scenarios: frozen games with stable names, for any horizon and seed, and suites of them.

A name never changes its meaning: a new game gets a new name. Numbers of switches hold for every horizon that is long
enough for them; shorter games have as many as fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from turncoat.environments.adaptive import Adaptive
from turncoat.environments.drift import Drift, RandomWalk
from turncoat.environments.environment import Environment
from turncoat.environments.level_jumps import LevelJumps
from turncoat.environments.linear import LinearDrift, LinearSwitching
from turncoat.environments.one_gap import Burst, Corrupted, Flip, LowerBound, Stationary
from turncoat.environments.piecewise import Piecewise
from turncoat.environments.traps import HiddenSteps, LateArm, SecondArm
from turncoat.errors import unknown
from turncoat.types import Seed
from turncoat.validation.numbers import MOST_ROUNDS, parse_whole

Make = Callable[[int, Seed], Environment]
Switches = Callable[[int, int], int]  # S, from T and K


class Scenario(NamedTuple):
    """A game waiting for a horizon and a seed: `make(horizon, seed)`."""

    id: str
    description: str
    make: Make


def crossover(T: int, K: int) -> int:
    """S = (T/K)^⅓, where the paper's two bounds meet: √S K^⅓ T^⅔ = S √(KT)."""
    return max(1, round(math.cbrt(T / K)))


def root(T: int, K: int) -> int:
    """S = √T."""
    return math.isqrt(T)


def game(family: Callable[..., Environment], K: int, S: int | Switches | None = None, **words: Any) -> Make:
    """A family with K arms and, if given, S switches (or jumps, or steps), or as many as the horizon has room for."""

    def make(T: int, seed: Seed) -> Environment:
        planted = () if S is None else (min(S(T, K) if callable(S) else S, T - 1),)
        return family(K, T, *planted, seed=seed, **words)

    return make


def _levels_with_switches(T: int, seed: Seed) -> Environment:
    return LevelJumps(5, T, min(200, T - 1), n_switches=min(4, T - 1), seed=seed)


_TURNS = "is 0.2 worse and 0.2 better than the first, in turns of"

_LIST: list[tuple[str, str, Make]] = [
    ("stationary/0", "one of 10 arms is always best, by 0.3", game(Stationary, 10)),
    ("flip/3", "2 of 5 arms take turns in being best, by 0.3; 3 switches, evenly spaced", game(Flip, 5, 3)),
    ("flip/10", "2 of 5 arms take turns in being best, by 0.3; 10 switches, evenly spaced", game(Flip, 5, 10)),
    ("flip/1000", "2 of 5 arms take turns in being best, by 0.3; 1000 switches, evenly spaced", game(Flip, 5, 1000)),
    ("piecewise/3", "the best of 10 arms, by 0.3, changes at 3 random rounds", game(Piecewise, 10, 3)),
    ("piecewise/10", "the best of 10 arms, by 0.3, changes at 10 random rounds", game(Piecewise, 10, 10)),
    ("piecewise/100", "the best of 10 arms, by 0.3, changes at 100 random rounds", game(Piecewise, 10, 100)),
    (
        "piecewise/crossover",
        "as piecewise/3, with (T/K)^⅓ switches, where the paper's two bounds meet",
        game(Piecewise, 10, crossover),
    ),
    ("piecewise/root", "as piecewise/3, with √T switches: S is large", game(Piecewise, 10, root)),
    ("close/10", "as piecewise/10, but the best arm is ahead by 0.1 only", game(Piecewise, 10, 10, gap=0.1)),
    (
        "real/10",
        "as piecewise/10, but losses are real numbers, within 0.3 of their means",
        game(Piecewise, 10, 10, noise=0.3),
    ),
    (
        "resampled/20",
        "all 6 means are drawn anew at 20 random rounds; the best is ahead by 0.1 or more",
        game(Piecewise, 6, 20, gap=0.1, resampled=True),
    ),
    ("levels/50", "all of 5 arms jump together 50 times; the best stays best, by 0.3", game(LevelJumps, 5, 50)),
    ("levels/500", "as levels/50, with 500 jumps", game(LevelJumps, 5, 500)),
    (
        "switching-levels/4",
        "all of 5 arms jump together 200 times, and 4 times another one becomes best, by 0.3",
        _levels_with_switches,
    ),
    ("drift/2", "5 arms rise and fall as sinusoids, 2 periods in all", game(Drift, 5, n_periods=2)),
    ("drift/20", "5 arms rise and fall as sinusoids, 20 periods in all", game(Drift, 5, n_periods=20)),
    ("drift/200", "5 arms rise and fall as sinusoids, 200 periods in all", game(Drift, 5, n_periods=200)),
    (
        "walk/400",
        "5 arms, each on a random walk of 400 steps",
        lambda T, seed: RandomWalk(5, T, n_steps=min(400, T), seed=seed),
    ),
    ("burst/100", "the best of 10 arms, by 0.3, changes 100 times within a fifth of the game", game(Burst, 10, 100)),
    (
        "trap/hidden",
        "no noise: halfway, one of 10 arms becomes better than the best, and nothing else changes",
        game(HiddenSteps, 10, 1),
    ),
    ("trap/staircase", "as trap/hidden, but 8 times, each time with another arm", game(HiddenSteps, 10, 8)),
    (
        "trap/alternations",
        "no noise: 2 of 10 arms cost nothing in turns, with 20 switches; everything else costs 1",
        game(Flip, 10, 20, gap=1.0, noise=0.0),
    ),
    ("trap/late", "no noise: the worst of 10 arms costs nothing in the last third of the game", game(LateArm, 10)),
    ("trap/second-20", f"the second of 10 arms {_TURNS} T/20 rounds", game(SecondArm, 10, 19)),
    ("trap/second-100", f"the second of 10 arms {_TURNS} T/100 rounds", game(SecondArm, 10, 99)),
    (
        "lower-bound/3",
        "4 segments of 10 arms with a gap of √(SK/T): as hard as 3 switches can be",
        game(LowerBound, 10, 3),
    ),
    (
        "lower-bound/crossover",
        "as lower-bound/3, with (T/K)^⅓ switches, where the paper's two bounds meet",
        game(LowerBound, 10, crossover),
    ),
    (
        "corrupted/1",
        "one of 10 arms is best, by 0.3; for the first twentieth of the game an adversary makes it look worst",
        lambda T, seed: Corrupted(10, T, T // 20, seed=seed),
    ),
    (
        "corrupted/20",
        "as corrupted/1, with the corrupted rounds in 20 bursts all over the game",
        lambda T, seed: Corrupted(10, T, T // 20, n_bursts=min(20, T), seed=seed),
    ),
    (
        "adaptive/5",
        "an adversary that watches: the most played of 5 arms costs 0.7 in mean, all others 0.3",
        game(Adaptive, 5),
    ),
    ("adaptive/20", "as adaptive/5, with 20 arms", game(Adaptive, 20)),
    (
        "linear/8",
        "50 arms are points in 8 dimensions; which direction is good changes at 8 random rounds",
        game(LinearSwitching, 50, 8),
    ),
    (
        "linear-drift/2",
        "as linear/8, but the good direction turns slowly, 2 times round",
        game(LinearDrift, 50, n_periods=2),
    ),
]

SCENARIOS: dict[str, Scenario] = {name: Scenario(name, description, make) for name, description, make in _LIST}

SUITES: dict[str, tuple[str, ...]] = {
    "quick": ("stationary/0", "flip/3", "piecewise/10", "drift/2"),
    "paper": (
        "stationary/0",
        "piecewise/3",
        "piecewise/crossover",
        "piecewise/root",
        "lower-bound/3",
        "lower-bound/crossover",
    ),
    "arena": tuple(SCENARIOS),
}


def scenario(name: str, horizon: int, seed: Seed = 0) -> Environment:
    """The environment that a scenario's id stands for, such as "flip/3"."""
    if not isinstance(name, str) or name not in SCENARIOS:
        raise unknown("scenario", name, SCENARIOS)
    return SCENARIOS[name].make(parse_whole("horizon", horizon, 1, MOST_ROUNDS), seed)


def suite(name: str) -> tuple[str, ...]:
    """The ids of the scenarios in a suite: "quick", "paper" or "arena"."""
    if not isinstance(name, str) or name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]
