"""Families with one gap: one arm is ahead of all others, which are alike. What differs is when the lead passes on.

Stationary: nothing changes. One arm is best, from the first round to the last.

    mean(a) = (1 - gap)/2 for the best arm, drawn at random, and (1 + gap)/2 for all others

Flip: the lead passes back and forth between few arms, at evenly spaced rounds.

    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others
    best arm of segment i: the (i mod n_best)-th of n_best arms drawn at random

A learner that remembers old favourites has an edge here. Without noise and with gap 1 it is a trap for learners that
trust what they have seen.

Burst: long calm, then all the switches at once.

    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others

All S switches fall, at random, into one window of fraction · T rounds, which lies anywhere in the game.

LowerBound: the game in which no learner can do better than √(SKT), not even one that is told S.

    S + 1 segments of equal length, a best arm drawn for each, the same one perhaps twice
    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others
    gap = √(SK/T), at most 1; with S = 0, √(K/T)

A segment is just too short to tell the best arm from the others. It is the game for a fixed best arm of P. Auer,
N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM J. Comput. 32 (2002),
once for every segment.

Corrupted: nothing changes, but an adversary overwrites the losses of some rounds to hide the best arm.

    mean(a) = (1 - gap)/2 for the best arm, (1 + gap)/2 for all others
    in `budget` rounds, C, the losses are not drawn: the best arm costs 1 and all others 0

The corrupted rounds come in n_bursts, one at the start of the game and the others evenly spaced after it. Means and
planted path are those *before* the corruption, as in A. Gupta, T. Koren, K. Talwar, "Better algorithms for stochastic
bandits with adversarial corruptions", COLT 2019; regret against what was really paid, as in T. Lykouris, V. Mirrokni,
R. Paes Leme, "Stochastic bandits robust to adversarial corruptions", STOC 2018, differs by at most C.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat.environments.segments import Segments, even_edges, random_rounds, two_levels, wandering
from turncoat.types import Ints, Seed
from turncoat.validation.games import Noise
from turncoat.validation.numbers import parse_number, parse_whole


class Stationary(Segments):
    """`n_arms` arms whose means never change; the best is ahead by `gap`."""

    name = "stationary"
    words = ("gap",)

    def __init__(
        self, n_arms: int, horizon: int, *, gap: float = 0.3, noise: Noise = "bernoulli", seed: Seed = 0
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        best = np.array([self._chance.integers(self.n_arms)])
        self._plant(even_edges(self.horizon, 1), two_levels(self.n_arms, best, self.gap), best)


class Flip(Segments):
    """`n_best` of the arms take turns in being the best, ahead by `gap`; `n_switches` times the turn passes on."""

    name = "flip"
    words = ("n_switches", "n_best", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        n_best: int = 2,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        self.n_best = parse_whole("n_best", n_best, 2, max(self.n_arms, 2))
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        best = self._chance.permutation(self.n_arms)[np.arange(S + 1) % self.n_best]
        self._plant(even_edges(self.horizon, S + 1), two_levels(self.n_arms, best, self.gap), best)


class Burst(Segments):
    """The best arm, ahead by `gap`, changes `n_switches` times, all within a `fraction` of the game."""

    name = "burst"
    words = ("n_switches", "fraction", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        fraction: float = 0.2,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        self.fraction = parse_number("fraction", fraction, 0.0, 1.0)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        window = min(max(round(self.fraction * self.horizon), S), self.horizon - 1)  # a switch needs a round of its own
        first = 1 + int(self._chance.integers(self.horizon - window))
        switches = random_rounds(self._chance, first, first + window, S)
        best = wandering(self._chance, self.n_arms, S)
        edges = np.concatenate([[0], switches, [self.horizon]])
        self._plant(edges, two_levels(self.n_arms, best, self.gap), best)


class LowerBound(Segments):
    """`n_segments` segments, S + 1, with a gap so small that learning each best arm costs as much as it is worth."""

    name = "lower-bound"
    words = ("n_segments",)

    def __init__(self, n_arms: int, horizon: int, n_switches: int, *, seed: Seed = 0) -> None:
        super().__init__(n_arms, horizon, "bernoulli", seed)
        S = self._parse_switches(n_switches)
        self.n_segments = S + 1
        self.gap = min(1.0, math.sqrt(max(S, 1) * self.n_arms / self.horizon))
        best = self._chance.integers(self.n_arms, size=S + 1)
        self._plant(even_edges(self.horizon, S + 1), two_levels(self.n_arms, best, self.gap), best)


class Corrupted(Segments):
    """A stationary game, `gap` wide, in which the losses of `budget` rounds are overwritten, in `n_bursts`."""

    name = "corrupted"
    words = ("budget", "n_bursts", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        budget: int,
        *,
        n_bursts: int = 1,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.budget = parse_whole("budget", budget, 0, self.horizon)
        self.n_bursts = parse_whole("n_bursts", n_bursts, 1, self.horizon)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self._room_for(2 * self.n_bursts)
        begins = np.concatenate([[0], np.cumsum(_shares(self.horizon, self.n_bursts))])
        ends = begins[:-1] + _shares(self.budget, self.n_bursts)
        edges = np.unique(np.concatenate([begins, ends]))
        in_burst = edges[:-1] < ends[np.searchsorted(begins, edges[:-1], side="right") - 1]
        best = np.full(edges.size - 1, self._chance.integers(self.n_arms))
        means = two_levels(self.n_arms, best, self.gap)
        drawn = np.where(in_burst[:, None], 0.0, means)
        drawn[in_burst, best[in_burst]] = 1.0
        self._plant(edges, means, best, drawn)


def _shares(total: int, n: int) -> Ints:
    """A total in n whole parts, the first ones larger by one: so the parts of a smaller total fit into these."""
    whole, rest = divmod(total, n)
    return whole + (np.arange(n, dtype=np.int64) < rest)
