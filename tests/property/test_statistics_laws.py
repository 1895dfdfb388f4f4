"""Laws of the statistics: what scaling, reordering and company change, and what they do not; the degenerate cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.cases import compiles_nothing
from turncoat.errors import OptionError
from turncoat.statistics import Estimate, differences, growth, mean_ranks, means, ranks, ratios
from turncoat.types import Matrix

pytestmark = compiles_nothing

METHODS = ["t", "bootstrap-t"]
SIZES = np.array([10.0, 100.0, 1000.0])


def regrets(seed: int, n_learners: int = 4, n_seeds: int = 6) -> Matrix:
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 50.0, (n_learners, n_seeds)) + 100.0 * rng.random(n_seeds)


def curves(seed: int, n_seeds: int = 6) -> Matrix:
    """(2 learners, seeds, sizes), growing."""
    return np.cumsum(np.random.default_rng(seed).gamma(2.0, 1.0, (2, n_seeds, 3)) * SIZES**0.7, axis=2)


def same(found: Estimate, expected: Estimate, rtol: float = 1e-9) -> None:
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, rtol=rtol, atol=1e-9)


def exactly(found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


def through(f: Any, found: Estimate) -> Estimate:
    return Estimate(*map(f, found))


seeds = st.integers(0, 2**32)
laws = settings(max_examples=20)


@laws
@given(seeds, st.floats(1e-6, 1e6), st.floats(-1e3, 1e3), st.sampled_from(METHODS))
def test_scale_and_shift(seed: int, scale: float, shift: float, method: str) -> None:
    x = regrets(seed)
    same(means(scale * x, method=method), through(lambda v: scale * v, means(x, method=method)))
    same(means(x + shift, method=method), through(lambda v: v + shift, means(x, method=method)), rtol=1e-6)
    same(differences(x + shift, method=method), differences(x, method=method), rtol=1e-6)
    exactly(ranks(scale * x, method=method), ranks(x, method=method))
    exactly(mean_ranks([scale * x], method=method), mean_ranks([x], method=method))
    same(
        ratios([scale * x], [scale * x[0]], offset=scale * 7, method=method),
        ratios([x], [x[0]], offset=7, method=method),
        rtol=1e-6,
    )
    y, found = curves(seed), growth(SIZES, curves(seed), method=method)
    same(growth(SIZES, scale * y, method=method).exponent, found.exponent, rtol=1e-6)
    same(growth(scale * SIZES, y, method=method).exponent, found.exponent, rtol=1e-6)
    np.testing.assert_allclose(growth(SIZES, scale * y).scale, scale * found.scale)


@laws
@given(seeds, st.permutations(range(4)), st.sampled_from(METHODS))
def test_learners_in_another_order_or_company_keep_their_numbers(seed: int, order: list[int], method: str) -> None:
    x = regrets(seed)
    exactly(means(x[order], method=method), [part[order] for part in means(x, method=method)])  # type: ignore[arg-type]
    square = np.ix_(order, order)
    exactly(differences(x[order], method=method), tuple(part[square] for part in differences(x, method=method)))
    exactly(ranks(x[order], method=method), tuple(part[order] for part in ranks(x, method=method)))
    exactly(differences(x[:2], method=method), tuple(part[:2, :2] for part in differences(x, method=method)))
    exactly(
        ratios([x[:2]], [x[3]], offset=1, method=method),
        tuple(part[:2] for part in ratios([x], [x[3]], offset=1, method=method)),
    )


@laws
@given(seeds, st.permutations(range(6)))
def test_the_order_of_seeds_is_nothing_to_students_t(seed: int, order: list[int]) -> None:
    x = regrets(seed)
    same(means(x[:, order]), means(x))
    same(differences(x[:, order]), differences(x))
    exactly(ranks(x[:, order]), ranks(x))
    same(mean_ranks([x[:, order]]), mean_ranks([x]))
    same(growth(SIZES, curves(seed)[:, order]).exponent, growth(SIZES, curves(seed)).exponent)
    same(ratios([x[:, order]], [x[0, order]], offset=1), ratios([x], [x[0]], offset=1))


def test_the_order_of_seeds_is_little_to_the_bootstrap() -> None:
    """It draws by index, so another order is another set of 1,999 resamples.

    Null: nothing but that. Over 400 orders the ends of this interval had standard deviations of 0.05 and 0.10 standard
    errors, so two orders differ with at most 0.14, and 0.8 is 5.6 of that. 10 orders, 2 ends: false alarm below 1e-6.
    An end that moves by 1.2 standard errors is caught with 99 %.
    """
    x = regrets(5, 1, 30)[0]
    found, rng = means(x, method="bootstrap-t"), np.random.default_rng(1)
    for _ in range(10):
        again = means(rng.permutation(x), method="bootstrap-t")
        for left, right in zip(found, again, strict=True):
            assert left == pytest.approx(right, abs=0.8 * x.std(ddof=1) / math.sqrt(30))


@laws
@given(seeds, st.sampled_from(METHODS), st.floats(0.5, 0.99))
def test_intervals_hold_their_value_and_widen_with_the_level(seed: int, method: str, level: float) -> None:
    x, wider = regrets(seed), (1 + level) / 2
    pairs = differences(x, level=level, method=method)
    exactly(pairs, (-pairs.value.T, -pairs.high.T, -pairs.low.T))
    found = ranks(x, level=level, method=method)
    assert np.all((found.low >= 1) & (found.low <= found.rank) & (found.rank <= found.high) & (found.high <= 4))
    loose = ranks(x, level=wider, method=method)
    assert np.all((loose.low <= found.low) & (loose.high >= found.high))
    for estimate, more in (
        (means(x, level=level, method=method), means(x, level=wider, method=method)),
        (growth(SIZES, curves(seed), level=level, method=method)[0], growth(SIZES, curves(seed), level=wider)[0]),
    ):
        assert np.all(estimate.low <= estimate.high)
        if method == "t":
            assert np.all((more.low < estimate.low) & (estimate.high < more.high))
            assert np.all((estimate.low < estimate.value) & (estimate.value < estimate.high))


@given(st.floats(0.0, 1.5), st.floats(1e-3, 1e6), st.lists(st.floats(0.1, 10.0), min_size=2, max_size=9))
def test_a_power_law_is_found_exactly(exponent: float, scale: float, luck: list[float]) -> None:
    """Also where seeds differ by factors: then all agree on the exponent, and the interval is a point."""
    y = scale * np.multiply.outer(luck, SIZES**exponent)
    for method in METHODS:
        found = growth(SIZES, y, method=method)
        np.testing.assert_allclose(found.exponent, exponent, atol=1e-9)
        assert found.scale == pytest.approx(scale * np.mean(luck), rel=1e-8)


def test_ratio_turns_over_when_the_sides_are_swapped() -> None:
    x = np.stack([regrets(1), regrets(2)])
    for method in METHODS:
        there = ratios(x[:, :1], x[:, 1], offset=3.0, method=method)
        back = ratios(x[:, 1:2], x[:, 0], offset=3.0, method=method)
        same(there, Estimate(1 / back.value, 1 / back.high, 1 / back.low))


def test_an_environment_counted_twice_adds_no_certainty() -> None:
    """Seeds with one index share their randomness over environments, so the sample is the seeds alone."""
    x = regrets(3)
    same(mean_ranks([x, x]), mean_ranks([x]))
    same(ratios([x, x], [x[0], x[0]], offset=1.0), ratios([x], [x[0]], offset=1.0))


@pytest.mark.parametrize("method", METHODS)
def test_no_seed_is_nan_and_one_seed_knows_no_interval(method: str) -> None:
    assert np.isnan(means(np.empty((3, 0)), method=method)).all()
    assert np.isnan(growth(SIZES, np.empty((0, 3)), method=method).exponent).all()
    assert np.isnan(differences(np.empty((2, 0)), method=method)).all()
    one = means([[5.0], [7.0]], method=method)
    exactly(one, ([5.0, 7.0], [-math.inf] * 2, [math.inf] * 2))
    apart = differences([[5.0], [7.0]], method=method)
    assert apart.value.tolist() == [[0, -2], [2, 0]] and apart.low[0, 1] == -math.inf and apart.high[0, 1] == math.inf
    exactly(ranks([[5.0], [7.0]], method=method), ([1, 2], [1, 1], [2, 2]))
    exactly(mean_ranks([[[5.0], [7.0]]], method=method), ([1, 2], [1, 1], [2, 2]))
    exactly(growth(SIZES, [SIZES], method=method).exponent, (pytest.approx(1.0), -math.inf, math.inf))
    exactly(ratios([[[5.0]]], [[1.0]], offset=1, method=method), (pytest.approx(3.0), 0.0, math.inf))


def test_a_single_learner_is_an_array_without_axes() -> None:
    for method in METHODS:
        assert all(isinstance(part, np.ndarray) and part.shape == () for part in means([1.0, 2.0], method=method))


def test_two_seeds_are_enough_for_students_t_and_not_for_the_bootstrap() -> None:
    found = means([1.0, 3.0])
    assert float(found.high) == pytest.approx(2 + 12.7062047, rel=1e-7)  # t with one degree of freedom
    exactly(means([1.0, 3.0], method="bootstrap-t"), (2.0, -math.inf, math.inf))
    exactly(means([1.0, 3.0, 4.0], method="bootstrap-t")[1:], (-math.inf, math.inf))
    assert np.isfinite(means([1.0, 3.0, 4.0, 8.0, 9.0], method="bootstrap-t")).all()


@pytest.mark.parametrize("method", METHODS)
def test_seeds_that_agree_leave_no_doubt(method: str) -> None:
    """Exactly none: the mean of 0.1, 0.1, 0.1 as usually added is not 0.1, and 1e-17 is not no spread."""
    exactly(means([0.1] * 3, method=method), (0.1, 0.1, 0.1))
    exactly(ranks([[0.1] * 3, [0.3] * 3, [0.1] * 3], method=method), ([1, 3, 1], [1, 3, 1], [2, 3, 2]))
    apart = means([1e9, 1e9 + 1e-3] * 3, method=method)  # little, yet more than rounding: kept
    assert apart.low < apart.value < apart.high
    x = regrets(1, 1)  # always three times as much: only last bits differ, which once made bootstrap-t infinite
    np.testing.assert_allclose(ratios([3 * x], x, offset=0, method=method), 3.0, rtol=1e-12)
    one_off = means([0.0] * 9 + [100.0], method="bootstrap-t")  # a third of the resamples miss the only bad seed
    assert one_off.high == math.inf and one_off.low > -math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", METHODS)
def test_a_missing_regret_spoils_its_learner_and_no_other(bad: float, method: str) -> None:
    x = regrets(1)
    x[1, 2] = bad
    others = [0, 2, 3]
    found = means(x, method=method)
    assert [np.isnan(part).tolist() for part in found] == [[False, True, False, False]] * 3
    exactly(means(x[others], method=method), tuple(part[others] for part in found))
    places = ranks(x, method=method)
    assert math.isnan(places.rank[1]) and sorted(places.rank[others]) == [1, 2, 3]
    assert (places.low[1], places.high[1]) == (1, 4)
    assert np.isnan(mean_ranks([x], method=method)).all()


@pytest.mark.parametrize("method", METHODS)
def test_negative_regrets_enter_the_mean_and_only_a_mean_without_logarithm_is_nan(method: str) -> None:
    y = curves(1)
    y[:, 0, 0] = -1.0  # one seed was lucky
    assert (y.mean(axis=1) > 0).all()
    assert np.isfinite(growth(SIZES, y, method=method).exponent.value).all()
    y[1, :, 0] -= y[1, :, 0].mean() + 1e-9
    found = growth(SIZES, y, method=method)
    assert [np.isnan(part).tolist() for part in (*found.exponent, found.scale)] == [[False, True]] * 4
    x = regrets(1) - 1000.0
    assert np.isnan(ratios([x], [x[0]], offset=0, method=method)).all()
    assert not np.isnan(ratios([x], [x[0]], offset=1000, method=method)).any()


def test_resamples_without_a_logarithm_count_against_both_ends() -> None:
    """A mean that is positive only by one seed: a third of the resamples have no exponent."""
    y = np.ones((10, 3)) * SIZES
    y[:9, 0] = -1.0
    found = growth(SIZES, y, method="bootstrap-t").exponent
    exactly(found[1:], (-math.inf, math.inf))


def test_sizes_that_do_not_differ_have_no_slope() -> None:
    for sizes in ([5.0], [5.0, 5.0]):
        assert np.isnan(growth(sizes, np.ones((4, len(sizes)))).exponent).all()


def test_huge_and_tiny_numbers_raise_nothing() -> None:
    for scale in (1e-320, 1e-200, 1e160, 1e300):
        for method in METHODS:
            means(scale * regrets(1), method=method)
            growth(SIZES, scale * regrets(1)[:3].T, method=method)


def numbers(*shape: int) -> NDArray[np.float64]:
    return np.ones(shape)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: means(numbers(3), level=0.0), "level is 0.0"),
        (lambda: means(numbers(3), level=95), "level is 95"),
        (lambda: means(numbers(3), level=True), "level is True"),
        (lambda: means(numbers(3), method="bca"), "method is 'bca'; accepted are 't' and 'bootstrap-t'"),
        (lambda: means(1.0), r"shape \(\)"),
        (lambda: means([[1.0], [1.0, 2.0]]), r"accepted are numbers, in an array over \(…, seeds\)"),
        (lambda: means(["a"]), "accepted are numbers"),
        (lambda: differences(numbers(3)), r"shape \(3,\)"),
        (lambda: ranks(numbers(0, 3)), r"shape \(0, 3\)"),
        (lambda: ranks(numbers(1, 2, 3)), r"shape \(1, 2, 3\)"),
        (lambda: mean_ranks(numbers(0, 2, 3)), r"shape \(0, 2, 3\)"),
        (lambda: growth([0.0, 1.0], numbers(3, 2)), "sizes hold"),
        (lambda: growth([math.nan], numbers(3, 1)), "sizes hold"),
        (lambda: growth([], numbers(3, 0)), r"sizes have the shape \(0,\)"),
        (lambda: growth([1.0, 2.0], numbers(3, 3)), "as many in a row as sizes, 2"),
        (lambda: ratios(numbers(1, 2, 3), numbers(1, 2), offset=0), r"reference has the shape \(1, 2\)"),
        (lambda: ratios(numbers(1, 2, 3), numbers(1, 3), offset=-1), "offset is -1"),
        (lambda: ratios(numbers(0, 2, 3), numbers(0, 3), offset=0), r"shape \(0, 2, 3\)"),
    ],
)
def test_bad_input_is_named(call: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        call()
