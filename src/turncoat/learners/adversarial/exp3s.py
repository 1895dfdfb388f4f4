"""EXP3.S: EXP3 that shares a little weight with every arm, so that it can follow a changing best arm.

Setting: adversarial losses in [0, 1]; needs T; takes S (`n_switches`). Without S it uses the S-free tuning, whose
regret grows like S instead of sqrt(S).

Rule (Auer et al. 2002, figure 4), with r = 1 - loss and rhat = r / p(a_t):
    p(a) = (1 - gamma) w(a)/W + gamma/K                                                 (1)
    w(a_t) *= exp(gamma rhat / K), then w(a) += (e alpha / K) W_old for every a         (2)
where W_old is the total before the round. With alpha = 1/T and
    S known:  gamma = min(1, sqrt(K ((S+1) ln(KT) + e) / ((e-1) T)))                    (3)
    S-free:   gamma = min(1, sqrt(K ln(KT) / T))                                        (4)

    paper's symbol      name here
    gamma, alpha        gamma, share
    w(a)                v(a) + offset: the leaves of `tree` plus one number for all arms

Guarantee: expected regret against S switches at most K ((S+1) ln(K/alpha) + e alpha T) / gamma + (e-1) gamma T
(theorem 8.1 there), which is 2 sqrt(e-1) sqrt(K T ((S+1) ln(KT) + e)) with (3) and
(S + e) sqrt(K T ln(KT)) + e sqrt(K T / ln(KT)) with (4). Oblivious adversary.
Departures from the paper: weights are stored minus a common offset B, so that the sharing in (2) is a single addition,
    B' = B + (e alpha / K) W_old,   v(a_t)' = v(a_t) x + B (x - 1),   x = exp(gamma rhat / K),
which is the same in exact arithmetic; both terms are positive, so nothing cancels. Exponents are capped at 100 (for a
decision of its own they are at most 1), and weights are rescaled before they overflow.
Cost per round: O(log K).
Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM J.
Comput. 32 (2002), section 8.
"""

from __future__ import annotations

import math
from typing import Any

from turncoat.learners.base import TOLD, Facts, State, array, jit_rule, register_learner, variant
from turncoat.learners.base.constructors import ToldSwitches
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.mirror.entropy import LARGEST_TOTAL, rescale
from turncoat.mirror.tree import find, set_leaf, total, tree_size
from turncoat.random import uniform
from turncoat.types import Vector

LARGEST_EXPONENT = 100.0


def exploration(T: int, K: int, S: float | None) -> float:
    """gamma: (3) where S is known, (4) where it is not."""
    if S is None:
        return min(1.0, math.sqrt(K * math.log(K * T) / T))
    return min(1.0, math.sqrt(K * ((S + 1) * math.log(K * T) + math.e) / ((math.e - 1.0) * T)))


def sharing(T: int) -> float:
    """alpha = 1/T (Auer et al. 2002, corollary 8.2)."""
    return 1.0 / T


class Exp3SState(State):
    """The rates, and the weights as leaves of a tree plus a common offset (one number in an array).

    The kernels are not typed to this class: bandit_over_bandit.py runs many EXP3.S on a state of its own.
    """

    K: int
    gamma: float
    share: float
    offset: Vector = array(1)
    tree: Vector = array(...)


@jit_rule
def probability(state: Any, arm: int) -> float:
    """p(arm)."""
    K, B = state.K, float(state.offset[0])
    if K == 1:
        return 1.0
    W = total(state.tree, K) + K * B
    p: float = min((1.0 - state.gamma) * (float(state.tree[arm]) + B) / W + state.gamma / K, 1.0)  # (1)
    return p


@jit_rule
def ask(state: Any) -> tuple[int, float]:
    """Draw an arm: (index, probability). The offset and the exploration are both uniform over the arms."""
    K = state.K
    V = total(state.tree, K)
    W = V + K * state.offset[0]
    if uniform(state.rng) * W < (1.0 - state.gamma) * V:
        arm = find(state.tree, K, uniform(state.rng) * V)
    else:
        arm = min(int(uniform(state.rng) * K), K - 1)
    return arm, probability(state, arm)


@jit_rule
def tell(state: Any, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    K, B = state.K, state.offset[0]
    W = total(state.tree, K) + K * B
    x = min(state.gamma / K * importance_weighted(1.0 - loss, served), LARGEST_EXPONENT)
    set_leaf(state.tree, K, arm, state.tree[arm] * math.exp(x) + B * math.expm1(x))  # (2), first half
    state.offset[0] = B + math.e * state.share / K * W  # (2), second half
    if W > LARGEST_TOTAL:
        rescale(state.tree, K, 1.0 / W)
        state.offset[0] /= W


register_learner(Exp3SState, ask=ask, tell=tell, probability=probability)


class Exp3S(ToldSwitches):
    """EXP3.S: EXP3 that shares a little weight with every arm, for a best arm that changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often the best arm changes; None for the tuning
    without S. The rule and its guarantee: help("turncoat.learners.adversarial.exp3s").
    """

    name = "exp3.s"
    facts = Facts(
        "needed",
        "optional",
        "√(SKT), or S√(KT)",
        "log K",
        setting="adversarial",
        when="to compare with the literature on switching bandits",
        when_not="to win: clipped-omd, told the same, had 0.5 to 0.6 of its regret",
    )
    variants = (variant("exp3.s", n_switches=TOLD),)
    state_type = Exp3SState

    def _begin(self, K: int, T: int, S: int | None) -> None:
        gamma = exploration(T, K, S)
        state = self.start(K=K, gamma=gamma, share=sharing(T), rest=tree_size(K))
        state.offset[0] = 1.0
