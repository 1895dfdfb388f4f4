"""The sum tree against plain sums: totals, all-but-one, draws, at every size around its node boundaries."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from turncoat._compile.jit import jit
from turncoat.mirror.tree import fill, find, others, rebuild, set_leaf, total, tree_size
from turncoat.types import Ints, Vector

SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 511, 512, 513, 1000, 4097]


def planted(weights: Vector) -> Vector:
    tree = np.zeros(tree_size(weights.size))
    tree[: weights.size] = weights
    rebuild(tree, weights.size)
    return tree


def draw_naively(weights: Vector, heights: Vector) -> list[int]:
    """For each height the first arm whose cumulative weight, summed exactly, exceeds it."""
    edges = list(accumulate(Fraction(weight) for weight in weights.tolist()))
    return [bisect_right(edges, Fraction(height)) for height in heights.tolist()]


@jit
def find_all(tree: Vector, K: int, heights: Vector, arms: Ints) -> None:
    for i in range(heights.size):
        arms[i] = find(tree, K, heights[i])


def find_each(tree: Vector, K: int, heights: Vector) -> Ints:
    arms = np.empty(heights.size, np.int64)
    find_all(tree, K, heights, arms)
    return arms


@pytest.mark.jit_off
@pytest.mark.parametrize("K", SIZES)
def test_sums_are_the_plain_sums(K: int) -> None:
    rng = np.random.default_rng(K)
    tree = np.zeros(tree_size(K))
    fill(tree, K, 0.25)
    assert total(tree, K) == 0.25 * K
    weights = 10.0 ** rng.uniform(-12, 3, K)
    tree = planted(weights)
    for arm in {0, K - 1, K // 2, *rng.integers(0, K, 20).tolist()}:
        weights[arm] = 10.0 ** rng.uniform(-12, 3)
        set_leaf(tree, K, arm, weights[arm])
        assert total(tree, K) == pytest.approx(math.fsum(weights), rel=1e-15)
        before = tree.copy()
        rest = others(tree, K, arm)
        assert rest == pytest.approx(math.fsum(np.delete(weights, arm)), rel=2e-15, abs=0.0)
        np.testing.assert_array_equal(tree, before)
    np.testing.assert_array_equal(tree, planted(weights))


@pytest.mark.jit_off
def test_the_others_of_a_giant_do_not_cancel() -> None:
    weights = np.full(100, 1e-20)
    weights[37] = 1.0
    assert others(planted(weights), 100, 37) == pytest.approx(99e-20, rel=1e-15, abs=0.0)


@pytest.mark.jit_off
@pytest.mark.parametrize("K", SIZES[:-3])
def test_draws_are_the_inverse_of_the_cumulative_sum(K: int) -> None:
    """Whole weights, so that sums are exact: the edges of all slices, and a hair to their left, fall as they should."""
    rng = np.random.default_rng(K)
    for share in (0.0, 0.5, 0.95):
        weights = rng.integers(1, 50, K).astype(float)
        weights[rng.random(K) < share] = 0.0
        weights[rng.integers(K)] = 3.0
        edges = np.concatenate([[0.0], np.cumsum(weights)])
        heights = np.unique(np.concatenate([edges[:-1], np.nextafter(edges[1:], 0.0), rng.uniform(0, edges[-1], 50)]))
        heights = heights[heights < edges[-1]]
        np.testing.assert_array_equal(find_each(planted(weights), K, heights), draw_naively(weights, heights))


@pytest.mark.parametrize("K", [2, 8, 9, 65, 513])
def test_draws_from_weights_of_all_sizes(K: int) -> None:
    """Real weights: the arm is the naive one unless the height lies within rounding of an edge."""
    rng = np.random.default_rng(K)
    n_on_edges = 0
    for _ in range(20):
        weights = 10.0 ** rng.uniform(-6, 3, K)
        tree = planted(weights)
        edges = np.cumsum(weights)
        heights = rng.uniform(0.0, edges[-1], 200)
        arms = find_each(tree, K, heights)
        for height in heights[arms != draw_naively(weights, heights)]:
            n_on_edges += 1
            assert np.min(np.abs(edges - height)) <= 1e-14 * edges[-1]
    assert n_on_edges <= 2


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 8, 9, 64, 65, 600])
def test_no_draw_is_out_of_range_or_weightless(K: int) -> None:
    """Heights at the total, past it, and just below it: where rounding leads off the end."""
    rng = np.random.default_rng(K)
    for _ in range(50):
        weights = 10.0 ** rng.uniform(-300, 0, K) * (rng.random(K) < rng.choice([1.0, 0.3, 0.02]))
        weights[rng.integers(K)] = 10.0 ** rng.uniform(-100, 0)
        tree = planted(weights)
        whole = total(tree, K)
        ends = [0.0, 5e-324, whole, 2.0 * whole]
        heights = np.concatenate([ends, whole * (1.0 - 2.0**-53 * np.arange(1, 9)), rng.uniform(0, whole, 20)])
        arms = find_each(tree, K, heights)
        assert np.all((arms >= 0) & (arms < K))
        assert np.all(weights[arms] > 0.0)


def test_draw_frequencies_follow_the_weights() -> None:
    """A grid of heights counts slices: no randomness, each arm within one grid cell of its share."""
    K, n = 70, 100_000
    weights = np.random.default_rng(5).dirichlet(np.full(K, 0.5))
    tree = planted(weights)
    counts = np.bincount(find_each(tree, K, total(tree, K) * (np.arange(n) + 0.5) / n), minlength=K)
    assert np.all(np.abs(counts - n * weights / weights.sum()) <= 1.0 + 1e-9)
