"""Mean regret, and the difference of two learners that met the same games."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from turncoat.statistics.estimate import Estimate, estimate, linear
from turncoat.validation.numbers import Floats, parse_level, parse_method, parse_numbers


def means(regrets: ArrayLike, *, level: float = 0.95, method: str = "t") -> Estimate:
    """The mean over the last axis, the seeds, with an interval for the expected regret."""
    numbers = parse_numbers("regrets", regrets, "…", "seeds")
    return estimate(numbers[..., None], linear, parse_level(level), parse_method(method))


def differences(regrets: ArrayLike, *, level: float = 0.95, method: str = "t") -> Estimate:
    """Regret of learner i minus that of learner j, at [i, j], from regrets over (learners, seeds).

    Subtracted seed by seed: how hard a game was drops out, as both met it. Each interval holds with `level` by itself;
    for all of c comparisons at once ask for 1 - (1 - level) / c.
    """
    numbers = parse_numbers("regrets", regrets, "learners", "seeds")
    return paired(numbers, parse_level(level), parse_method(method))


def paired(regrets: Floats, level: float, method: str) -> Estimate:
    """All differences: the upper triangle is computed, the lower one mirrored, the diagonal is 0."""
    n = len(regrets)
    rows, columns = np.triu_indices(n, 1)
    above = estimate((regrets[rows] - regrets[columns])[..., None], linear, level, method)
    nothing = np.where(np.isnan(regrets).any(axis=1) | (regrets.shape[1] == 0), np.nan, 0.0)
    result = Estimate(*(np.diag(nothing) for _ in range(3)))
    for whole, upper, lower in zip(result, above, (-above.value, -above.high, -above.low), strict=True):
        whole[rows, columns] = upper
        whole[columns, rows] = lower
    return result
