"""One way to an interval for everything: a smooth function of means over the seeds.

Mean, difference, growth exponent and ratio are all f(mu), where mu is a vector of expectations and m its mean over n
seeds. To first order f(m) - f(mu) is the mean over seeds of z_i = grad f(m) · (x_i - m), so its standard error is that
of z: the delta method, with seeds as the sample. Two ways on from there:

    t              f(m) ± q · error, with q of Student's t, n - 1 degrees of freedom. Exact for normal regrets and
                   linear f.
    bootstrap-t    q is not looked up but found: seeds are drawn anew, and (f(m*) - f(m)) / error* seen 1,999 times
                   (Efron 1979; Hall 1988). Better where regrets are skewed, wider where they are not.

BCa, the other usual bootstrap, covers too seldom at 5 to 20 seeds; docs/statistics.md has the measurement. Method and
level are the caller's choice: choosing the method by a look at the data would spoil both.

An interval needs two seeds. With one it reaches from minus to plus infinity; with none all is NaN, as it is where f has
no value. Non-finite regrets count as missing and make NaN of whatever they enter. A spread that rounding alone can make
counts as none, and the interval is a point.

References: B. Efron, "Bootstrap methods: another look at the jackknife", Ann. Statist. 7 (1979). P. Hall, "Theoretical
comparison of bootstrap confidence intervals", Ann. Statist. 16 (1988).

What intervals are made of: quantiles of Student's t, and resampled seeds.

Student's t: how many standard errors an interval reaches to either side of a mean.

The distribution function has a closed form for whole degrees of freedom (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4);
it is turned around by bisection. So no further package is needed.

Reference: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", National Bureau of Standards (1964).

Seeds drawn anew, with replacement: always the same draws for the same number of seeds.

The stream is PCG64 of SeedSequence(0, spawn_key=(n,)) for n seeds; numpy promises that its raw words never change. Word
w of 64 bits draws seed floor((w >> 32) n / 2^32), row after row; no seed is favoured by more than n / 2^32. All
learners and environments share the draws, so pairs stay pairs, and adding a learner changes no number of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from turncoat.types import Floats, Ints


def within(angle: float, n_free: int) -> float:
    """P(|t| <= sqrt(n_free) tan(angle)) for Student's t with n_free degrees of freedom."""
    k = np.arange(1, (n_free + 1) // 2 if n_free % 2 == 0 else (n_free - 1) // 2, dtype=np.float64)
    square = math.cos(angle) ** 2
    if n_free % 2 == 0:
        terms = np.cumprod((2 * k - 1) / (2 * k) * square)
        return math.sin(angle) * (1.0 + float(terms.sum()))  # 26.7.4
    if n_free == 1:
        return 2 * angle / math.pi
    terms = np.cumprod(2 * k / (2 * k + 1) * square)
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * (1.0 + float(terms.sum())))  # 26.7.3


@lru_cache(maxsize=1024)
def t_quantile(level: float, n_free: int) -> float:
    """The q with P(|t| <= q) = level; infinite without a degree of freedom."""
    if n_free < 1:
        return math.inf
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if within(middle, n_free) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(n_free) * math.tan(high)


N_RESAMPLES = 1999  # (1999 + 1) · 0.025 = 50: the ends of a 95 % interval are whole order statistics


@lru_cache(maxsize=8)
def resamples(n_seeds: int) -> Ints:
    """The draws, (N_RESAMPLES, n_seeds) whole numbers from 0 to n_seeds - 1, not to be written to."""
    stream = np.random.PCG64(np.random.SeedSequence(0, spawn_key=(n_seeds,)))
    words = stream.random_raw(N_RESAMPLES * n_seeds) >> np.uint64(32)
    draws = ((words * np.uint64(n_seeds)) >> np.uint64(32)).astype(np.int64).reshape(N_RESAMPLES, n_seeds)
    draws.flags.writeable = False
    return draws


Smooth: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # means (…, m) -> value (…), gradient (…, m)

BLOCK = 2**20  # numbers drawn at a time
EPSILON = 2.0**-52  # the last bit of 1


class Estimate(NamedTuple):
    """A number and the interval around it; arrays of one shape."""

    value: Floats
    low: Floats
    high: Floats


def linear(means: Floats) -> tuple[Floats, Floats]:
    """The mean itself: f(m) = m, for a single m."""
    return means[..., 0], np.ones_like(means)


@np.errstate(all="ignore")  # what overflows or has no logarithm becomes infinite or NaN, and shows in the interval
def estimate(samples: Floats, smooth: Smooth, level: float, method: str) -> Estimate:
    """f of the means over seeds, with an interval, for samples (…, seeds, m)."""
    n_seeds = samples.shape[-2]
    if n_seeds == 0:
        return Estimate(*(np.full(samples.shape[:-2], math.nan) for _ in range(3)))
    value, error = value_and_error(samples, smooth)
    error = np.where(error <= _rounding(samples, smooth), 0.0, error)
    below, above = np.full_like(value, -math.inf), np.full_like(value, math.inf)
    if n_seeds > 1 and method == "t":
        q = t_quantile(level, n_seeds - 1)
        below, above = -q * error, q * error
    elif n_seeds > 1:
        for at in np.ndindex(value.shape):
            below[at], above[at] = _reach(samples[at], smooth, level, float(value[at]), float(error[at]))
    return Estimate(*(np.asarray(part) for part in (value, value + below, value + above)))  # 0-d ones too


def value_and_error(samples: Floats, smooth: Smooth) -> tuple[Floats, Floats]:
    """f of the means, and its standard error: NaN for a single seed, exactly 0 if all seeds agree."""
    n_seeds = samples.shape[-2]
    first = samples[..., :1, :]
    means = first + (samples - first).mean(axis=-2, keepdims=True)  # from the first: equal seeds have no spread
    value, gradient = smooth(means[..., 0, :])
    influence = np.einsum("...nm,...m->...n", samples - means, gradient)
    return value, np.sqrt((influence**2).sum(axis=-1) / np.float64(n_seeds * (n_seeds - 1)))


def _rounding(samples: Floats, smooth: Smooth) -> Floats:
    """The standard error that the last bits alone can make, as for the ratio of a learner to itself."""
    _, gradient = smooth(samples.mean(axis=-2))
    largest: Floats = np.abs(gradient) * np.abs(samples).max(axis=-2)
    return 8 * EPSILON * np.asarray(largest.sum(axis=-1))


def _reach(samples: Floats, smooth: Smooth, level: float, value: float, error: float) -> tuple[float, float]:
    """How far a bootstrap-t interval reaches below and above the value, for samples (seeds, m).

    A resample without spread is infinitely many standard errors away; one where f has no value counts against both.
    """
    if math.isnan(value) or error == 0.0:
        return error, error
    rank = math.floor((N_RESAMPLES + 1) * (1 - level) / 2 + 1e-9)
    if rank < 1:
        return -math.inf, math.inf
    draws, seen = resamples(len(samples)), []
    step = max(1, BLOCK // samples.size)
    for start in range(0, N_RESAMPLES, step):
        values, errors = value_and_error(samples[draws[start : start + step]], smooth)
        seen.append(np.where(values == value, 0.0, (values - value) / errors))
    t = np.concatenate(seen)
    high = np.sort(np.where(np.isnan(t), math.inf, t))[N_RESAMPLES - rank]
    low = np.sort(np.where(np.isnan(t), -math.inf, t))[rank - 1]
    return float(-high * error), float(-low * error)
