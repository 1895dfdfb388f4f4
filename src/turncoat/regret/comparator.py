"""L*(S): the least loss of any sequence of arms that switches at most S times, for all S at once, exactly.

The comparator knows every loss of every arm; a learner's switching regret is what it lost beyond L*(S). L* falls with
S but is *not* convex in it: on the losses (1, 0), (0, 1), (1, 0) it is 1, 1, 0. So no penalty per switch finds all of
it, and this dynamic programme does:

    f(k, s) = 0                                     before the first round                                     (1)
    m(s)    = min over k of f(k, s),  m(-1) = inf                                                              (2)
    f(k, s) = loss(k) + min(f(k, s), m(s - 1))      each round, m being that of the round before               (3)
    L*(s)   = m(s)                                  after the last round                                       (4)

| symbol  | here                                                                                             |
|---------|--------------------------------------------------------------------------------------------------|
| f(k, s) | `f[k, s]`: the least loss so far of a sequence that ends in arm k, with at most s switches       |
| m(s-1)  | `m[0, s]`, so that `m[0, 0]` is inf; `m[1]` is where the next round's minima are gathered        |

In (3) the arm switched from may be k itself: f never rises with s, so in that case f(k, s) is the smaller of the two.

Rounding: floating-point addition never reverses an order, so L*(s) is, to the last bit, the least of all sequences'
totals added up round by round. Whole-number losses are exact while their sums stay below 2**53.

Cost: K·(S + 1) cells per round, no more memory than that; both inner loops run over s and are vectorised. The problem
is posed in M. Herbster and M. K. Warmuth, "Tracking the best expert", Machine Learning 32 (1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.jit import jit_game
from turncoat.errors import OptionError
from turncoat.types import Matrix, Vector
from turncoat.validation.tables import as_switches, as_table, blocks


class Frontier(NamedTuple):
    """Where the dynamic programme stands after some rounds."""

    f: Matrix  # (K, S + 1)
    m: Matrix  # (2, S + 2)


@jit_game
def advance(frontier: Frontier, block: Matrix) -> None:
    """Take the frontier through the rounds of a block, an (n, K) array of losses.

    Arms go four at a time: the minima (2) are gathered in memory, and every visit there waits for the one before.
    """
    f, old, new = frontier.f, frontier.m[0], frontier.m[1]
    K, width = f.shape
    for i in range(block.shape[0]):
        new[1:] = np.inf
        for k in range(0, K - 3, 4):
            la, lb, lc, ld = block[i, k], block[i, k + 1], block[i, k + 2], block[i, k + 3]
            fa, fb, fc, fd = f[k], f[k + 1], f[k + 2], f[k + 3]
            for s in range(width):
                a, b = la + min(fa[s], old[s]), lb + min(fb[s], old[s])  # (3)
                c, d = lc + min(fc[s], old[s]), ld + min(fd[s], old[s])  # (3)
                fa[s], fb[s], fc[s], fd[s] = a, b, c, d
                new[s + 1] = min(new[s + 1], min(min(a, b), min(c, d)))  # (2)
        for k in range(K - K % 4, K):
            loss, row = block[i, k], f[k]
            for s in range(width):
                total = loss + min(row[s], old[s])  # (3)
                row[s] = total
                new[s + 1] = min(new[s + 1], total)  # (2)
        old, new = new, old
    if block.shape[0] % 2 == 1:
        frontier.m[0, :] = frontier.m[1, :]


class Comparator:
    """The best sequences of arms so far: `advance` it block by block, ask for its `losses` at any time."""

    def __init__(self, n_arms: int, max_switches: int) -> None:
        self.frontier = Frontier(f=np.zeros((n_arms, max_switches + 1)), m=np.zeros((2, max_switches + 2)))  # (1)
        self.frontier.m[:, 0] = np.inf

    def advance(self, block: Matrix) -> None:
        """Go on by the rounds of a block: an (n, K) C-ordered float64 array of finite losses."""
        advance(self.frontier, block)

    def losses(self) -> Vector:
        """L*(0), …, L*(max_switches) of the rounds so far."""
        return self.frontier.m[0, 1:].copy()  # (4)


def best_switching_losses(losses: ArrayLike, max_switches: int) -> Vector:
    """The least total loss of any sequence of arms with at most s switches, for s = 0, …, max_switches.

    `losses` is a (T, K) table of finite numbers. L*(0) is the loss of the best fixed arm; from T - 1 switches on it is
    the sum of each round's least loss.
    """
    result = _room(as_switches("max_switches", max_switches))
    table = as_table(losses)
    T, K = table.shape
    S = min(result.size, T) - 1
    comparator = Comparator(K, S)
    for _, block in blocks(table, S):
        comparator.advance(block)
    result[: S + 1] = comparator.losses()
    result[S + 1 :] = result[S]  # no sequence of T arms switches more than T - 1 times
    return result


def _room(max_switches: int) -> Vector:
    try:
        return np.empty(max_switches + 1)
    except (MemoryError, ValueError, OverflowError):
        raise OptionError(f"max_switches is {max_switches!r}; accepted is one whose losses fit in memory") from None
