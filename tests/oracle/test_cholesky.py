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
def test_a_pivot_lost_to_rounding_stays_at_its_bound() -> None:
    # 1 + 1e-20 is 1 in floats: the second pivot of [[1, 1], [1, 1 + 1e-20]] comes out as 0, and L would divide by it.
    lower = np.empty((3, 3))
    factor(np.ones((3, 3)), 1e-20, lower)
    assert np.isfinite(lower).all()
    assert np.diag(lower).tolist() == [1.0, 1e-10, 1e-10]


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
