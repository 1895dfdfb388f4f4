"""The mirror-descent bases of Turncoat, (7) and (8) of docs/guarantee.md, as stacked sum trees: O(log K) per round.

Base i has unnormalised weights, w(k) + offset, the offset being 0 for clipped ones, and P(k) is proportional to them.

Clipped (rate xi, floor beta): an entropy step with the loss estimate l/q, projected onto {P ≥ beta}. Only the charged
arm can end at the floor (docs/mathematics.md), so with unnormalised weights it is
    w(a) <- max(w(a) exp(-xi l/q), beta/(1 - beta) · the other weights)                 (7)
Signed (rate zeta, share 1/N): the estimate is of the loss minus the master's baseline b, so weights rise too. Its
exponent is at most 1. Then fixed share: every arm gives away its share, which is divided equally among all arms:
    w(a) <- w(a) exp(min(1, -zeta (l - b)/q));  w(k) <- w(k) + share/(1 - share) W/K    (8)
The same amount for all arms is added once, to the offset. Up to FOLDED arms, where the charged arm falls below the
offset, the offset is first folded into the weights, so that w(k) ≥ 0. Of more arms, w(k) may be negative, and the
offset is folded only where it has become MOST_OFFSET times the mean weight. An arm that was not charged since the
offset was folded last weighs at least the offset; so nearly all have been, and folding costs O(1) per round. w(k) +
offset loses digits, but few: fixed share keeps it above W/(KN), so its relative error is at most of the order of
MOST_OFFSET N times that of a float64, 2e-16. A node of the tree weighs its sum and `alive` times the offset.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit, jit_step
from turncoat.learners.turncoat.constants import N_CLIPPED, N_MIRRORS, arm_floor
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.mirror.entropy import LARGEST_TOTAL, SMALLEST_TOTAL
from turncoat.random import uniform
from turncoat.types import Matrix, Vector

FOLDED = 64  # arms
MOST_OFFSET = 16.0  # times the mean weight
LEAST = 1e-15  # of the offset: below rounding


@jit
def sum_up(tree: Matrix, node: int) -> None:
    """The sums of a node and of all above it, from their children."""
    while node >= 1:
        for i in range(N_MIRRORS):
            tree[node, i] = tree[2 * node, i] + tree[2 * node + 1, i]
        node >>= 1


@jit
def rebuild(tree: Matrix) -> None:
    """All sums, from the leaves."""
    for node in range(tree.shape[0] // 2 - 1, 0, -1):
        for i in range(N_MIRRORS):
            tree[node, i] = tree[2 * node, i] + tree[2 * node + 1, i]


@jit
def others(tree: Matrix, leaf: int, out: Vector) -> None:
    """The sum of all weights but one, added up from the siblings on the way to the root."""
    for i in range(N_MIRRORS):
        out[i] = 0.0
    while leaf > 1:
        for i in range(N_MIRRORS):
            out[i] += tree[leaf ^ 1, i]
        leaf >>= 1


@jit
def weight_of(leaf: float, offset: float) -> float:
    """The weight of an arm, w(k) + offset, which rounding makes no negative number."""
    return max(leaf + offset, LEAST * offset)


@jit
def chance_in_mirrors(weights: Matrix, offset: Vector, n: float, leaf: int, more: float, out: Vector) -> None:
    """P(arm) under each base, of n arms: `leaf` is the arm's row, `more` 1, or 0 for one that is retired."""
    for i in range(N_MIRRORS):
        out[i] = weight_of(weights[leaf, i], more * offset[i]) / (weights[1, i] + n * offset[i])


@jit
def chosen_by_mirrors(p: Vector, weights: Matrix, offset: Vector, n: float, leaf: int, more: float) -> float:
    """The part of an arm's probability that is theirs."""
    q = 0.0
    for i in range(N_MIRRORS):
        q += p[i] * weight_of(weights[leaf, i], more * offset[i]) / (weights[1, i] + n * offset[i])
    return q


@jit_step
def draw(state: TurncoatState, i: int) -> int:
    """An arm, drawn from base i."""
    weights, offset, n = state.weights, state.offset[i], int(state.n_living[0])
    if n > FOLDED:
        return draw_by_nodes(state, i, uniform(state.rng) * (weights[1, i] + n * offset))
    total = weights[1, i]
    height = uniform(state.rng) * (total + n * offset)
    if height >= total and offset > 0.0:
        return int(state.living[min(int((height - total) / offset), n - 1)])
    node = 1
    while node < state.P:
        node *= 2
        if height >= weights[node, i] and weights[node + 1, i] > 0.0:
            height -= weights[node, i]
            node += 1
    return node - int(state.P)


@jit_step
def draw_by_nodes(state: TurncoatState, i: int, height: float) -> int:
    """The arm of base i at this height of all weights, one above the other, where leaves may be negative."""
    weights, offset, alive, node = state.weights, state.offset[i], state.alive, 1
    while node < state.P:
        node *= 2
        below = weights[node, i] + alive[node] * offset
        if alive[node + 1] > 0.0 and (height >= below or alive[node] == 0.0):
            height -= below
            node += 1
    return node - int(state.P)


@jit_step
def charge_mirrors(state: TurncoatState, arm: int, q: float, loss: float, baseline: float) -> None:
    """(7) and (8), in every base. `baseline`: b."""
    leaf, n, N = state.P + arm, state.n_living[0], state.guess[0]
    weights, offset, rest = state.weights, state.offset, state.rest
    others(weights, leaf, rest)
    for i in range(N_CLIPPED):
        falling = weights[leaf, i] * math.exp(-state.rates[i] * loss / q)
        beta = arm_floor(i, n, N)
        weights[leaf, i] = max(falling, beta / (1.0 - beta) * rest[i])  # (7)
    folding = False
    for i in range(N_CLIPPED, N_MIRRORS):
        moved = weight_of(weights[leaf, i], offset[i]) * math.exp(min(1.0, -state.rates[i] * (loss - baseline) / q))
        state.x[i] = moved
        total = rest[i] + (n - 1.0) * offset[i] + moved
        folding = folding or (moved < offset[i] if n <= FOLDED else n * offset[i] > MOST_OFFSET * total)
    if folding:
        fold(state)
        others(weights, leaf, rest)
    given = 1.0 / ((N - 1.0) * n)  # share/(1 - share)/K
    for i in range(N_CLIPPED, N_MIRRORS):
        weights[leaf, i] = state.x[i] - offset[i]
        offset[i] += given * (rest[i] + (n - 1.0) * offset[i] + state.x[i])  # (8)
    sum_up(weights, leaf >> 1)
    for i in range(N_MIRRORS):
        total = weights[1, i] + n * offset[i]
        if not SMALLEST_TOTAL < total < LARGEST_TOTAL:
            rescale(state, i, 1.0 / total)


@jit_step
def fold(state: TurncoatState) -> None:
    """Add the offsets to the weights, and begin again from none."""
    for j in range(int(state.n_living[0])):
        leaf = state.P + int(state.living[j])
        for i in range(N_CLIPPED, N_MIRRORS):
            state.weights[leaf, i] = weight_of(state.weights[leaf, i], state.offset[i])
    for i in range(N_CLIPPED, N_MIRRORS):
        state.offset[i] = 0.0
    rebuild(state.weights)


@jit_step
def rescale(state: TurncoatState, i: int, factor: float) -> None:
    """Multiply all weights of base i by the same factor: its distribution stays what it is."""
    for leaf in range(state.P, 2 * state.P):
        state.weights[leaf, i] *= factor
    state.offset[i] *= factor
    rebuild(state.weights)
