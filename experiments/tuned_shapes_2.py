"""Family "tune-2": what production adds to the shapes of "tune". Some games are late, batched or restricted."""

from __future__ import annotations

import numpy as np

from experiments.means import Means, Place, at_random, cut, switching, wandering
from turncoat.environments import Environment

OUTAGE = 0.15  # what a failed arm is worse by than all others


def graded(place: Place) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Distances of the arms from the best one, even ones from 0 to the gap, in random order."""
    distances: np.ndarray[tuple[int], np.dtype[np.float64]] = np.linspace(0.0, place.gap, place.n_arms)
    return place.chance.permutation(distances)


def outages(place: Place, n_jumps: int, n_switches: int = 0) -> Environment:
    """All arms are bad together, then good again, and so on; in between, their order changes now and then, or never."""
    jumps, switches = (np.sort(at_random(place, n)) for n in (n_jumps, n_switches))
    edges = np.unique(cut(place.horizon, np.concatenate([jumps, switches])))
    bad = np.searchsorted(jumps, edges[:-1], side="right") % 2
    orders = np.array([graded(place) for _ in range(n_switches + 1)])
    order = orders[np.searchsorted(switches, edges[:-1], side="right")]
    return Means(place, edges, order + (1 - place.gap) * bad[:, None])


def mending(place: Place, start: float, length: float) -> Environment:
    """An arm that is not being played improves in a straight line until it is the best; all others stay as they are."""
    rounds = np.array([0.0, start, start + length, 1.0]) * place.horizon
    means = np.full((4, place.n_arms), 0.5 + place.gap / 2)
    steady, mends = place.chance.permutation(place.n_arms)[:2]
    means[:, steady] = 0.5
    means[2:, mends] = 0.5 - place.gap / 2
    return Means(place, rounds.astype(np.int64), means, drifting=True)


def outage_over(place: Place, n_switches: int) -> Environment:
    """The best arm fails and recovers, over and over: while it is down, the second one is used; it never changes."""
    means = np.full((n_switches + 1, place.n_arms), 0.5 + place.gap / 2)
    best, second = place.chance.permutation(place.n_arms)[:2]
    means[:, second] = 0.5
    means[::2, best] = 0.5 - place.gap / 2
    means[1::2, best] = 0.5 + place.gap / 2 + OUTAGE
    return Means(place, cut(place.horizon, at_random(place, n_switches)), means)


def decoys(place: Place, length: int, n_best: int) -> Environment:
    """A steady arm; others are better for `length` rounds at a time, in turn, and much worse otherwise."""
    edges = cut(place.horizon, np.arange(length, place.horizon, length))
    means = np.full((edges.size - 1, place.n_arms), 0.5 + place.gap / 2)
    steady, *others = place.chance.permutation(place.n_arms)[: n_best + 1]
    means[:, others] = 0.5 + place.gap
    means[:, steady] = 0.5
    for i in range(1, len(means), 2):
        means[i, others[i // 2 % len(others)]] = 0.5 - place.gap / 2
    return Means(place, edges, means)


def crowd(place: Place, n_switches: int) -> Environment:
    """Hundreds of arms, one ahead of all others, and hardly a switch."""
    edges = cut(place.horizon, at_random(place, n_switches))
    return Means(place, edges, switching(place, edges, wandering(place, n_switches + 1)))
