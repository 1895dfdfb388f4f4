"""Normal, Gamma and Beta variates have the laws they should, and Thompson sampling plays an arm as often as it is best.

Null: the variates have the stated law. n = 200,000 a law; their distribution function maps them to (0, 1), which is cut
into 50 cells of equal chance. A chi-square p-value below 1e-8 is an alarm, so the whole file (under 40 tests) raises a
false one with probability below 4e-7. Power: a law whose cell chances are off by a root mean square of 3.1 % (of 1/50;
noncentrality 191) is caught with 99 %. Tried: d = a - 1/4 instead of a - 1/3, and accepting every v > 0, fail for
Gamma shapes from 0.5 to 4 and most Beta laws; shapes below 1 drawn without (4), or with u^(1/(a + 0.05)), fail for all
small shapes (without (4) all but 0.999); u instead of u² in (1) fails for all shapes above 1, a squeeze too wide by 0.6
for uneven ones, and 1.03 b instead of b for all with a shape of 1. (Another r, or a larger ln 4, only costs tries, and
rightly passes.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, gammaln
from scipy.stats import beta, chi2, gamma, ncx2, norm

from turncoat._compile.jit import jit
from turncoat.learners import DiscountedThompson, ThompsonSampling
from turncoat.learners.parts.beta import log_gamma, log_odds, normal
from turncoat.random import seed_words
from turncoat.types import Ints, Vector, Words

N = 200_000
CELLS = 50
ALARM = 1e-8


@jit
def normals(words: Words, out: Vector) -> None:
    for i in range(out.size):
        out[i] = normal(words)


@jit
def log_gammas(words: Words, shape: float, out: Vector) -> None:
    for i in range(out.size):
        out[i] = log_gamma(words, shape)


@jit
def many_log_odds(words: Words, a: float, b: float, out: Vector) -> None:
    for i in range(out.size):
        out[i] = log_odds(words, a, b)


def p_value(uniforms: Any) -> float:
    """Of a chi-square test that these are uniform."""
    counts = np.bincount(np.minimum((uniforms * CELLS).astype(int), CELLS - 1), minlength=CELLS)
    return float(chi2.sf(((counts - N / CELLS) ** 2 / (N / CELLS)).sum(), CELLS - 1))


def test_the_level_and_the_power_are_as_stated() -> None:
    assert ncx2.sf(chi2.isf(ALARM, CELLS - 1), CELLS - 1, N * 0.031**2) > 0.99
    uniforms = np.random.default_rng(1).random(N)
    assert p_value(uniforms) > 1e-3
    assert p_value(uniforms**1.06) < ALARM


def test_normals() -> None:
    out = np.empty(N)
    normals(seed_words(1), out)
    assert p_value(norm.cdf(out)) > ALARM


@pytest.mark.parametrize("shape", [0.001, 0.02, 0.5, 0.999, 1.0, 1.5, 4.0, 30.0, 1e3, 1e7])
def test_gammas(shape: float) -> None:
    out = np.empty(N)
    log_gammas(seed_words(2), shape, out)
    assert np.isfinite(out).all()
    small = out < -600.0  # there x^a/Gamma(a + 1) is the distribution function, and x itself underflows
    in_the_tail = np.exp(shape * np.minimum(out, -600.0) - gammaln(shape + 1.0))
    uniforms = np.where(small, in_the_tail, gamma.cdf(np.exp(np.maximum(out, -600.0)), shape))
    assert p_value(uniforms) > ALARM


@pytest.mark.parametrize(
    "a, b",
    [
        *[(1.0, 1.0), (0.5, 0.5), (0.1, 3.0), (2.0, 0.02), (1.0, 40.0), (7.0, 1.0), (1.0, 1e6), (1.0, 0.3)],
        *[
            (1.0009, 2.0),
            (1.002, 1.002),
            (1.1, 90.0),
            (2.0, 2.0),
            (2.5, 3.5),
            (300.0, 1.5),
            (900.0, 1000.0),
            (1e6, 3e4),
        ],
    ],
)
def test_betas(a: float, b: float) -> None:
    out = np.empty(N)
    many_log_odds(seed_words(3), a, b, out)
    low = beta.cdf(expit(out), a, b)
    high = 1.0 - beta.cdf(expit(-out), b, a)  # near 1, where expit(out) has no digits left
    assert p_value(np.where(out < 0.0, low, high)) > ALARM


def chances(shapes: Any) -> Vector:
    """The probability that each of some Beta variates is the largest, by numerical integration."""
    arms = range(len(shapes))
    laws = [beta(a, b) for a, b in shapes]

    def largest(arm: int) -> float:
        def density(x: float) -> float:
            return float(laws[arm].pdf(x) * np.prod([laws[other].cdf(x) for other in arms if other != arm]))

        return float(quad(density, 0.0, 1.0, limit=200)[0])

    return np.array([largest(arm) for arm in arms])


@pytest.mark.parametrize(
    "learner", [ThompsonSampling(3, seed=4), DiscountedThompson(3, discount=0.9, prior=0.7, seed=4)], ids=repr
)
def test_an_arm_comes_as_often_as_it_is_best(learner: ThompsonSampling | DiscountedThompson) -> None:
    """Null: the arms of a frozen state have these chances. n = 40,000; an effect of noncentrality 70 is caught with
    99 %: for chances about (0.5, 0.3, 0.2) that is an arm off by 0.02."""
    for t in range(30):
        learner.observe(t % 3, float((t * (t % 3 + 1)) % 5) / 4)
    promised = chances(learner.posteriors)
    assert promised.sum() == pytest.approx(1.0, abs=1e-6) and promised.min() > 0.02
    counts: Ints = np.bincount([learner.ask().index for _ in range(40_000)], minlength=3)
    statistic = ((counts - 40_000 * promised) ** 2 / (40_000 * promised)).sum()
    assert chi2.sf(statistic, 2) > ALARM
    assert ncx2.sf(chi2.isf(ALARM, 2), 2, 70) > 0.99
