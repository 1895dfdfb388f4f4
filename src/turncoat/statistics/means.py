"""Mean regret, and the difference of two learners that met the same games.

How many times the regret of a reference, over several games: a geometric mean.

Per game the ratio is (mean regret + r0) / (mean regret of the reference + r0). The offset r0 says which regret is too
small to matter: without it a game where the reference hardly loses anything decides alone. Averaging logarithms makes
twice and half cancel, and swapping learner and reference turns the number over.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from turncoat.errors import OptionError
from turncoat.statistics.estimate import Estimate, estimate, linear
from turncoat.types import Floats
from turncoat.validation.numbers import parse_level, parse_method, parse_numbers, parse_offset


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


def ratios(
    regrets: ArrayLike, reference: ArrayLike, *, offset: float, level: float = 0.95, method: str = "t"
) -> Estimate:
    """Geometric mean over games of the ratio to a reference, for every learner.

    `regrets` are over (games, learners, seeds), `reference` over (games, seeds), such as one learner's; `offset` is r0,
    added to both sides. Seeds with one index belong together, over all games. Where a side is not positive with its
    offset there is no ratio: NaN. The interval is made for the logarithm, and is for these games.
    """
    numbers = parse_numbers("regrets", regrets, "games", "learners", "seeds")
    base = parse_numbers("reference", reference, "games", "seeds")
    n_games, _, n_seeds = numbers.shape
    if base.shape != (n_games, n_seeds):
        raise OptionError(f"reference has the shape {base.shape}; accepted is (games, seeds), {(n_games, n_seeds)}")
    r0 = parse_offset(offset)
    signs = np.repeat([1.0, -1.0], n_games) / n_games

    def log_ratio(means: Floats) -> tuple[Floats, Floats]:
        raised = np.where(means + r0 > 0.0, means + r0, math.nan)
        return (np.log(raised) * signs).sum(axis=-1), signs / raised

    both = np.concatenate([numbers, np.broadcast_to(base[:, None, :], numbers.shape)])  # (2 games, learners, seeds)
    found = estimate(both.transpose(1, 2, 0), log_ratio, parse_level(level), parse_method(method))
    with np.errstate(over="ignore"):  # exp of more than 709 is infinite
        return Estimate(*map(np.exp, found))
