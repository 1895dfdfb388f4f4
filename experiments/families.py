"""The families of games: which shapes they have, and how the numbers of a shape are drawn for a horizon.

"tune" and "test" are those of the first tuning, "tune-2" and "test-2" what production adds: losses that come late or in
batches, arms that are not always allowed, common levels, slow improvements, decoys, and up to a thousand arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments import tuned_shapes as tuned
from experiments import tuned_shapes_2 as tuned_2
from experiments import unseen_shapes as unseen
from experiments import unseen_shapes_2 as unseen_2
from turncoat.environments import Environment

FULL_SWING = {"sine", "saw", "triangle", "late-sine", "late-heat", "sessions-heat"}  # crest to trough: twice as large

Words = dict[str, Any]
Chance = np.random.Generator
FEW, SOME, HUNDREDS = (2, 5, 30), (3, 6, 30), (100, 250, 1000)  # arms


class Shape(NamedTuple):
    """How a game is made, and how the words it needs are drawn for a horizon."""

    make: Callable[..., Environment]
    words: Callable[[Chance, int], Words]
    arms: tuple[int, int, int] = (2, 5, 100)  # least, likeliest and most: triangular in the logarithm


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


def late(chance: Chance, T: int) -> int:
    """Rounds that a loss comes late, or of a batch: from 10 to 1,000, and T/20 at most, log-uniform."""
    return round(log_uniform(chance, 10, min(max(T / 20, 20), 1000)))


def batch(chance: Chance, T: int) -> int:
    """Rounds of a batch of an A/B/n test: from 100 to 5,000, and T/5 at most, log-uniform."""
    return round(log_uniform(chance, min(100, T / 10), min(5000, T / 5)))


def part(chance: Chance, low: float, high: float) -> float:
    """A share, uniform."""
    return round(chance.uniform(low, high), 2)


def sessions(chance: Chance, T: int) -> Words:
    """Arms come and go: how many are there, and for how many rounds they stay there or away."""
    return {"open": part(chance, 0.3, 0.7), "stay": length(chance, T)}


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
    "tune-2": {
        "late-piecewise": Shape(tuned.piecewise, lambda c, T: {**switches(c, T), "delay": late(c, T)}, FEW),
        "late-levels": Shape(
            tuned.levels_switching, lambda c, T: {"n_jumps": many(c, T), **switches(c, T), "delay": late(c, T)}, FEW
        ),
        "late-sine": Shape(tuned.sine, lambda c, T: {**periods(0.3)(c, T), "delay": late(c, T)}, FEW),
        "ab-gap": Shape(tuned.stationary, lambda c, T: {"batch": batch(c, T)}, (2, 4, 10)),
        "batched-resampled": Shape(tuned.resampled, lambda c, T: {**switches(c, T), "batch": late(c, T)}, FEW),
        "open-resampled": Shape(tuned.resampled, lambda c, T: {**switches(c, T), "open": part(c, 0.5, 0.9)}, SOME),
        "open-levels": Shape(
            tuned.levels_switching,
            lambda c, T: {"n_jumps": many(c, T), **switches(c, T), "open": part(c, 0.5, 0.9)},
            SOME,
        ),
        "outages": Shape(tuned_2.outages, lambda c, T: {"n_jumps": many(c, T)}),
        "outages-switching": Shape(tuned_2.outages, lambda c, T: {"n_jumps": many(c, T), **switches(c, T)}),
        "mending": Shape(tuned_2.mending, lambda c, T: {"start": part(c, 0.2, 0.4), "length": part(c, 0.05, 0.4)}),
        "outage-over": Shape(tuned_2.outage_over, lambda c, T: {"n_switches": 2 * int(c.integers(1, 5))}),
        "decoys": Shape(tuned_2.decoys, lambda c, T: {"length": length(c, T), "n_best": int(c.integers(1, 4))}, SOME),
        "crowd": Shape(tuned_2.crowd, lambda c, T: {"n_switches": int(c.integers(0, 4))}, HUNDREDS),
        "crowd-resampled": Shape(tuned.resampled, lambda c, T: {"n_switches": int(c.integers(1, 4))}, HUNDREDS),
    },
    "test-2": {
        "late-swaps": Shape(unseen_2.swaps, lambda c, T: {**switches(c, T), "delay": late(c, T)}, FEW),
        "late-heat": Shape(unseen_2.heat, lambda c, T: {**periods(0.3)(c, T), "delay": late(c, T)}, FEW),
        "late-storms": Shape(unseen_2.storms, lambda c, T: {"n_jumps": many(c, T), "delay": late(c, T)}, FEW),
        "ab-rates": Shape(unseen_2.rates, lambda c, T: {"batch": batch(c, T)}, (2, 4, 10)),
        "batched-swaps": Shape(unseen_2.swaps, lambda c, T: {**switches(c, T), "batch": late(c, T)}, FEW),
        "sessions-swaps": Shape(unseen_2.swaps, lambda c, T: {**switches(c, T), **sessions(c, T)}, SOME),
        "sessions-heat": Shape(unseen_2.heat, lambda c, T: {**periods(0.3)(c, T), **sessions(c, T)}, SOME),
        "storms": Shape(unseen_2.storms, lambda c, T: {"n_jumps": many(c, T)}),
        "storms-switching": Shape(unseen_2.storms, lambda c, T: {"n_jumps": many(c, T), **switches(c, T)}),
        "slow-recovery": Shape(
            unseen_2.slow_recovery, lambda c, T: {"start": part(c, 0.1, 0.4), "half_life": part(c, 0.02, 0.2)}
        ),
        "failover": Shape(unseen_2.failover, lambda c, T: {"n_jumps": int(c.integers(2, 9))}, SOME),
        "mirages": Shape(
            unseen_2.mirages, lambda c, T: {"length": length(c, T), "n_best": int(c.integers(1, 4))}, SOME
        ),
        "crowd-swaps": Shape(unseen_2.swaps, lambda c, T: {"n_switches": int(c.integers(0, 4))}, HUNDREDS),
        "newcomer": Shape(unseen_2.newcomer, lambda c, T: {"start": part(c, 0.2, 0.7)}, HUNDREDS),
    },
}
