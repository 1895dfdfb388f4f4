"""Cholesky factors and solves against numpy.linalg, and where rounding would make a factor NaN."""

from __future__ import annotations

import numpy as np
import pytest

from turncoat.mirror.cholesky import add_outer, dot, factor, solve, transpose

DIMENSIONS = [1, 2, 3, 8, 20, 64]


def instance(d: int, seed: int, least: float = 0.1) -> np.ndarray:
    """A symmetric matrix with eigenvalues from `least` on, of a condition number up to a few thousand."""
    rows = np.random.default_rng(seed).standard_normal((d, 2 * d))
    return rows @ rows.T + least * np.eye(d)


@pytest.mark.jit_off
@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_factor_is_numpys(d: int) -> None:
    for seed in range(5):
        matrix, lower = instance(d, seed), np.full((d, d), np.nan)
        factor(matrix, 0.1, lower)
        exact = np.linalg.cholesky(matrix)
        assert np.abs(lower - exact).max() <= 1e-13 * np.abs(exact).max()
        assert np.array_equal(np.triu(lower, 1), np.zeros((d, d)))


@pytest.mark.jit_off
@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_solution_is_numpys(d: int) -> None:
    for seed in range(5):
        matrix, lower = instance(d, seed), np.empty((d, d))
        x = np.random.default_rng(seed + 99).standard_normal(d)
        exact = np.linalg.solve(matrix, x)
        factor(matrix, 0.1, lower)
        solve(lower, x)
        assert np.abs(x - exact).max() <= 1e-15 * np.linalg.cond(matrix) * np.abs(exact).max()


@pytest.mark.jit_off
def test_a_bound_lost_to_rounding_is_lifted_to_the_level_of_rounding() -> None:
    # 1 + 1e-20 is 1 in floats: the second pivot of [[1, 1], [1, 1 + 1e-20]] comes out as 0, and L would divide by it.
    # 2 · 3 · 2^-52 · 3 = 4e-15 is added to the diagonal; the other pivots are 2 and 3/2 of that.
    lower = np.empty((3, 3))
    factor(np.ones((3, 3)), 1e-20, lower)
    level = 18 * 2.0**-52
    assert np.diag(lower) ** 2 == pytest.approx([1.0, 2 * level, 1.5 * level], rel=0.1)


@pytest.mark.parametrize("d", [2, 8, 64])
def test_a_matrix_of_a_single_direction_is_solved(d: int) -> None:
    """Put at their bound one by one, pivots below rounding made the entries after them explode, and NaN from d = 8."""
    chance = np.random.default_rng(d)
    for size in (1.0, 1e6, 1e12):
        x = chance.standard_normal(d)
        x *= size / np.linalg.norm(x)
        lower, solved = np.empty((d, d)), x.copy()
        factor(np.outer(x, x), 1e-6, lower)
        solve(lower, solved)
        assert solved @ x == pytest.approx(1.0, rel=1e-5)
        assert np.abs(lower @ lower.T - np.outer(x, x)).max() <= 1e-13 * d * size**2 + 2e-6


@pytest.mark.parametrize("wrong", [-1.0, -1e-9])
def test_a_matrix_that_is_not_positive_is_lifted_until_it_is(wrong: float) -> None:
    matrix, lower = np.diag([1.0, 2.0, wrong]), np.empty((3, 3))
    factor(matrix, 1e-20, lower)
    lift = (lower @ lower.T - matrix)[2, 2]
    assert -wrong < lift <= -12 * wrong


def test_a_factor_ends_on_nan() -> None:
    factor(np.full((2, 2), np.nan), 1.0, np.empty((2, 2)))


@pytest.mark.jit_off
def test_the_small_steps() -> None:
    chance = np.random.default_rng(3)
    matrix, x = chance.random((4, 4)), chance.random(4)
    expected = 0.3 * matrix + np.outer(x, x) + 2.0 * np.eye(4)
    turned = matrix.T.copy()
    transpose(matrix)
    assert np.array_equal(matrix, turned)
    transpose(matrix)
    add_outer(matrix, 0.3, x, 2.0)
    assert np.allclose(matrix, expected, rtol=1e-15)
    assert dot(x, x) == pytest.approx(x @ x, rel=1e-15)
