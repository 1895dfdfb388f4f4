"""Ranks of learners, with intervals.

A rank is 1 plus the number of learners with less expected regret. Its interval counts only what is certain: from 1 plus
the learners surely better to all but those surely worse, where "surely" means that the paired difference, with
Bonferroni's correction for the L - 1 comparisons of a learner, excludes 0 (Mogstad, Romano, Shaikh & Wilhelm 2024).
It errs with at most 1 - level as long as the intervals of differences do, ties and near ties included. Ranking
resampled seeds and cutting off 2.5 % at either end, the obvious bootstrap, fails just there: docs/statistics.md.

Reference: M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Rev. Econ. Stud. 91 (2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat.statistics.estimate import Estimate, estimate, linear
from turncoat.statistics.means import paired
from turncoat.types import Floats, Ints, Vector
from turncoat.validation.numbers import parse_level, parse_method, parse_numbers


class Ranks(NamedTuple):
    """The rank of every learner, 1 the best, and the ranks that cannot be excluded."""

    rank: Vector  # NaN where a regret is missing
    low: Ints
    high: Ints


def ranks(regrets: ArrayLike, *, level: float = 0.95, method: str = "t") -> Ranks:
    """Ranks by mean regret, from regrets over (learners, seeds). Equal means share the better rank.

    Each interval holds with `level` by itself; for those of all L learners at once ask for 1 - (1 - level) / L.
    """
    numbers = parse_numbers("regrets", regrets, "learners", "seeds")
    level, method = parse_level(level), parse_method(method)
    n = len(numbers)
    pairs = paired(numbers, 1 - (1 - level) / max(1, n - 1), method)
    known = ~np.isnan(np.diag(pairs.value))
    rank = np.where(known, 1.0 + (pairs.value > 0).sum(axis=1), np.nan)
    return Ranks(rank, 1 + (pairs.low > 0).sum(axis=1), n - (pairs.high < 0).sum(axis=1))


def mean_ranks(regrets: ArrayLike, *, level: float = 0.95, method: str = "t") -> Estimate:
    """The rank that a learner takes in a single game, on average, from regrets over (environments, learners, seeds).

    Learners are ranked within each game, ties get the mean of their ranks, and ranks are averaged over environments for
    every seed. The interval is over seeds, for these environments: others might rank otherwise. A game where a regret
    is missing has no ranks.
    """
    numbers = parse_numbers("regrets", regrets, "environments", "learners", "seeds")
    places = game_ranks(numbers).mean(axis=0)
    found = estimate(places[..., None], linear, parse_level(level), parse_method(method))
    n = numbers.shape[1]
    return Estimate(found.value, np.clip(found.low, 1, n), np.clip(found.high, 1, n))


def game_ranks(regrets: Floats) -> Floats:
    """Ranks along the learners of (environments, learners, seeds), ties sharing the mean of theirs."""
    mine, theirs = regrets[:, :, None, :], regrets[:, None, :, :]
    places = 0.5 + (theirs < mine).sum(axis=2) + 0.5 * (theirs == mine).sum(axis=2)
    return np.where(np.isnan(regrets).any(axis=1, keepdims=True), np.nan, places)
