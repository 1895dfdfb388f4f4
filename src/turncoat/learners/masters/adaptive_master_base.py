"""AdaptiveMasterBase: Algorithm 2 of Kim & Yun. A log-barrier master whose rates grow where variance does.

Setting: adversarial losses in [0, 1]; needs T; S is unknown, and every S is competed with at once. Oblivious.

Rule (Algorithm 2): draw and estimate as in Algorithm 1 (master_base.py), then
    p   <- argmin over {q ≥ alpha} of  <q, l'> + D_G(q, p),  G(p) = -sum_h ln p(h) / eta(h)     (1)
    p_h <- argmin over {q ≥ beta}  of  <q, l''> + KL(q || p_h) / xi(h)                          (2)
    where 1/p(h) > rho(h):  rho(h) <- 2/p(h),  eta(h) <- gamma eta(h)                           (3)
    xi(h) = sqrt(h / (K T rho(h)))                                                              (4)
The base step (2) uses the xi that stood before (3).

    paper's symbol      name here
    H-set, H            candidates, H
    p_t, p_{t,h}        p (probabilities of bases), bases
    alpha, beta         alpha, beta
    eta_t(h), xi_t(h)   eta, xi
    rho_t(h), gamma     rho, gamma

Guarantee: theorem 2, expected regret of order min(sqrt(S K T rho), S sqrt(K T)) up to logarithms; `tc.theorem_2`
evaluates it. The paper's first rate, eta = sqrt(H/T) (rate="paper", the default, and the better one in practice), gives
S K sqrt(T) in the worst case; rate="theorem", sqrt(H/(KT)), is what the stated order needs (docs/mathematics.md).
Departures from the paper: H counts the candidates; T = 1 counts as 2; the regularizer is the log-barrier of the
paper's text (one of its proofs writes an entropy). feedback and projection as in Algorithm 1.
Cost per round: O(H) for a few Newton steps, and O(log K) own or O(H log K) shared; memory O(H K).
Reference: J. Kim, S.-Y. Yun, "Adversarial bandits against arbitrary strategies", TMLR 2025; the master is that of A.
Agarwal, H. Luo, B. Neyshabur, R. E. Schapire, "Corralling a band of bandit algorithms", COLT 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from turncoat import kim_yun
from turncoat._compile.jit import jit_rule
from turncoat.learners.base import Facts, Option, Shown, State, array, computed, copied, register_learner, variant
from turncoat.learners.base.master import Choice, Feedback, Master, Projection, choose, learn, marginal, soften
from turncoat.mirror.log_barrier import step_dense, step_one_hot
from turncoat.mirror.tree import tree_size
from turncoat.types import Label, Matrix, Seed, Vector

RATES = ("paper", "theorem")


class AdaptiveMasterBaseState(State):
    """As in Algorithm 1, with rho, and `first`: xi(h) sqrt(rho(h)), which never changes."""

    K: int
    ways: int  # H
    shared: bool
    mixing: int  # 1 or 0
    alpha: float
    beta: float
    gamma: float
    eta: Vector = array("ways")
    xi: Vector = array("ways")
    inner: Vector = array("ways")
    softened: Vector = array("ways")  # `p` under mixing
    charges: Vector = array("ways")
    rho: Vector = array("ways")
    first: Vector = array("ways")
    p: Vector = array("ways", at="inner + mixing * ways")
    length: int = computed(tree_size, "K")
    trees: Matrix = array("ways", "length")
    base_scores: Matrix = array("mixing * ways", "2 * K")


@jit_rule
def tell(state: AdaptiveMasterBaseState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    state.clock[0] += 1
    if loss <= 0.0 or state.K == 1:
        return  # every estimate is 0, or there is nothing to learn: no distribution moves
    h, floor = choice[1], 0.0 if state.mixing else state.alpha
    estimate = learn(state, choice, loss)  # (2)
    if state.shared:
        step_dense(state.inner, state.charges, state.eta, floor)  # (1)
    else:
        step_one_hot(state.inner, h, estimate, state.eta, floor)  # (1)
    if state.mixing:
        soften(state)
    if state.shared:
        for i in range(state.p.size):
            adapt(state, i)
    else:
        adapt(state, h)  # all others rose


@jit_rule
def adapt(state: AdaptiveMasterBaseState, h: int) -> None:
    """Raise the threshold and the rate of base h if its variance outgrew the threshold."""
    if state.p[h] * state.rho[h] < 1.0:  # (3)
        state.rho[h] = 2.0 / state.p[h]
        state.eta[h] *= state.gamma
        state.xi[h] = state.first[h] / math.sqrt(state.rho[h])  # (4)


register_learner(AdaptiveMasterBaseState, ask=choose, tell=tell, probability=marginal)


class AdaptiveMasterBase(Master):
    """Algorithm 2 of Kim & Yun: follows a best arm that changes an unknown number of times, with adaptive rates.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `feedback`: "own" (the paper: only the base that decided learns) or
    "shared" (every base learns from every round: less regret, more time). `projection`: "exact", or "mixing" (the
    paper's remark; no guarantee). `rate`: the master's first rate, the "paper"'s, or the smaller one its "theorem"
    needs. The rule and its guarantee: help("turncoat.learners.masters.adaptive_master_base").
    """

    name = "adaptive-master-base"
    facts = Facts(
        "needed",
        "unknown",
        "SK√T, or S√(KT)",
        "H + log K",
        setting="adversarial",
        when='to compare with the paper: its better algorithm; with less regret as feedback="shared"',
        when_not="in practice: turncoat needs no T; S is roughly known: clipped-omd",
    )
    variants = (variant("adaptive-master-base, shared", feedback="shared"),)
    state_type = AdaptiveMasterBaseState
    rate = Option[kim_yun.Rate]("The master's first learning rate: that of the paper's text or of its theorem.", RATES)
    rho = Shown(copied, "The variance threshold of each base (H,).")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        feedback: Feedback = "own",
        projection: Projection = "exact",
        rate: kim_yun.Rate = "paper",
    ) -> None:
        self.rate = rate
        super().__init__(arms, horizon, seed=seed, loss_range=loss_range, feedback=feedback, projection=projection)

    def _begin(self, K: int, T: int) -> None:
        alpha, beta, gamma = kim_yun.floor_2(T), kim_yun.base_floor(T, K), kim_yun.growth_2(T)
        state: Any = self._start_master(alpha=alpha, beta=beta, gamma=gamma)
        state.eta[:] = kim_yun.master_rate_2(T, K, self.rate)
        state.rho[:] = kim_yun.first_rho_2(T)
        state.first[:] = [kim_yun.base_rate_2(h, T, K, 1.0) for h in self._candidates]
        state.xi[:] = state.first / np.sqrt(state.rho)
