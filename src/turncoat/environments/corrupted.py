"""Corrupted: nothing changes, but an adversary overwrites the losses of some rounds to hide the best arm.

    mean(a) = (1 - gap)/2 for the best arm, (1 + gap)/2 for all others
    in `budget` rounds, C, the losses are not drawn: the best arm costs 1 and all others 0

The corrupted rounds come in n_bursts, one at the start of the game and the others evenly spaced after it. Means and
planted path are those *before* the corruption, as in A. Gupta, T. Koren, K. Talwar, "Better algorithms for stochastic
bandits with adversarial corruptions", COLT 2019; regret against what was really paid, as in T. Lykouris, V. Mirrokni,
R. Paes Leme, "Stochastic bandits robust to adversarial corruptions", STOC 2018, differs by at most C.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.inputs import Noise, parse_number, parse_whole
from turncoat.environments.layout import two_levels
from turncoat.environments.segments import Segments
from turncoat.types import Ints, Seed


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
