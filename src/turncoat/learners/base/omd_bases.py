"""The paper's base algorithms, stacked: H copies of clipped mirror descent over the same K arms.

Base h keeps a distribution p_h over the arms, updated by
    p_h <- argmin over {q : q ≥ beta} of  <q, l''> + KL(q || p_h) / xi(h)               (1)
with a one-hot estimate l'', so each update is the one-hot step: exact and O(log K).

With projection "mixing" (the paper's remark on implementation) the step is taken without a floor on an inner
distribution, and what is served is (1 - K beta) · inner + beta. That is not the same algorithm, and has no guarantee
against switches: it is here for replication.

The kernels take the state of a master, which has the bases among its fields:

    K, beta, mixing    the number of arms, the floor, and 1 for "mixing", else 0
    trees              (H, tree_size(K)) a sum tree per base
    base_scores        (H, 2K) K sums and K remainders per base, for mixing only: no rows otherwise
"""

from __future__ import annotations

from typing import Any

from turncoat._compile.jit import jit_rule
from turncoat.mirror.entropy import step_one_hot_tree
from turncoat.mirror.softmax import charge
from turncoat.mirror.tree import fill, find, total
from turncoat.random import uniform
from turncoat.types import Matrix, Vector, Words


@jit_rule
def start(state: Any) -> None:
    """Every base uniform."""
    for h in range(state.trees.shape[0]):
        fill(state.trees[h], state.K, 1.0)


@jit_rule
def probability(state: Any, h: int, arm: int) -> float:
    """p_h(arm), as served."""
    tree = state.trees[h]
    p = float(tree[arm]) / total(tree, state.K)
    return min((1.0 - state.K * state.beta) * p + state.beta, 1.0) if state.mixing else p


@jit_rule
def draw(state: Any, h: int, rng: Words) -> int:
    """An arm from p_h."""
    K = state.K
    if state.mixing and uniform(rng) < K * state.beta:
        return int(min(int(uniform(rng) * K), K - 1))
    tree = state.trees[h]
    return int(find(tree, K, uniform(rng) * total(tree, K)))


@jit_rule
def update(state: Any, h: int, arm: int, x: float) -> None:
    """Charge base h for an arm with x = rate · estimate: (1)."""
    if state.mixing:
        charge(state.base_scores[h], state.trees[h], state.K, arm, x)
    else:
        step_one_hot_tree(state.trees[h], state.K, arm, x, state.beta)


@jit_rule
def mixture(state: Any, p: Vector, arm: int) -> float:
    """q(arm): the probability of an arm over the draw of a base from p and of the arm from the base."""
    if state.K == 1:
        return 1.0
    q = 0.0
    for h in range(p.size):
        q += p[h] * probability(state, h, arm)
    return min(q, 1.0)  # rounding must not serve more than certainty


@jit_rule
def expected_loss(state: Any, h: int, losses: Vector) -> float:
    """<p_h, losses>: what base h loses on average when the arms cost this much."""
    tree = state.trees[h]
    lost = 0.0
    level = 0.0
    for arm in range(state.K):
        lost += tree[arm] * losses[arm]
        level += losses[arm]
    lost /= total(tree, state.K)
    return (1.0 - state.K * state.beta) * lost + state.beta * level if state.mixing else lost


@jit_rule
def distributions(state: Any, out: Matrix) -> None:
    """p_h(arm) of every base and arm."""
    for h in range(out.shape[0]):
        for arm in range(state.K):
            out[h, arm] = probability(state, h, arm)
