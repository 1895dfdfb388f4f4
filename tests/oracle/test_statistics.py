"""Statistics of a race against plain Python loops, and against scipy where it has the same thing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.naive import statistics as naive
from turncoat.statistics import Estimate, differences, growth, mean_ranks, means, ranks, ratios
from turncoat.statistics.estimate import N_RESAMPLES, resamples, t_quantile
from turncoat.types import Matrix

LEVEL = 0.9


def skewed(n_learners: int, n_seeds: int, seed: int = 0) -> Matrix:
    """Regrets with a difficulty that the learners share, and a long tail."""
    rng = np.random.default_rng(seed)
    return 100.0 * rng.lognormal(0.0, 0.5, n_seeds) * rng.gamma(2.0, 0.5, (n_learners, n_seeds)) - 20.0


def parts(found: Estimate) -> tuple[float, float]:
    return float(found.low), float(found.high)


def test_naive_versions_on_hand_worked_cases() -> None:
    assert naive.mean([1.0, 2.0, 6.0]) == 3.0
    assert naive.standard_error([1.0, 3.0]) == 1.0
    assert naive.slope([1.0, 10.0, 100.0], [2.0, 20.0, 200.0]) == pytest.approx(1.0)
    assert naive.slope([1.0, 4.0], [3.0, 6.0]) == pytest.approx(0.5)
    assert naive.log_ratio(2, 1.0)([3.0, 0.0, 1.0, 7.0]) == pytest.approx(math.log((4 / 2) * (1 / 8)) / 2)
    assert [naive.rank_in_game([5.0, 1.0, 5.0], i) for i in range(3)] == [2.5, 1.0, 2.5]
    assert naive.rank_interval([[1.0, 1.0], [5.0, 5.0], [0.0, 3.0]], 1, 3.0) == (3, 2, 3)
    value, error = naive.by_small_steps(lambda m: m[0] * m[1], [[1.0, 2.0], [3.0, 4.0]])([0, 1])
    assert [value, error] == pytest.approx([6.0, 5.0])  # pulls are -5 and 5


def test_student_quantiles_are_those_of_scipy() -> None:
    for n_free in (*range(1, 41), 99, 100, 999, 1000, 20_001):
        for level in (0.01, 0.5, 0.9, 0.95, 0.99, 0.9999):
            assert t_quantile(level, n_free) == pytest.approx(stats.t.ppf((1 + level) / 2, n_free), rel=1e-9)
    assert t_quantile(0.95, 0) == math.inf


@pytest.mark.parametrize("n_seeds", [2, 3, 10, 57])
def test_means_by_students_t(n_seeds: int) -> None:
    x = skewed(4, n_seeds)
    found = means(x, level=LEVEL)
    for i, row in enumerate(x):
        known = stats.ttest_1samp(row, 0.0)
        expected = known.confidence_interval(LEVEL)
        assert found.value[i] == pytest.approx(naive.mean(row.tolist()), rel=1e-13)
        assert (found.low[i], found.high[i]) == pytest.approx((expected.low, expected.high), rel=1e-10)


def test_differences_are_paired_t_tests() -> None:
    x = skewed(3, 12)
    found = differences(x, level=LEVEL)
    for i in range(3):
        for j in range(3):
            expected = stats.ttest_rel(x[i], x[j]).confidence_interval(LEVEL) if i != j else (0.0, 0.0)
            assert (found.low[i, j], found.high[i, j]) == pytest.approx(tuple(expected), rel=1e-10)


@pytest.mark.parametrize("n_seeds", [4, 9, 20])
def test_bootstrap_t_is_the_textbooks(n_seeds: int) -> None:
    row = skewed(1, n_seeds)[0]
    expected = naive.bootstrap_t_interval(
        naive.mean_statistic(row.tolist()), n_seeds, resamples(n_seeds).tolist(), LEVEL
    )
    assert parts(means(row, level=LEVEL, method="bootstrap-t")) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("method", ["t", "bootstrap-t"])
def test_growth(method: str) -> None:
    sizes, n = [1e2, 1e3, 3e3, 1e4], 8
    rows = skewed(1, n)[0][:, None] + np.sqrt(sizes) * np.random.default_rng(1).uniform(2, 4, (n, 4))
    statistic = naive.by_small_steps(lambda heights: naive.slope(sizes, heights), rows.tolist())
    found = growth(sizes, rows, level=LEVEL, method=method)
    heights = rows.mean(axis=0)
    assert found.exponent.value == pytest.approx(np.polyfit(np.log(sizes), np.log(heights), 1)[0], rel=1e-12)
    assert found.scale == pytest.approx(math.exp(np.polyfit(np.log(sizes), np.log(heights), 1)[1]), rel=1e-12)
    if method == "t":
        expected = naive.t_interval(statistic, n, float(stats.t.ppf((1 + LEVEL) / 2, n - 1)))
    else:
        expected = naive.bootstrap_t_interval(statistic, n, resamples(n).tolist(), LEVEL)
    assert parts(found.exponent) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("method", ["t", "bootstrap-t"])
def test_ratios(method: str) -> None:
    n, n_games, offset = 7, 3, 30.0
    x = np.stack([skewed(2, n, seed) for seed in range(n_games)])
    rows = np.concatenate([x[:, 1], x[:, 0]]).T.tolist()
    statistic = naive.by_small_steps(naive.log_ratio(n_games, offset), rows)
    if method == "t":
        low, high = naive.t_interval(statistic, n, float(stats.t.ppf((1 + LEVEL) / 2, n - 1)))
    else:
        low, high = naive.bootstrap_t_interval(statistic, n, resamples(n).tolist(), LEVEL)
    found = ratios(x, x[:, 0], offset=offset, level=LEVEL, method=method)
    assert found.value[1] == pytest.approx(stats.gmean((x[:, 1].mean(1) + offset) / (x[:, 0].mean(1) + offset)))
    assert (found.low[1], found.high[1]) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-7)
    assert [float(part[0]) for part in found] == pytest.approx([1.0, 1.0, 1.0])


def test_ranks() -> None:
    x = skewed(6, 15) + np.array([0.0, 0.0, 40.0, 80.0, 80.0, 300.0])[:, None]
    found = ranks(x)
    q = float(stats.t.ppf(1 - 0.05 / 2 / 5, 14))
    expected = [naive.rank_interval(x.tolist(), i, q) for i in range(6)]
    assert np.array_equal(np.column_stack(found), expected)
    assert len({(low, high) for _, low, high in expected}) > 2  # not all the same, or nothing was compared


def test_mean_ranks() -> None:
    x = np.random.default_rng(3).integers(0, 6, (3, 5, 9)).astype(float)  # whole numbers, so that some tie
    found = mean_ranks(x, level=LEVEL)
    for i in range(5):
        by_seed = [naive.mean([naive.rank_in_game(x[e, :, s].tolist(), i) for e in range(3)]) for s in range(9)]
        assert by_seed == pytest.approx(stats.rankdata(x, axis=1).mean(axis=0)[i].tolist())
        low, high = naive.t_interval(naive.mean_statistic(by_seed), 9, float(stats.t.ppf((1 + LEVEL) / 2, 8)))
        assert found.value[i] == pytest.approx(naive.mean(by_seed))
        assert (found.low[i], found.high[i]) == pytest.approx((max(1.0, low), min(5.0, high)))


def test_the_stream_of_resamples_is_fixed() -> None:
    """As documented in statistics/estimate.py, in Python's whole numbers; and each seed drawn equally often.

    Counts of 5 seeds in 9,995 draws: chi-square, 4 degrees of freedom, false alarm 1e-6.
    """
    words = np.random.PCG64(np.random.SeedSequence(0, spawn_key=(5,))).random_raw(10).tolist()
    assert resamples(5)[:2].ravel().tolist() == [(word >> 32) * 5 >> 32 for word in words]
    assert resamples(5)[:2].tolist() == [[1, 4, 2, 3, 1], [3, 2, 1, 2, 0]]
    assert resamples(5).shape == (N_RESAMPLES, 5)
    counts = np.bincount(resamples(5).ravel())
    assert counts.size == 5 and stats.chisquare(counts).pvalue > 1e-6
    with pytest.raises(ValueError, match="read-only"):
        resamples(5)[0, 0] = 1
