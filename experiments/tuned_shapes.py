"""Family "tune": the shapes that Turncoat was tuned on. Most are games of ours; the rest are written down as means."""

from __future__ import annotations

import numpy as np

from experiments.means import Means, Place, evenly
from turncoat.environments import (
    Adaptive,
    Burst,
    Drift,
    Environment,
    Flip,
    LevelJumps,
    Piecewise,
    SecondArm,
    Stationary,
)

KNOTS_A_PERIOD = 64


def stationary(place: Place) -> Environment:
    """Nothing changes: what does readiness for changes cost where there are none?"""
    return Stationary(place.n_arms, place.horizon, gap=place.gap, seed=place.seed)


def piecewise(place: Place, n_switches: int) -> Environment:
    """One arm is ahead, then another, at random rounds: the game of the theorems."""
    return Piecewise(place.n_arms, place.horizon, n_switches, gap=place.gap, seed=place.seed)


def resampled(place: Place, n_switches: int) -> Environment:
    """All means are drawn anew at every switch: the old best arm may stay good, and gaps differ."""
    return Piecewise(place.n_arms, place.horizon, n_switches, gap=place.gap, resampled=True, seed=place.seed)


def flips(place: Place, n_switches: int, n_best: int) -> Environment:
    """Two to four arms take turns at even distances: remembering old favourites pays."""
    n_best = min(n_best, place.n_arms)
    return Flip(place.n_arms, place.horizon, n_switches, n_best=n_best, gap=place.gap, seed=place.seed)


def levels(place: Place, n_jumps: int) -> Environment:
    """All arms jump together and one stays best: every jump is a false alarm to a change detector."""
    return LevelJumps(place.n_arms, place.horizon, n_jumps, gap=place.gap, seed=place.seed)


def levels_switching(place: Place, n_jumps: int, n_switches: int) -> Environment:
    """The same jumps, and now and then the best arm does change: which alarms are false?"""
    return LevelJumps(place.n_arms, place.horizon, n_jumps, n_switches=n_switches, gap=place.gap, seed=place.seed)


def sine(place: Place, periods: float) -> Environment:
    """Smooth drift, each arm with its own phase: no change point anywhere."""
    return Drift(place.n_arms, place.horizon, n_periods=periods, amplitude=place.gap / 2, seed=place.seed)


def saw(place: Place, periods: float) -> Environment:
    """Every arm gets slowly worse and then at once good: drift and jumps in one."""
    edges = evenly(place.horizon, max(8, int(KNOTS_A_PERIOD * periods)))
    phases = (place.chance.permutation(place.n_arms) + place.chance.random()) / place.n_arms
    turns = periods * edges[:, None] / place.horizon + phases
    return Means(place, edges, 0.5 + place.gap * (turns % 1.0 - 0.5), drifting=True)


def stairs(place: Place, n_switches: int) -> Environment:
    """The arm in use stays as it is; unseen, another becomes better, step by step: only exploration finds out."""
    arms = place.chance.permutation(place.n_arms)
    top = 0.5 + place.gap / 2
    means = np.full((n_switches + 1, place.n_arms), min(top + 0.1, 1.0))
    for i in range(n_switches + 1):
        means[i:, arms[i % place.n_arms]] = top - place.gap * i / n_switches
    return Means(place, evenly(place.horizon, n_switches + 1), means)


def ping_pong(place: Place, length: int) -> Environment:
    """Two arms change places every `length` rounds, often too fast to follow."""
    n_switches = place.horizon // length - 1
    return Flip(place.n_arms, place.horizon, n_switches, n_best=2, gap=place.gap, seed=place.seed)


def burst(place: Place, n_switches: int) -> Environment:
    """All switches within a fifth of the game: no single rate suits all of it."""
    return Burst(place.n_arms, place.horizon, n_switches, fraction=0.2, gap=place.gap, seed=place.seed)


def real_valued(place: Place, n_switches: int, spread: float) -> Environment:
    """Resampled means with real-valued losses around them: less noise than 0/1."""
    return Piecewise(
        place.n_arms, place.horizon, n_switches, gap=place.gap, resampled=True, noise=spread, seed=place.seed
    )


def second_arm(place: Place, n_switches: int) -> Environment:
    """A steady arm, and one that is better and worse in turns: is following it worth the cost?"""
    return SecondArm(place.n_arms, place.horizon, n_switches, gap=place.gap / 2, seed=place.seed)


def adaptive(place: Place, noise: str | float = "bernoulli") -> Environment:
    """The arm played most often is the worst one: beyond the theorems, which are for oblivious games."""
    low, high = 0.5 - place.gap / 2, 0.5 + place.gap / 2
    return Adaptive(place.n_arms, place.horizon, low=low, high=high, noise=noise, seed=place.seed)
