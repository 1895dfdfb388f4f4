"""Families whose arms jump together, so that what an arm has cost says little about what it costs now.

LevelJumps: all arms get worse or better together, while their order stays. Every jump fools a change detector.

    low level:   mean = 0 for the best arm, gap for all others
    high level:  mean = 1 - gap for the best arm, 1 for all others

The level changes at n_jumps random rounds; the best arm at n_switches other ones (none: it stays). With jumps after
phases of growing length it is the next game.

StochasticallyConstrained: all arms get worse and better together, in phases that last longer and longer.

    high phase:  mean = 1 - gap for the best arm, 1 for all others
    low phase:   mean = 0 for the best arm, gap for all others

Phase i = 1, 2, … lasts ⌊growth^i⌋ rounds; the first is high, then they take turns. The best arm is drawn once, and
stays. What an arm has cost so far says little of what it costs now, yet its distance from the best never changes: a
learner that compares averages over different rounds is fooled, for a part of the game that does not shrink. A game in
which this distance is all that is fixed is what C.-Y. Wei, H. Luo, "More adaptive algorithms for adversarial bandits",
COLT 2018, call stochastically constrained. This one, with growth = 1.6, is of J. Zimmert, Y. Seldin, "Tsallis-INF: an
optimal algorithm for stochastic and adversarial bandits", JMLR 22 (2021).
"""

from __future__ import annotations

import math

import numpy as np

from turncoat.environments.segments import Segments, random_rounds, wandering
from turncoat.types import Ints, Matrix, Seed
from turncoat.validation.games import Noise, parse_planted_switches
from turncoat.validation.numbers import parse_number, parse_whole


def levels(n_arms: int, high: Ints, best: Ints, gap: float) -> Matrix:
    """A row per segment, on the high level or on the low one."""
    means = np.repeat(np.where(high, 1.0, gap)[:, None], n_arms, axis=1)
    means[np.arange(best.size), best] = np.where(high, 1.0 - gap, 0.0)
    return means


class LevelJumps(Segments):
    """All arms jump together `n_jumps` times; the best is ahead by `gap` and changes `n_switches` times."""

    name = "level-jumps"
    words = ("n_jumps", "n_switches", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_jumps: int,
        *,
        n_switches: int = 0,
        gap: float = 0.3,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.n_jumps = parse_whole("n_jumps", n_jumps, 0, self.horizon - 1)
        S = parse_planted_switches(n_switches, self.n_arms, self.horizon)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self._room_for(self.n_jumps + S + 1)
        jumps = random_rounds(self._chance, 1, self.horizon, self.n_jumps)
        switches = random_rounds(self._chance, 1, self.horizon, S)
        starts = np.union1d(np.union1d(jumps, switches), [0])
        high = (np.searchsorted(jumps, starts, side="right") + self._chance.integers(2)) % 2
        best = wandering(self._chance, self.n_arms, S)[np.searchsorted(switches, starts, side="right")]
        self._plant(np.append(starts, self.horizon), levels(self.n_arms, high, best, self.gap), best)


LEAST_GROWTH, MOST_GROWTH = 1.1, 1e6


def growing_edges(horizon: int, growth: float) -> Ints:
    """Edges of phases of ⌊growth^i⌋ rounds, i = 1, 2, …, the last cut off at the horizon."""
    edges = [0]
    while edges[-1] < horizon:
        edges.append(min(edges[-1] + math.floor(growth ** len(edges)), horizon))
    return np.array(edges, dtype=np.int64)


class StochasticallyConstrained(Segments):
    """All arms jump together after phases that grow by the factor `growth`; the best is ahead by `gap` and stays."""

    name = "stochastically-constrained"
    words = ("gap", "growth")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        gap: float = 0.1,
        growth: float = 1.6,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self.growth = parse_number("growth", growth, LEAST_GROWTH, MOST_GROWTH)
        edges = growing_edges(self.horizon, self.growth)
        high = np.arange(edges.size - 1) % 2 == 0
        best = np.full(high.size, self._chance.integers(self.n_arms), dtype=np.int64)
        self._room_for(high.size)
        self._plant(edges, levels(self.n_arms, high, best, self.gap), best)
