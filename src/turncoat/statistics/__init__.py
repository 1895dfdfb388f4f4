"""Statistics of a race: means, differences, ranks, growth exponents and ratios of regret, each with an interval.

Arrays in, arrays out: one number per seed along an axis, and all learners met the same games (common random numbers).
The sample is the seeds, never the rounds. What every number means: docs/statistics.md.
"""

from __future__ import annotations

from turncoat.statistics.estimate import Estimate
from turncoat.statistics.growth import Growth, growth
from turncoat.statistics.means import differences, means, ratios
from turncoat.statistics.ranks import Ranks, mean_ranks, ranks

__all__ = ["Estimate", "Growth", "Ranks", "differences", "growth", "mean_ranks", "means", "ranks", "ratios"]
