"""Small linear systems by Cholesky factors, in place and without allocation: for matrices of a few dozen rows.

A symmetric, positive definite M is L Lᵀ with L lower triangular; M x = b is then two triangular solves. Learners only
solve with matrices M ≥ m I whose m > 0 they know, and so every pivot of L, squared, is at least m.

Where m is lost to rounding, below 2 d eps times the trace of M, that fails in floats: pivots may come out negative, and
one that is merely too small makes all below it overflow. There M + r I is factored in place of M, r being that level;
and if that is still not positive definite (M's own sums were rounded too), with ten times r, until it is. So a factor
is always finite.

Cost: d³/3 multiplications and additions for a factor, 2d² for a solve.
References: G. H. Golub, C. F. Van Loan, "Matrix Computations", 2013, section 4.2; N. J. Higham, "Accuracy and stability
of numerical algorithms", 2002, section 10.1, for how small an eigenvalue a factor survives.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit
from turncoat.types import Matrix, Vector

_EPSILON = 2.0**-52
_FARTHEST = 1e300  # no matrix of a learner gets here; it ends the loop on NaN


@jit
def factor(matrix: Matrix, least: float, lower: Matrix) -> None:
    """Write L with L Lᵀ = matrix, zeros above its diagonal; no eigenvalue is below `least` > 0."""
    d = matrix.shape[0]
    trace = 0.0
    for i in range(d):
        trace += matrix[i, i]
    level = 2.0 * d * _EPSILON * trace
    lift = level if least < level else 0.0
    while not _is_factored(matrix, lift, max(least, lift), lower) and lift < _FARTHEST:
        lift = max(10.0 * lift, level, least)


@jit
def _is_factored(matrix: Matrix, lift: float, least: float, lower: Matrix) -> bool:
    """Factor matrix + lift · I; False, and L is left unfinished, where a pivot is far below `least`."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(i):
            total = matrix[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total / lower[j, j]
        pivot = matrix[i, i] + lift
        for k in range(i):
            pivot -= lower[i, k] * lower[i, k]
        if not pivot > 0.5 * least:
            return False
        lower[i, i] = math.sqrt(max(pivot, least))
        for j in range(i + 1, d):
            lower[i, j] = 0.0
    return True


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
