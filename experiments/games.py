"""Named games from a seed, in two families that share no shape but the adaptive adversary, and no seed.

    games = draw("tune", n=28, horizon=10_000, seed=0)    # shape after shape; arms, gap and the rest are drawn
    environment = games[3].make(rep=2)                    # layout and losses of repetition 2

The number of arms lies between 2 and 100, small ones more often; gaps are log-uniform from .05 to .8. What is tuned, is
tuned on "tune". A seed of "test" whose results were looked at is spent: report it, and draw another one from then on.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments import tuned_shapes as tuned
from experiments import unseen_shapes as unseen
from experiments.means import Place
from turncoat.environments import Environment
from turncoat.errors import OptionError, unknown

EDITION = 1  # raise it when any shape changes: results are known by it
FULL_SWING = {"sine", "saw", "triangle"}  # their gap is from crest to trough, so it is drawn twice as large

Words = dict[str, Any]
Chance = np.random.Generator


class Shape(NamedTuple):
    """How a game is made, and how the words it needs are drawn for a horizon."""

    make: Callable[..., Environment]
    words: Callable[[Chance, int], Words]


class Game(NamedTuple):
    """A game that can be made again and again: every repetition has another layout and other losses."""

    name: str
    shape: str
    n_arms: int
    horizon: int
    gap: float
    words: Words

    @property
    def label(self) -> str:
        """Its name among games of one family, seed and horizon."""
        number = self.name.partition(" ")[0].rpartition("/")[2]
        return f"{number} {self.name.partition(' ')[2].replace(f'T={self.horizon} ', '')}"

    @property
    def offset(self) -> float:
        """r0 = ¼√(KT): regret that is too small to be compared."""
        return 0.25 * math.sqrt(self.n_arms * self.horizon)

    def seed(self, rep: int, use: int) -> np.random.SeedSequence:
        """Randomness of a repetition, for one of several uses: 0 losses, 1 layout, 2 learners."""
        return np.random.SeedSequence([zlib.crc32(f"{self.name}|{EDITION}".encode()), rep, use])

    def make(self, rep: int) -> Environment:
        """The environment of a repetition, fresh."""
        chance = np.random.default_rng(self.seed(rep, 1))
        place = Place(self.n_arms, self.horizon, self.gap, chance, self.seed(rep, 0))
        return _SHAPES[self.shape].make(place, **self.words)


def log_uniform(chance: Chance, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def few(chance: Chance, T: int) -> int:
    """Switches: from 1 to √T/3, log-uniform."""
    return round(log_uniform(chance, 1, max(math.sqrt(T) / 3, 2)))


def many(chance: Chance, T: int) -> int:
    """Jumps of all arms together: from 4 to T^0.6, log-uniform."""
    return round(log_uniform(chance, 4, max(T**0.6, 8)))


def length(chance: Chance, T: int) -> int:
    """Rounds of a segment: from 30 to T/20, log-uniform."""
    return int(log_uniform(chance, 30, max(T / 20, 60)))


def periods(power: float) -> Callable[[Chance, int], Words]:
    """Periods of a whole game: from a half to T^power, log-uniform."""
    return lambda chance, T: {"periods": round(log_uniform(chance, 0.5, T**power), 2)}


def switches(chance: Chance, T: int) -> Words:
    """Few of them."""
    return {"n_switches": few(chance, T)}


def nothing(chance: Chance, T: int) -> Words:
    """No words."""
    return {}


FAMILIES: dict[str, dict[str, Shape]] = {
    "tune": {
        "stationary": Shape(tuned.stationary, nothing),
        "piecewise": Shape(tuned.piecewise, switches),
        "resampled": Shape(tuned.resampled, switches),
        "flips": Shape(tuned.flips, lambda c, T: {**switches(c, T), "n_best": int(c.integers(2, 5))}),
        "levels": Shape(tuned.levels, lambda c, T: {"n_jumps": many(c, T)}),
        "levels-switching": Shape(tuned.levels_switching, lambda c, T: {"n_jumps": many(c, T), **switches(c, T)}),
        "sine": Shape(tuned.sine, periods(0.45)),
        "saw": Shape(tuned.saw, periods(0.4)),
        "stairs": Shape(tuned.stairs, lambda c, T: {"n_switches": int(c.integers(2, 13))}),
        "ping-pong": Shape(tuned.ping_pong, lambda c, T: {"length": length(c, T)}),
        "burst": Shape(tuned.burst, switches),
        "real-valued": Shape(
            tuned.real_valued, lambda c, T: {**switches(c, T), "spread": round(c.uniform(0.1, 0.5), 2)}
        ),
        "second-arm": Shape(tuned.second_arm, switches),
        "adaptive": Shape(tuned.adaptive, nothing),
    },
    "test": {
        "pareto-pieces": Shape(unseen.pareto_pieces, switches),
        "some-arms-move": Shape(unseen.some_arms_move, switches),
        "weather": Shape(
            unseen.weather, lambda c, T: {"n_jumps": many(c, T), "n_switches": int(c.integers(0, 2)) * few(c, T)}
        ),
        "tide": Shape(unseen.tide, lambda c, T: {"periods": round(c.uniform(1, 20), 2), **switches(c, T)}),
        "triangle": Shape(unseen.triangle, periods(0.4)),
        "walk": Shape(unseen.walk, lambda c, T: {"n_steps": int(log_uniform(c, 20, max(T / 20, 40)))}),
        "sudden-improvements": Shape(unseen.sudden_improvements, lambda c, T: {"n_switches": int(c.integers(2, 9))}),
        "late-arm": Shape(unseen.late_arm, lambda c, T: {"start": round(c.uniform(0.3, 0.7), 2)}),
        "round-robin": Shape(
            unseen.round_robin, lambda c, T: {"length": length(c, T), "n_best": int(c.integers(2, 5))}
        ),
        "two-bursts": Shape(unseen.two_bursts, switches),
        "fading": Shape(unseen.fading, switches),
        "growing-phases": Shape(unseen.growing_phases, lambda c, T: {"growth": round(c.uniform(1.3, 2.2), 2)}),
        "small-noise": Shape(unseen.small_noise, lambda c, T: {**switches(c, T), "spread": 0.05}),
        "adaptive": Shape(tuned.adaptive, lambda c, T: {"noise": 0.0 if c.random() < 0.5 else "bernoulli"}),
    },
}
_SHAPES = {name: shape for family in FAMILIES.values() for name, shape in family.items()}


def draw(family: str, n: int, horizon: int, seed: int = 0) -> list[Game]:
    """The first n games of this seed: shape after shape, and round again with other numbers when all were had."""
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    if horizon < 100:
        raise OptionError(f"horizon is {horizon}; accepted are at least 100 rounds")
    shapes = list(FAMILIES[family].items())
    games = []
    for i in range(n):
        name, shape = shapes[i % len(shapes)]
        chance = np.random.default_rng([list(FAMILIES).index(family) + 1, seed, i, horizon])
        n_arms = round(math.exp(chance.triangular(math.log(2), math.log(5), math.log(100))))
        gap = round(log_uniform(chance, 0.05, 0.8), 3)
        gap = round(min(0.98, 2 * gap), 3) if name in FULL_SWING else gap
        words = shape.words(chance, horizon)
        said = [f"{word}={value}" for word, value in words.items()]
        title = " ".join([f"{family}/{seed}/{i} {name}", f"T={horizon} K={n_arms} gap={gap}", *said])
        games.append(Game(title, name, n_arms, horizon, gap, words))
    return games


def planted_loss(environment: Environment) -> float | None:
    """The mean loss of the planted path; None where an adversary adapts, and there is none."""
    if environment.n_switches is None:
        return None
    return float(environment.mean_losses(environment.planted_path()).sum())


def fingerprint(environment: Environment) -> str:
    """A mark of a game: two versions of the package that agree in it lay out the same game, with the same losses."""
    first = (
        b"" if environment.n_switches is None else environment.losses_block(0, min(64, environment.horizon)).tobytes()
    )
    return f"{zlib.crc32(first):08x} {planted_loss(environment)}"
