"""Mirror-descent steps under negative entropy on the clipped simplex {p : sum p = 1, p ≥ floor}.

Each step is the exact solution of  min_q <x, q> + KL(q || p)  over the clipped simplex, where x is rate · loss.

* One-hot x ≥ 0 (a bandit's loss estimate): only the charged coordinate can end at the floor, so the projection is a
  closed form (the one-hot lemma, docs/mathematics.md). `step_one_hot` is that form on a plain array of
  probabilities; `step_one_hot_tree` is the same on the unnormalised weights of a sum tree, where a single leaf
  changes and the common factor vanishes in the total: O(log K).
* Dense x of any sign: `step_dense` raises coordinates to the floor until no free one lies below it. Raising can only
  lower the free ones' common factor, so what is raised stays raised and the loop ends at the KKT point.
  `step_dense_floors` is the same with a floor for each coordinate, {p : sum p = 1, p_i ≥ floor_i}; the argument is
  too: where c p_i < floor_i, (m - floor_i)/(free - p_i) < c = m/free, whatever the other floors are.

Reference: T. Lattimore, C. Szepesvári, "Bandit Algorithms", 2020, chapters 28 and 31, for mirror descent and for
clipping against switches.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit
from turncoat.mirror.tree import others, rebuild, set_leaf, total
from turncoat.types import Vector

SMALLEST_TOTAL = 1e-150
LARGEST_TOTAL = 1e150


@jit
def step_one_hot(p: Vector, a: int, x: float, floor: float) -> None:
    """Charge coordinate a of the distribution p with x ≥ 0, in place."""
    if p[a] <= floor:
        p[a] = floor  # it can sink no further
        return
    rest = 0.0
    for i in range(p.size):
        if i != a:
            rest += p[i]
    if rest <= 0.0:
        return  # nowhere to move mass to
    w = p[a] * math.exp(-x)
    q = w / (rest + w)
    scale = 1.0 / (rest + w)
    if q < floor:
        q = floor
        scale = (1.0 - floor) / rest
    for i in range(p.size):
        p[i] *= scale
    p[a] = q


@jit
def step_one_hot_tree(tree: Vector, K: int, a: int, x: float, floor: float) -> None:
    """Charge arm a with x ≥ 0: u_a <- max(u_a exp(-x), floor/(1 - floor) · the other weights)."""
    rest = others(tree, K, a)
    if rest <= 0.0:
        return
    set_leaf(tree, K, a, max(tree[a] * math.exp(-x), floor / (1.0 - floor) * rest))
    if rest < SMALLEST_TOTAL:
        rescale(tree, K, 1.0 / rest)


@jit
def rescale(tree: Vector, K: int, factor: float) -> None:
    """Multiply every weight by the same factor: the distribution stays what it is."""
    for arm in range(K):
        tree[arm] *= factor
    rebuild(tree, K)


@jit
def share_tree(tree: Vector, K: int, share: float) -> None:
    """Fixed share: every arm gives away `share` of its weight, which all get in equal parts. The total becomes 1."""
    weight = total(tree, K)
    for arm in range(K):
        tree[arm] = (1.0 - share) * (tree[arm] / weight) + share / K
    rebuild(tree, K)


@jit
def tilt(p: Vector, x: Vector) -> float:
    """p_i exp(lowest - x_i), where `lowest` lets nothing overflow: what has mass and is charged least stays."""
    lowest = math.inf
    for i in range(p.size):
        if p[i] > 0.0:
            lowest = min(lowest, x[i])
    for i in range(p.size):
        p[i] *= math.exp(min(lowest - x[i], 0.0))
    return lowest


@jit
def step_dense(p: Vector, x: Vector, floor: float) -> None:
    """Charge every coordinate of the distribution p with x, of any sign, in place. x is not changed."""
    tilt(p, x)
    factor = 0.0
    moved = True
    while moved:  # at most one pass for each coordinate; a raised one is marked by -1
        moved = False
        free = 0.0
        n_raised = 0
        for i in range(p.size):
            if p[i] >= 0.0:
                free += p[i]
            else:
                n_raised += 1
        if free <= 0.0:
            break  # floor = 1/size: there is no room above it
        factor = (1.0 - n_raised * floor) / free
        for i in range(p.size):
            if p[i] >= 0.0 and factor * p[i] < floor:
                p[i] = -1.0
                moved = True
    for i in range(p.size):
        p[i] = factor * p[i] if p[i] >= 0.0 else floor


@jit
def step_dense_floors(p: Vector, x: Vector, floors: Vector) -> float:
    """`step_dense` with a floor for each coordinate; they sum to less than 1. p may lie below them.

    Returns the mix loss, -ln(sum of p_i exp(-x_i)).
    """
    lowest, total, factor = tilt(p, x), 0.0, 0.0
    for i in range(p.size):
        total += p[i]
    moved = True
    while moved:
        moved = False
        free, room = 0.0, 1.0
        for i in range(p.size):
            if p[i] >= 0.0:
                free += p[i]
            else:
                room -= floors[i]
        if free <= 0.0:
            break  # the floors sum to 1: there is no room above them
        factor = room / free
        for i in range(p.size):
            if p[i] >= 0.0 and factor * p[i] < floors[i]:
                p[i] = -1.0
                moved = True
    for i in range(p.size):
        p[i] = factor * p[i] if p[i] >= 0.0 else floors[i]
    return lowest - math.log(total)
