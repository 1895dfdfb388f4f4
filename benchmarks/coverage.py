"""How often intervals hold the truth, in simulated races: the measurement behind the choice of methods.

Compared with what the package has: BCa and percentile bootstrap for means (Efron 1987), resampled ranks, and the error
of a slope as if its points were a sample. All at 95 %, on the same resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from benchmarks.results import Result, Table
from turncoat.statistics import growth, means, ranks
from turncoat.statistics.estimate import N_RESAMPLES, resamples, t_quantile
from turncoat.types import Floats

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

N_SEEDS = (5, 10, 20, 50)
REGRETS: dict[str, tuple[Draw, float]] = {  # how regrets are drawn, and their expectation
    "normal": (lambda rng, shape: rng.normal(10.0, 2.0, shape), 10.0),
    "gamma, shape 2": (lambda rng, shape: rng.gamma(2.0, 1.0, shape), 2.0),
    "exponential": (lambda rng, shape: rng.exponential(1.0, shape), 1.0),
    "lognormal, sigma 1": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)),
    "one in ten fails": (lambda rng, shape: rng.normal(10.0, 1.0, shape) + 90.0 * (rng.random(shape) < 0.1), 19.0),
}
Z = NormalDist()


def percent(held: Any) -> str:
    """A share of races, as text."""
    return f"{100 * np.mean(held):.1f}"


def by_percentile(x: Floats, again: Floats) -> tuple[float, float]:
    """From the 2.5 % to the 97.5 % quantile of the resampled means."""
    low, high = np.quantile(again, [0.025, 0.975])
    return float(low), float(high)


def by_bca(x: Floats, again: Floats) -> tuple[float, float]:
    """Quantiles moved by the bias of the resampled means, and by the skewness of x."""
    below = (np.mean(again < x.mean()) + np.mean(again <= x.mean())) / 2
    bias = Z.inv_cdf(min(max(float(below), 1 / N_RESAMPLES), 1 - 1 / N_RESAMPLES))
    apart = x - x.mean()
    skew = float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))
    ends = [bias + z for z in (Z.inv_cdf(0.025), Z.inv_cdf(0.975))]
    low, high = np.quantile(again, [Z.cdf(bias + end / (1 - skew * end)) for end in ends])
    return float(low), float(high)


def of_means(n_races: int) -> Table:
    """Four intervals for a mean."""
    rows = []
    for name, (draw, truth) in REGRETS.items():
        for n in N_SEEDS:
            x = draw(np.random.default_rng(n), (n_races, n))
            ours = [means(x), means(x, method="bootstrap-t")]
            others = []
            for row in x:
                again = row[resamples(n)].mean(axis=1)
                ends = (by_bca(row, again), by_percentile(row, again))
                others.append([low <= truth <= high for low, high in ends])
            wider = np.median(ours[1].high - ours[1].low) / np.median(ours[0].high - ours[0].low)
            held = [percent((one.low <= truth) & (truth <= one.high)) for one in ours]
            rows.append([name, n, *held, *map(percent, np.transpose(others)), float(wider)])
    note = f"% of {n_races:,} races, {N_RESAMPLES:,} resamples; the last column: median widths, bootstrap-t / t"
    columns = ["regrets", "seeds", "t", "bootstrap-t", "BCa", "percentile", "width"]
    return Table("coverage: expected regret", note, columns, rows)


def of_ranks(n_races: int) -> Table:
    """Ten learners whose expected regrets lie a little apart: how often is the true rank in the interval?"""
    rows = []
    n, n_learners = 20, 10
    truth = np.arange(1, n_learners + 1)
    for gap in (0.1, 0.5, 2.0, 8.0):
        rng = np.random.default_rng(7)
        x = rng.normal(gap / math.sqrt(n) * truth[:, None], 1.0, (n_races, n_learners, n))
        ours, resampled = [], []
        for race in x:
            found = ranks(race)
            ours.append((found.low <= truth) & (truth <= found.high))
            again = race[:, resamples(n)].mean(axis=2)
            low, high = np.quantile(1 + again.argsort(axis=0).argsort(axis=0), [0.025, 0.975], axis=1)
            resampled.append((low <= truth) & (truth <= high))
        both = [np.mean(held, axis=0) for held in (ours, resampled)]
        rows.append([f"{gap} errors apart", *(percent(share) for held in both for share in (held[0], held.min()))])
    note = f"% of {n_races:,} races, {n} normal seeds, {n_learners} learners; worst: of the learner held least often"
    columns = ["expected regrets", "best learner", "worst", "resampled: best learner", "resampled: worst"]
    return Table("coverage: ranks", note, columns, rows)


def of_growth(n_races: int) -> Table:
    """Curves with mean T^0.6, each seed a gamma process with a speed of its own."""
    sizes = np.geomspace(1e2, 1e5, 7)
    steps = np.diff(sizes**0.6, prepend=0.0)
    logs = np.log(sizes) - np.log(sizes).mean()
    rows = []
    for n in N_SEEDS:
        rng = np.random.default_rng(n)
        luck = rng.uniform(0.5, 1.5, (n_races, n, 1))
        y = np.cumsum(rng.gamma(steps / 30.0, 30.0, (n_races, n, sizes.size)) * luck, axis=2)
        found = [growth(sizes, y, method=method).exponent for method in ("t", "bootstrap-t")]
        heights = np.log(y.mean(axis=1))
        slopes = heights @ logs / (logs @ logs)
        rest = heights - heights.mean(axis=1, keepdims=True) - slopes[:, None] * logs
        half = t_quantile(0.95, 5) * np.sqrt((rest**2).sum(axis=1) / 5 / (logs @ logs))
        held = [percent((one.low <= 0.6) & (one.high >= 0.6)) for one in found]
        rows.append([f"{n} seeds", *held, percent(np.abs(slopes - 0.6) <= half)])
    note = f"% of {n_races:,} races; 7 sizes from 1e2 to 1e5; the last column takes the points for a sample"
    return Table("coverage: growth exponents", note, ["", "t", "bootstrap-t", "residuals"], rows)


def run(quick: bool) -> Result:
    """All three tables."""
    n_races = 100 if quick else 2_000
    return Result([of_means(n_races), of_ranks(n_races), of_growth(n_races)], [])
