"""A game from its mean losses, and what shapes of games are drawn with."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from turncoat.environments.segments import Segments
from turncoat.types import Ints, Matrix

TIE = 1e-12  # means that differ by no more are equal: rounding alone can make that


class Place(NamedTuple):
    """What every shape is given: the size of the game, a gap, chance for its layout, and a seed for its losses."""

    n_arms: int
    horizon: int
    gap: float
    chance: np.random.Generator
    seed: np.random.SeedSequence


class Means(Segments):
    """A game from its edges and a row of means for each segment. Drifting: a row for each edge, straight lines between.

    Where several arms are best, the planted path stays with the one it is at.
    """

    name = "means"
    words = ("n_switches", "given")

    def __init__(
        self, place: Place, edges: Ints, means: Matrix, *, drifting: bool = False, noise: str | float = "bernoulli"
    ) -> None:
        super().__init__(place.n_arms, place.horizon, noise, place.seed)
        rows = np.clip(means, 0.0, 1.0)
        self._room_for(len(rows))
        digest = hashlib.sha256(edges.astype("<i8").tobytes() + rows.astype("<f8").tobytes())
        self.given = f"{'drifting ' * drifting}{digest.hexdigest()}"
        if drifting:
            self._drift(edges, rows)
        else:
            self._plant(edges, rows, staying(rows))


def staying(means: Matrix) -> Ints:
    """The best arm of every segment; where several are, the one that was the best before stays."""
    best: Ints = means.argmin(axis=1).astype(np.int64)
    for i in range(1, best.size):
        if means[i, best[i - 1]] <= means[i, best[i]] + TIE:
            best[i] = best[i - 1]
    return best


def switching(place: Place, edges: Ints, best: Ints, level: Matrix | None = None) -> Matrix:
    """Means of segments in which one arm is ahead of all others by the gap; `level` is that of the others."""
    others = np.full(edges.size - 1, 0.5 + place.gap / 2) if level is None else level
    means = np.repeat(others[:, None], place.n_arms, axis=1)
    means[np.arange(best.size), best] -= place.gap
    return means


def cut(horizon: int, rounds: Ints) -> Ints:
    """Edges of the segments that begin in round 0 and at these rounds."""
    return np.concatenate([[0], np.sort(rounds), [horizon]]).astype(np.int64)


def at_random(place: Place, n: int) -> Ints:
    """n different rounds, none of them the first."""
    return place.chance.choice(np.arange(1, place.horizon), min(n, place.horizon - 1), replace=False)


def evenly(horizon: int, n_segments: int) -> Ints:
    """Edges of segments of equal length, to within one round; no more of them than rounds."""
    return np.unique(np.linspace(0, horizon, n_segments + 1).astype(np.int64))


def wandering(place: Place, n: int) -> Ints:
    """n arms, each another one than the one before."""
    steps = place.chance.integers(1, place.n_arms, n - 1)
    arms: Ints = (place.chance.integers(place.n_arms) + np.concatenate([[0], np.cumsum(steps)])) % place.n_arms
    return arms.astype(np.int64)
