"""LowerBound: the game in which no learner can do better than √(SKT), not even one that is told S.

    S + 1 segments of equal length, a best arm drawn for each, the same one perhaps twice
    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others
    gap = √(SK/T), at most 1; with S = 0, √(K/T)

A segment is just too short to tell the best arm from the others. It is the game for a fixed best arm of P. Auer,
N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM J. Comput. 32 (2002),
once for every segment.
"""

from __future__ import annotations

import math

from turncoat.environments.inputs import parse_switches
from turncoat.environments.layout import even_edges, two_levels
from turncoat.environments.segments import Segments
from turncoat.types import Seed


class LowerBound(Segments):
    """`n_segments` segments, S + 1, with a gap so small that learning each best arm costs as much as it is worth."""

    name = "lower-bound"
    words = ("n_segments",)

    def __init__(self, n_arms: int, horizon: int, n_switches: int, *, seed: Seed = 0) -> None:
        super().__init__(n_arms, horizon, "bernoulli", seed)
        S = parse_switches(n_switches, self.n_arms, self.horizon)
        self.n_segments = S + 1
        self.gap = min(1.0, math.sqrt(max(S, 1) * self.n_arms / self.horizon))
        self._room_for(S + 1)
        best = self._chance.integers(self.n_arms, size=S + 1)
        self._plant(even_edges(self.horizon, S + 1), two_levels(self.n_arms, best, self.gap), best)
