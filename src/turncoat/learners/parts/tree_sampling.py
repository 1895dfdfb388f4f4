"""Tree sampling: draw an arm in proportion to its weight, where weights are the leaves of a sum tree.

    p(a) = w(a)/W                                                                       (1)
    p(a) = (1 - gamma) w(a)/W + gamma/K                                                 (2)  with exploration

The kernels take any state with `rng`, `K` and `tree`; those of (2) also `gamma`, which may be 0.
"""

from __future__ import annotations

from typing import Any

from turncoat._compile.jit import jit_rule
from turncoat.mirror.tree import fill, find, total, tree_size
from turncoat.random import uniform

SMALLEST_SERVED = 1e-300  # a draw of exactly 0 can meet a weight that is 0 as a share of the total


def start_weights(learner: Any, weight: float, K: int, **constants: Any) -> None:
    """Lay out the buffer of a learner whose field `tree` takes the rest of it; all arms have this weight."""
    fill(learner.start(tree_size(K), K=K, **constants).tree, K, weight)


@jit_rule
def probability(state: Any, arm: int) -> float:
    """p(arm)."""
    return float(state.tree[arm]) / total(state.tree, state.K)  # (1)


@jit_rule
def ask(state: Any) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    weight = total(state.tree, state.K)
    arm = find(state.tree, state.K, uniform(state.rng) * weight)
    return arm, max(state.tree[arm] / weight, SMALLEST_SERVED)


@jit_rule
def exploring_probability(state: Any, arm: int) -> float:
    """p(arm), with exploration."""
    p: float = min((1.0 - state.gamma) * probability(state, arm) + state.gamma / state.K, 1.0)  # (2)
    return p


@jit_rule
def exploring_ask(state: Any) -> tuple[int, float]:
    """Draw an arm, with probability gamma uniformly: (index, probability)."""
    K = state.K
    if state.gamma > 0.0 and uniform(state.rng) < state.gamma:
        arm = min(int(uniform(state.rng) * K), K - 1)
    else:
        arm = find(state.tree, K, uniform(state.rng) * total(state.tree, K))
    return arm, max(exploring_probability(state, arm), SMALLEST_SERVED)
