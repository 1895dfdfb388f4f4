"""Intervals, ranks, exponents and ratios over seeds, in plain Python: one loop a sum, lists in, floats out.

The two methods as written down in textbooks. `draws` are the resamples, one list of seed indices each, so that the same
ones can be given to both sides of a comparison; Student's quantile q is given too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Numbers = Sequence[float]
Statistic = Callable[[list[int]], tuple[float, float]]  # the seeds used -> value and standard error


def mean(values: Numbers) -> float:
    return math.fsum(values) / len(values)


def standard_error(values: Numbers) -> float:
    """Of the mean: root of the sum of squares over n (n - 1)."""
    n, centre = len(values), mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (n * (n - 1)))


def mean_statistic(values: Numbers) -> Statistic:
    def of(seeds: list[int]) -> tuple[float, float]:
        chosen = [values[i] for i in seeds]
        return mean(chosen), standard_error(chosen)

    return of


def t_interval(statistic: Statistic, n: int, q: float) -> tuple[float, float]:
    value, error = statistic(list(range(n)))
    return value - q * error, value + q * error


def bootstrap_t_interval(
    statistic: Statistic, n: int, draws: Sequence[Sequence[int]], level: float
) -> tuple[float, float]:
    value, error = statistic(list(range(n)))
    seen = []
    for draw in draws:
        again, its_error = statistic(list(draw))
        if again == value:
            seen.append(0.0)
        elif its_error == 0.0:
            seen.append(math.copysign(math.inf, again - value))
        else:
            seen.append((again - value) / its_error)
    seen.sort()
    k = round((len(draws) + 1) * (1 - level) / 2)
    return value - seen[len(draws) - k] * error, value - seen[k - 1] * error


def slope(sizes: Numbers, heights: Numbers) -> float:
    """Of the least-squares line through log heights over log sizes, by the normal equations."""
    xs, ys = [math.log(size) for size in sizes], [math.log(height) for height in heights]
    m, sx, sy = len(xs), math.fsum(xs), math.fsum(ys)
    sxx, sxy = math.fsum(x * x for x in xs), math.fsum(x * y for x, y in zip(xs, ys, strict=True))
    return (m * sxy - sx * sy) / (m * sxx - sx * sx)


def by_small_steps(function: Callable[[list[float]], float], rows: Sequence[Numbers]) -> Statistic:
    """A function of means over seeds; its standard error from derivatives taken by small steps towards every seed."""

    def of(seeds: list[int]) -> tuple[float, float]:
        chosen = [rows[i] for i in seeds]
        means = [mean(column) for column in zip(*chosen, strict=True)]
        step, pulls = 1e-5, []
        for row in chosen:
            ahead = function([m + step * (x - m) for x, m in zip(row, means, strict=True)])
            back = function([m - step * (x - m) for x, m in zip(row, means, strict=True)])
            pulls.append((ahead - back) / (2 * step))
        return function(means), standard_error(pulls)

    return of


def log_ratio(n_games: int, offset: float) -> Callable[[list[float]], float]:
    """Of means in the order: the learner's in every game, then the reference's."""

    def of(means: list[float]) -> float:
        product = 1.0
        for game in range(n_games):
            product *= (means[game] + offset) / (means[n_games + game] + offset)
        return math.log(product) / n_games

    return of


def rank_interval(regrets: Sequence[Numbers], mine: int, q: float) -> tuple[int, int, int]:
    """Rank by mean, 1 + the learners surely better, all but those surely worse; q with its correction is given."""
    rank = low = 1
    high = len(regrets)
    for other in range(len(regrets)):
        if other == mine:
            continue
        apart = [x - y for x, y in zip(regrets[mine], regrets[other], strict=True)]
        rank += mean(apart) > 0
        low += mean(apart) - q * standard_error(apart) > 0
        high -= mean(apart) + q * standard_error(apart) < 0
    return rank, low, high


def rank_in_game(regrets: Numbers, mine: int) -> float:
    """The place in the sorted order, ties sharing the mean of theirs."""
    places = [place for place, value in enumerate(sorted(regrets), 1) if value == regrets[mine]]
    return mean(places)
