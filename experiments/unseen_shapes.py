"""Family "test": thirteen other shapes, written before tuning began, played once, when it had ended."""

from __future__ import annotations

import math

import numpy as np

from experiments.means import Means, Place, at_random, cut, evenly, switching, wandering
from turncoat.environments import Environment, RandomWalk, StochasticallyConstrained

TAIL = 1.2  # of the lengths of Pareto pieces: a finite mean, no variance
LEAST_MOVE = 0.05


def pareto_pieces(place: Place, n_switches: int) -> Environment:
    """Pieces of very unequal lengths, each at a level of its own: a few long, many short."""
    lengths = (1 - place.chance.random(n_switches + 1)) ** (-1 / TAIL)
    ends = (np.cumsum(lengths)[:-1] / lengths.sum() * place.horizon).astype(np.int64)
    edges = np.unique(cut(place.horizon, ends))
    middle = place.chance.uniform(place.gap / 2, 1 - place.gap / 2, edges.size - 1)
    best = wandering(place, edges.size - 1)
    return Means(place, edges, switching(place, edges, best, middle + place.gap / 2))


def some_arms_move(place: Place, n_switches: int, noise: str | float = "bernoulli") -> Environment:
    """At every break each arm moves with chance one half, up or down: many changes leave the best arm the same."""
    shape = n_switches, place.n_arms
    sizes = place.chance.uniform(LEAST_MOVE, max(place.gap, LEAST_MOVE + 0.01), shape)
    moves = sizes * place.chance.choice([-1, 1], shape) * (place.chance.random(shape) < 0.5)
    folded = np.cumsum(np.concatenate([place.chance.random((1, place.n_arms)), moves]), axis=0) % 2.0
    edges = cut(place.horizon, at_random(place, n_switches))
    return Means(place, edges, np.minimum(folded, 2.0 - folded), noise=noise)


def weather(place: Place, n_jumps: int, n_switches: int) -> Environment:
    """A level common to all arms is drawn anew at every jump; the best arm changes at other rounds, or never."""
    jumps, switches = (np.sort(at_random(place, n)) for n in (n_jumps, n_switches))
    edges = np.unique(cut(place.horizon, np.concatenate([jumps, switches])))
    drawn = place.chance.uniform(0, 1 - place.gap, jumps.size + 1)
    level = drawn[np.searchsorted(jumps, edges[:-1], side="right")]
    best = wandering(place, switches.size + 1)[np.searchsorted(switches, edges[:-1], side="right")]
    return Means(place, edges, switching(place, edges, best, level + place.gap))


def tide(place: Place, periods: float, n_switches: int) -> Environment:
    """All arms swing together, smoothly, while their order changes now and then."""
    edges = evenly(place.horizon, max(16, int(64 * periods)))
    level = (1 - place.gap) / 2 * (1 + np.sin(2 * math.pi * periods * edges / place.horizon))
    switches = np.sort(place.chance.integers(0, edges.size, n_switches))
    ahead = place.chance.random((n_switches + 1, place.n_arms)) * place.gap
    order = np.searchsorted(switches, np.arange(edges.size), side="right")
    return Means(place, edges, level[:, None] + ahead[order], drifting=True)


def triangle(place: Place, periods: float) -> Environment:
    """Every arm goes up and down in straight lines, at a speed of its own: nothing comes again."""
    edges = evenly(place.horizon, max(8, int(32 * periods)))
    phase, speed = place.chance.random(place.n_arms), place.chance.uniform(0.7, 1.4, place.n_arms)
    turns = (periods * speed * edges[:, None] / place.horizon + phase) % 1.0
    return Means(place, edges, 0.5 + place.gap * (np.abs(2 * turns - 1) - 0.5), drifting=True)


def walk(place: Place, n_steps: int) -> Environment:
    """Every mean is a random walk: drift without a rhythm."""
    return RandomWalk(place.n_arms, place.horizon, n_steps=n_steps, step=place.gap / 4, seed=place.seed)


def sudden_improvements(place: Place, n_switches: int) -> Environment:
    """At random rounds an arm becomes the best, by some amount; nothing ever gets worse, so nothing warns."""
    top = 0.5 + place.gap / 2
    drops = np.sort(place.chance.random(n_switches + 1)) * place.gap
    means = np.full((n_switches + 1, place.n_arms), top)
    for i, arm in enumerate(wandering(place, n_switches + 1)):
        means[i:, arm] = top - drops[i]
    return Means(place, cut(place.horizon, at_random(place, n_switches)), means)


def late_arm(place: Place, start: float) -> Environment:
    """The worst arm becomes the best, once, in the middle of the game."""
    means = np.full((2, place.n_arms), 0.5 + place.gap / 4)
    steady, late = place.chance.permutation(place.n_arms)[:2]
    means[:, steady] = 0.5
    means[:, late] = 0.5 + place.gap / 2, 0.5 - place.gap / 2
    return Means(place, np.array([0, int(start * place.horizon), place.horizon]), means)


def round_robin(place: Place, length: int, n_best: int) -> Environment:
    """A few arms in turn, each best for a time of its own."""
    n_best = min(n_best, place.n_arms)
    lengths = np.maximum(1, (length * place.chance.uniform(0.3, 1.7, n_best)).astype(np.int64))
    ends = np.cumsum(np.tile(lengths, place.horizon // int(lengths.sum()) + 1))
    edges = cut(place.horizon, ends[ends < place.horizon])
    best = place.chance.permutation(place.n_arms)[np.arange(edges.size - 1) % n_best]
    return Means(place, edges, switching(place, edges, best))


def two_bursts(place: Place, n_switches: int) -> Environment:
    """Half the switches soon after the first quarter, half soon after two thirds, calm between."""
    half = n_switches // 2 + 1
    window = max(place.horizon // 15, half + 1)
    starts = place.horizon // 4, 2 * place.horizon // 3
    rounds = np.concatenate([start + place.chance.choice(window, half, replace=False) for start in starts])
    edges = cut(place.horizon, rounds)
    return Means(place, edges, switching(place, edges, wandering(place, edges.size - 1)))


def fading(place: Place, n_switches: int) -> Environment:
    """The best arm slowly loses its lead, then the next one rises while it fades away."""
    edges = evenly(place.horizon, 2 * (n_switches + 1))
    means = np.full((edges.size, place.n_arms), 0.5 + place.gap / 2)
    for i, arm in enumerate(wandering(place, n_switches + 1)):
        means[2 * i, arm] = 0.5 - place.gap / 2
        means[2 * i + 1, arm] = 0.5 + place.gap / 4
    return Means(place, edges, means, drifting=True)


def growing_phases(place: Place, growth: float) -> Environment:
    """All arms low or high together in ever longer phases, one always best: Zimmert & Seldin's trap for averages."""
    return StochasticallyConstrained(place.n_arms, place.horizon, gap=place.gap, growth=growth, seed=place.seed)


def small_noise(place: Place, n_switches: int, spread: float) -> Environment:
    """Some arms move, with next to no noise: what do learners made for 0/1 losses leave on the table?"""
    return some_arms_move(place, n_switches, noise=spread)
