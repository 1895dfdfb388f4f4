"""LevelJumps: all arms get worse or better together, while their order stays. Every jump fools a change detector.

    low level:   mean = 0 for the best arm, gap for all others
    high level:  mean = 1 - gap for the best arm, 1 for all others

The level changes at n_jumps random rounds; the best arm at n_switches other ones (none: it stays). With jumps after
phases of growing length it is the game of stochastically_constrained.py.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number, parse_switches, parse_whole
from turncoat.environments.layout import random_rounds, wandering
from turncoat.environments.segments import Segments
from turncoat.types import Seed


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
        S = parse_switches(n_switches, self.n_arms, self.horizon)
        self.gap = parse_number("gap", gap, 0.0, 1.0)
        self._room_for(self.n_jumps + S + 1)
        jumps = random_rounds(self._chance, 1, self.horizon, self.n_jumps)
        switches = random_rounds(self._chance, 1, self.horizon, S)
        starts = np.union1d(np.union1d(jumps, switches), [0])
        high = (np.searchsorted(jumps, starts, side="right") + self._chance.integers(2)) % 2
        best = wandering(self._chance, self.n_arms, S)[np.searchsorted(switches, starts, side="right")]
        means = np.repeat(np.where(high, 1.0, self.gap)[:, None], self.n_arms, axis=1)
        means[np.arange(best.size), best] = np.where(high, 1.0 - self.gap, 0.0)
        self._plant(np.append(starts, self.horizon), means, best)
