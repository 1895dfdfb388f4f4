"""Family "test-2": other shapes than those of "tune-2", written before anything was tuned there, played once."""

from __future__ import annotations

import math

import numpy as np

from experiments.means import Means, Place, at_random, cut, evenly
from turncoat.environments import Environment
from turncoat.types import Ints, Matrix

TAIL = 1.3  # of the lengths of storms: a finite mean, no variance
CONVERSIONS = 0.03, 0.2  # rewards per round of the best arm of an A/B/n test
KNOTS = 64  # per period


def ranks(place: Place, n_rows: int) -> Matrix:
    """Rows of means in which, from one to the next, the best arm and a random other one change places.

    Distances from the best are drawn once: a square root of uniform numbers, so that few arms are near it.
    """
    row = 0.5 - place.gap / 2 + place.gap * np.sqrt(place.chance.random(place.n_arms))
    rows = [row]
    for _ in range(n_rows - 1):
        best = int(np.argmin(row))
        other = (best + int(place.chance.integers(1, place.n_arms))) % place.n_arms
        row = row.copy()
        row[[best, other]] = row[[other, best]]
        rows.append(row)
    return np.array(rows)


def pareto_rounds(place: Place, n: int) -> Ints:
    """n rounds that cut the game into pieces of very unequal lengths."""
    lengths = (1 - place.chance.random(n + 1)) ** (-1 / TAIL)
    rounds = np.unique((np.cumsum(lengths)[:-1] / lengths.sum() * place.horizon).astype(np.int64))
    return rounds[(rounds > 0) & (rounds < place.horizon)]


def swaps(place: Place, n_switches: int) -> Environment:
    """At every switch the best arm changes places with another one; the rest stay where they are, some of them near."""
    return Means(place, cut(place.horizon, at_random(place, n_switches)), ranks(place, n_switches + 1))


def heat(place: Place, periods: float) -> Environment:
    """Every mean is a sum of two sines with speeds of its own: smooth drift that does not come again."""
    edges = evenly(place.horizon, max(16, int(KNOTS * periods)))
    turns = 2 * math.pi * periods * edges[:, None] / place.horizon
    speeds, phases = place.chance.uniform(0.5, 1.5, (2, place.n_arms)), 7 * place.chance.random((2, place.n_arms))
    waves = np.sin(turns * speeds[0] + phases[0]) + np.sin(1.618 * turns * speeds[1] + phases[1])
    return Means(place, edges, 0.5 + place.gap / 4 * waves, drifting=True)


def rates(place: Place) -> Environment:
    """An A/B/n test: rewards are rare, the best arm's rate is a few per cent, and nothing changes."""
    low, high = CONVERSIONS
    best = low * (high / low) ** place.chance.random()
    share = 1 - place.gap * np.append(0.0, place.chance.uniform(0.5, 1.0, place.n_arms - 1))
    return Means(place, cut(place.horizon, np.empty(0, np.int64)), 1 - best * place.chance.permutation(share)[None, :])


def storms(place: Place, n_jumps: int, n_switches: int = 0) -> Environment:
    """The level of all arms is drawn anew, often near its ends, for very unequal times; the best arm swaps rarely."""
    jumps, switches = pareto_rounds(place, n_jumps), np.sort(at_random(place, n_switches))
    edges = np.unique(cut(place.horizon, np.concatenate([jumps, switches])))
    drawn = (1 - place.gap) * place.chance.beta(0.5, 0.5, jumps.size + 1)
    level = drawn[np.searchsorted(jumps, edges[:-1], side="right")]
    order = ranks(place, n_switches + 1)[np.searchsorted(switches, edges[:-1], side="right")]
    return Means(place, edges, level[:, None] + order - (0.5 - place.gap / 2))


def slow_recovery(place: Place, start: float, half_life: float) -> Environment:
    """One of the worst arms gets better, fast at first and ever more slowly, and ends as the best by half the gap."""
    edges = evenly(place.horizon, 200)
    since = np.maximum(edges / place.horizon - start, 0.0)
    row = 0.5 + place.gap / 2 * np.append(0.0, np.sqrt(place.chance.random(place.n_arms - 1)))
    means = np.repeat(place.chance.permutation(row)[None, :], edges.size, axis=0)
    end = 0.5 - place.gap / 2
    means[:, int(means[0].argmax())] = end + (row.max() - end) * 0.5 ** (since / half_life)
    return Means(place, edges, means, drifting=True)


def failover(place: Place, n_jumps: int) -> Environment:
    """The two best arms fail and recover, each at times of its own; a third is steady, and the rest are worse."""
    moves = [pareto_rounds(place, n_jumps) for _ in range(2)]
    edges = np.unique(cut(place.horizon, np.concatenate(moves)))
    means = np.full((edges.size - 1, place.n_arms), 0.5 + place.gap / 2)
    first, second, *others = place.chance.permutation(place.n_arms)
    means[:, others[:1]] = 0.5 + place.gap / 4
    for arm, mean, rounds in zip((second, first), (0.5, 0.5 - place.gap / 2), moves, strict=True):
        failed = np.searchsorted(rounds, edges[:-1], side="right") % 2 == 1
        means[:, arm] = np.where(failed, 0.5 + 3 * place.gap / 4, mean)
    return Means(place, edges, means)


def mirages(place: Place, length: int, n_best: int) -> Environment:
    """A steady arm; each of some others is a little better for a random time, then much worse for twice as long."""
    row, moves = np.full(place.n_arms, 0.5 + place.gap / 2), []
    steady, *others = place.chance.permutation(place.n_arms)[: n_best + 1]
    for arm in others:
        n = 2 * (place.horizon // length + 2)
        lengths = 1 + place.chance.exponential(np.where(np.arange(n) % 2, length / 2, length))
        ends = np.cumsum(lengths).astype(np.int64)
        moves.append((arm, ends[ends < place.horizon]))
    edges = np.unique(cut(place.horizon, np.concatenate([ends for _, ends in moves])))
    row[steady] = 0.5
    means = np.repeat(row[None, :], edges.size - 1, axis=0)
    for arm, ends in moves:
        better = np.searchsorted(ends, edges[:-1], side="right") % 2 == 1
        means[:, arm] = np.where(better, 0.5 - place.gap / 4, 0.5 + place.gap)
    return Means(place, edges, means)


def newcomer(place: Place, start: float) -> Environment:
    """Hundreds of arms at levels of their own; once, one of them becomes the best, by half the gap."""
    means = np.repeat(0.5 + place.gap / 2 * place.chance.random((1, place.n_arms)), 2, axis=0)
    means[1, place.chance.integers(place.n_arms)] = 0.5 - place.gap / 2
    return Means(place, np.array([0, int(start * place.horizon), place.horizon]), means)
