"""The best sequence of points of the unit ball with at most S switches, exactly.

The best point for rounds i … j - 1 is the one opposite to the sum of their loss vectors, and costs -|that sum|. So
    L(s, j) = min over i of L(s - 1, i) - |l_i + … + l_{j-1}|
is a dynamic programme over the rounds in which the last segment begins. Cost: O(T² (S + d)), for games up to some
thousand rounds; memory O(S T).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.jit import jit_game
from turncoat.errors import OptionError, TableError
from turncoat.types import Matrix, Vector
from turncoat.validation.numbers import is_whole

MOST_ROUNDS = 20_000


@jit_game
def fill_best(sums: Matrix, best: Matrix) -> None:
    """best[s, j]: the least loss of the first j rounds with at most s switches; sums[j]: their loss vectors' sum."""
    for j in range(1, sums.shape[0]):
        for s in range(best.shape[0]):
            best[s, j] = math.inf
        for i in range(j):
            square = 0.0
            for k in range(sums.shape[1]):
                part = sums[j, k] - sums[i, k]
                square += part * part
            cost = -math.sqrt(square)
            if i == 0:
                for s in range(best.shape[0]):
                    best[s, j] = min(best[s, j], cost)
            else:
                for s in range(1, best.shape[0]):
                    best[s, j] = min(best[s, j], best[s - 1, i] + cost)


def best_point_losses(losses: ArrayLike, max_switches: int) -> Vector:
    """L*(0), …, L*(max_switches): what the best sequences of points of the unit ball lose on these loss vectors."""
    vectors = np.asarray(losses, dtype=np.float64)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise TableError(
            f"losses have shape {vectors.shape}; accepted is a (rounds, dimensions) array of finite numbers"
        )
    T = vectors.shape[0]
    if T > MOST_ROUNDS:
        raise OptionError(
            f"losses have {T} rounds; accepted are at most {MOST_ROUNDS}: the work grows with their square"
        )
    if not is_whole(max_switches) or max_switches < 0:
        raise OptionError(f"max_switches is {max_switches!r}; accepted are whole numbers of at least 0")
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])
    best = np.zeros((min(int(max_switches), T - 1) + 1, T + 1))
    fill_best(sums, best)
    reached = best[:, T]
    return np.concatenate([reached, np.full(int(max_switches) + 1 - len(reached), reached[-1])])
