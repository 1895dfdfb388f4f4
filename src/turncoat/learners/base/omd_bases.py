"""The paper's base algorithms, stacked: H copies of clipped mirror descent over the same K arms.

Base h keeps a distribution p_h over the arms, updated by
    p_h <- argmin over {q : q ≥ beta} of  <q, l''> + KL(q || p_h) / xi(h)               (1)
with a one-hot estimate l'', so each update is the one-hot step: exact and O(log K).

With projection "mixing" (the paper's remark on implementation) the step is taken without a floor on an inner
distribution, and what is served is (1 - K beta) · inner + beta. That is not the same algorithm, and has no guarantee
against switches: it is here for replication.
"""

from __future__ import annotations

from typing import NamedTuple

from turncoat._compile.jit import jit, jit_rule
from turncoat.mirror.entropy import step_one_hot_tree
from turncoat.mirror.softmax import charge
from turncoat.mirror.tree import fill, find, total, tree_size
from turncoat.random import uniform
from turncoat.types import Matrix, Vector, Words


class Bases(NamedTuple):
    """One sum tree a base; scores (K sums, K remainders), one row a base, only for mixing (no rows otherwise)."""

    K: int
    beta: float
    mixing: bool
    trees: Matrix
    scores: Matrix


@jit
def bases_size(H: int, K: int, mixing: bool) -> int:
    """How many numbers H bases over K arms take."""
    return H * (tree_size(K) + (2 * K if mixing else 0))


@jit_rule
def view_bases(buffer: Vector, H: int, K: int, beta: float, mixing: bool) -> Bases:
    """Name the parts of the buffer."""
    n = H * tree_size(K)
    rows = H if mixing else 0
    return Bases(K, beta, mixing, buffer[:n].reshape(H, n // H), buffer[n : n + rows * 2 * K].reshape(rows, 2 * K))


@jit_rule
def start(bases: Bases) -> None:
    """Every base uniform."""
    for h in range(bases.trees.shape[0]):
        fill(bases.trees[h], bases.K, 1.0)


@jit_rule
def probability(bases: Bases, h: int, arm: int) -> float:
    """p_h(arm), as served."""
    tree = bases.trees[h]
    p = float(tree[arm]) / total(tree, bases.K)
    return min((1.0 - bases.K * bases.beta) * p + bases.beta, 1.0) if bases.mixing else p


@jit_rule
def draw(bases: Bases, h: int, rng: Words) -> int:
    """An arm from p_h."""
    K = bases.K
    if bases.mixing and uniform(rng) < K * bases.beta:
        return min(int(uniform(rng) * K), K - 1)
    tree = bases.trees[h]
    return find(tree, K, uniform(rng) * total(tree, K))


@jit_rule
def update(bases: Bases, h: int, arm: int, x: float) -> None:
    """Charge base h for an arm with x = rate · estimate: (1)."""
    if bases.mixing:
        charge(bases.scores[h], bases.trees[h], bases.K, arm, x)
    else:
        step_one_hot_tree(bases.trees[h], bases.K, arm, x, bases.beta)


@jit_rule
def mixture(bases: Bases, p: Vector, arm: int) -> float:
    """q(arm): the probability of an arm over the draw of a base from p and of the arm from the base."""
    if bases.K == 1:
        return 1.0
    q = 0.0
    for h in range(p.size):
        q += p[h] * probability(bases, h, arm)
    return min(q, 1.0)  # rounding must not serve more than certainty


@jit_rule
def expected_loss(bases: Bases, h: int, losses: Vector) -> float:
    """<p_h, losses>: what base h loses on average when the arms cost this much."""
    tree = bases.trees[h]
    lost = 0.0
    level = 0.0
    for arm in range(bases.K):
        lost += tree[arm] * losses[arm]
        level += losses[arm]
    lost /= total(tree, bases.K)
    return (1.0 - bases.K * bases.beta) * lost + bases.beta * level if bases.mixing else lost


@jit_rule
def distributions(bases: Bases, out: Matrix) -> None:
    """p_h(arm) of every base and arm."""
    for h in range(out.shape[0]):
        for arm in range(bases.K):
            out[h, arm] = probability(bases, h, arm)
