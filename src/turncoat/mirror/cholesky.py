"""Small linear systems by Cholesky factors, in place and without allocation: for matrices of a few dozen rows.

A symmetric, positive definite M is L Lᵀ with L lower triangular; M x = b is then two triangular solves. Learners only
solve with matrices M ≥ m I whose m > 0 they know, and so every pivot of L, squared, is at least m. Where rounding says
otherwise the pivot is put at its bound: a factor is always finite, and never NaN.

Cost: d³/3 multiplications and additions for a factor, 2d² for a solve.
Reference: G. H. Golub, C. F. Van Loan, "Matrix Computations", 2013, section 4.2.
"""

from __future__ import annotations

import math

from turncoat._jit import jit
from turncoat.types import Matrix, Vector


@jit
def factor(matrix: Matrix, least: float, lower: Matrix) -> None:
    """Write L with L Lᵀ = matrix, zeros above its diagonal; no eigenvalue is below `least` > 0."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i):
            total = matrix[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total / lower[j, j]
        pivot = matrix[i, i]
        for k in range(i):
            pivot -= lower[i, k] * lower[i, k]
        lower[i, i] = math.sqrt(max(pivot, least))
        for j in range(i + 1, d):
            lower[i, j] = 0.0


@jit
def solve(lower: Matrix, x: Vector) -> None:
    """Solve L Lᵀ y = x; y takes the place of x."""
    d = x.size
    for i in range(d):
        total = x[i]
        for k in range(i):
            total -= lower[i, k] * x[k]
        x[i] = total / lower[i, i]
    for i in range(d - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, d):
            total -= lower[k, i] * x[k]
        x[i] = total / lower[i, i]


@jit
def transpose(matrix: Matrix) -> None:
    """Swap rows and columns, in place."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[i, j], matrix[j, i] = matrix[j, i], matrix[i, j]


@jit
def dot(x: Vector, y: Vector) -> float:
    """<x, y>, added up in one order, whatever machine it runs on."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@jit
def add_outer(matrix: Matrix, keep: float, x: Vector, diagonal: float) -> None:
    """M <- keep · M + x xᵀ + diagonal · I, in place."""
    d = x.size
    for i in range(d):
        for j in range(d):
            matrix[i, j] = keep * matrix[i, j] + x[i] * x[j]
        matrix[i, i] += diagonal
