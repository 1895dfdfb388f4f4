"""Where segments begin, which arm is best in each, and what the arms then cost in mean."""

from __future__ import annotations

import numpy as np

from turncoat.types import Ints, Matrix


def even_edges(horizon: int, n_segments: int) -> Ints:
    """Edges of segments that are equally long, to within one round: floor(i T / n), in whole numbers throughout."""
    whole, rest = divmod(horizon, n_segments)
    i = np.arange(n_segments + 1, dtype=np.int64)
    return i * whole + i * rest // n_segments


def random_rounds(chance: np.random.Generator, low: int, high: int, n: int) -> Ints:
    """n different rounds from low … high - 1, in order."""
    return np.sort(chance.choice(high - low, n, replace=False)).astype(np.int64) + low if n else np.empty(0, np.int64)


def random_edges(chance: np.random.Generator, horizon: int, n_switches: int) -> Ints:
    """Edges of segments that end at random rounds."""
    return np.concatenate([[0], random_rounds(chance, 1, horizon, n_switches), [horizon]]).astype(np.int64)


def wandering(chance: np.random.Generator, n_arms: int, n_switches: int) -> Ints:
    """Best arms drawn at random, each another one than before."""
    steps = chance.integers(1, max(n_arms, 2), n_switches)
    arms: Ints = (chance.integers(n_arms) + np.concatenate([[0], np.cumsum(steps)])).astype(np.int64) % n_arms
    return arms


def two_levels(n_arms: int, best: Ints, gap: float) -> Matrix:
    """A row for each best arm: its mean is (1 - gap)/2, that of all others (1 + gap)/2."""
    means = np.full((best.size, n_arms), 0.5 * (1.0 + gap))
    means[np.arange(best.size), best] = 0.5 * (1.0 - gap)
    return means
