"""MasterBase: Algorithm 1 of Kim & Yun. A master over bases, each tuned to a candidate number of switches.

Setting: adversarial losses in [0, 1]; needs T; S is unknown, and every S is competed with at once. Oblivious.

Rule (Algorithm 1), for candidates h in H = {T^(i/n)}, n = ceil(ln T):
    draw h_t ~ p, a_t ~ p_{h_t}; see the loss
    l'(h_t) = loss / p(h_t),   l''(a_t) = l'(h_t) / p_{h_t}(a_t),   0 elsewhere         (1)
    p   <- argmin over {q ≥ alpha} of  <q, l'> + KL(q || p) / eta                       (2)
    p_h <- argmin over {q ≥ beta}  of  <q, l''> + KL(q || p_h) / xi(h)                  (3)
With feedback="shared" every base learns from every round through the mixture q(a) = sum_h p(h) p_h(a):
    l''(a_t) = loss / q(a_t) for every base,   l'(h) = p_h(a_t) loss / q(a_t)           (1')
Both estimates stay unbiased and the theorem holds with the same constants (docs/mathematics.md).

    paper's symbol      name here
    H-set, H            candidates, H
    p_t, p_{t,h}        p (probabilities of bases), bases
    alpha, beta         alpha, beta
    eta, xi(h)          eta, xi

Guarantee: theorem 1, expected regret of order S^(1/2) K^(1/3) T^(2/3) up to logarithms; `tc.theorem_1` evaluates it.
Departures from the paper: H counts the candidates (the paper writes log T); where alpha exceeds 1/H no distribution
can respect it, and 1/(2H) is used with a warning; T = 1 counts as 2. projection="mixing" is the paper's remark on
implementation: no floor inside, uniform mixing outside; the theorem does not cover it.
Cost per round: O(H + log K) own, O(H log K) shared; memory O(H K).
Reference: J. Kim, S.-Y. Yun, "Adversarial bandits against arbitrary strategies", TMLR 2025.
"""

from __future__ import annotations

import warnings
from typing import Any

from turncoat import kim_yun
from turncoat.errors import TuningWarning
from turncoat.learners.base import Facts, State, array, computed, jit_rule, register_learner, variant
from turncoat.learners.base.master import Choice, Master, choose, learn, marginal, soften
from turncoat.mirror.entropy import step_dense, step_one_hot
from turncoat.mirror.softmax import add, softmax
from turncoat.mirror.tree import tree_size
from turncoat.types import Matrix, Vector


class MasterBaseState(State):
    """`inner` is what the master's step acts on and `p` what is served: one and the same array unless mixing.

    `scores` are the master's under mixing: H sums, then their H remainders.
    """

    K: int
    ways: int  # H
    shared: bool
    mixing: int  # 1 or 0
    alpha: float
    beta: float
    eta: Vector = array("ways")
    xi: Vector = array("ways")
    inner: Vector = array("ways")
    softened: Vector = array("ways")  # `p` under mixing
    charges: Vector = array("ways")
    scores: Vector = array("2 * ways")
    p: Vector = array("ways", at="inner + mixing * ways")
    length: int = computed(tree_size, "K")
    trees: Matrix = array("ways", "length")
    base_scores: Matrix = array("mixing * ways", "2 * K")


@jit_rule
def tell(state: MasterBaseState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    state.clock[0] += 1
    if loss <= 0.0 or state.K == 1:
        return  # every estimate is 0, or there is nothing to learn: no distribution moves
    estimate = learn(state, choice, loss)  # (1), (1'), (3)
    if state.shared:
        for i in range(state.p.size):
            state.charges[i] *= state.eta[i]
        step_master_dense(state)
    else:
        h = choice[1]
        step_master_one_hot(state, h, state.eta[h] * estimate)


@jit_rule
def step_master_one_hot(state: MasterBaseState, h: int, x: float) -> None:
    """(2), when only base h is charged."""
    if state.mixing:
        add(state.scores, state.p.size, h, x)
        softmax(state.scores, state.inner)
        soften(state)
    else:
        step_one_hot(state.inner, h, x, state.alpha)


@jit_rule
def step_master_dense(state: MasterBaseState) -> None:
    """(2), when every base is charged."""
    if state.mixing:
        least = state.charges.min()  # what all are charged alike moves nothing
        for i in range(state.p.size):
            add(state.scores, state.p.size, i, state.charges[i] - least)
        softmax(state.scores, state.inner)
        soften(state)
    else:
        step_dense(state.inner, state.charges, state.alpha)


register_learner(MasterBaseState, ask=choose, tell=tell, probability=marginal)


class MasterBase(Master):
    """Algorithm 1 of Kim & Yun: follows a best arm that changes an unknown number of times.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `feedback`: "own" (the paper: only the base that decided learns) or
    "shared" (every base learns from every round: less regret, more time). `projection`: "exact", or "mixing" (the
    paper's remark; no guarantee). The rule and its guarantee: help("turncoat.learners.masters.master_base").
    """

    name = "master-base"
    facts = Facts(
        "needed",
        "unknown",
        "√S · K^⅓ · T^⅔",
        "H + log K",
        setting="adversarial",
        when="to compare with the paper: the better bound for S above (T/K)^⅓",
        when_not="in practice: turncoat; of the two, adaptive-master-base had 2 to 14 % less regret",
    )
    variants = (variant("master-base, shared", feedback="shared"),)
    state_type = MasterBaseState

    def _begin(self, K: int, T: int) -> None:
        alpha, capped = kim_yun.floor_1(T, K)
        if capped:
            text = f"alpha of Algorithm 1 exceeds 1/H at horizon {T} with {K} arms; using 1/(2H) = {alpha:.4g} instead"
            warnings.warn(text, TuningWarning, stacklevel=3)
        state: Any = self._start_master(alpha=alpha, beta=kim_yun.base_floor(T, K))
        state.eta[:] = kim_yun.master_rate_1(T)
        state.xi[:] = [kim_yun.base_rate_1(h, T, K) for h in self._candidates]
