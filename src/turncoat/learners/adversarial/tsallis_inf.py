"""Tsallis-INF: one rule, no parameter, optimal for a fixed best arm, for random and for adversarial losses.

Setting: adversarial losses in [0, 1]; needs neither T nor S. The comparator is the best fixed arm: there is no
guarantee once the best arm changes.

Rule (Zimmert & Seldin 2021, algorithm 1): follow the leader, regularised by the 1/2-Tsallis entropy,
    p = argmin over w of <w, Lhat> - (4/eta_t) sum_i sqrt(w_i),  that is  p_i = 4 / (eta_t (Lhat_i - x))²          (1)
with x such that sum p = 1. Lhat sums one of two estimates of the losses:
    "iw"  lhat_i = loss / p_i at the arm played, 0 elsewhere;                           eta_t = 2 / sqrt(t)        (2)
    "rv"  lhat_i = (loss - b_i) / p_i + b_i at the arm played, b_i elsewhere;           eta_t = 4 / sqrt(t)        (3)
          b_i = 1/2 if p_i ≥ eta_t², else 0                                                                        (4)
(importance weighting, and importance weighting with its variance reduced by a baseline in the middle of the range).

    paper's symbol      name here
    Lhat                scores, K sums and their K remainders
    eta_t, B_t          eta / sqrt(t), baseline(state, arm)
    w_t                 the leaves of `tree`, over their total

Solving (1): measured from the smallest Lhat_m, with gaps g_i = (eta_t/2) (Lhat_i - Lhat_m) ≥ 0 and d = 1/sqrt(p_m) ≥ 1,
    p_i = 1 / (g_i + d)²,  and (sum p)^(-1/2) is concave in d:                                                     (5)
Newton's steps on it, from d = 1, only grow and never pass the root; they need no bracket, and one is enough if all
gaps are equal.

Guarantee, oblivious adversary, expected regret against the best fixed arm: "iw" at most 4 sqrt(K T), derived in
docs/learners/tsallis-inf.md (the paper adds 1); "rv" at most 2 sqrt(K T) + 14 K ln T + 16, of which the first term is
derived. The rest is the paper's theorem 1, where 10 stands for 14; others who wrote its proof out for a proof checker
say that the proof gives 14. The constant of the threshold (4) is from memory. If losses are random with fixed means, or
only their differences are, both are of the order of the sum of ln(T)/gap over the other arms.
Departures from the paper: none in the rule. In a late tell the loss is divided by what was served, while the baseline
is that of the weights as they are now; it does not depend on the arm, so the estimate stays unbiased. 1/p is capped at
1e30.
Cost per round: O(K), times a few Newton steps for x (eight at most in the tests of the solver).
Reference: J. Zimmert, Y. Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", JMLR 22
(2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base import Facts, Learner, Option, State, array, register_learner, variant
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.softmax import add, smallest
from turncoat.mirror.tree import rebuild
from turncoat.types import Label, Seed, Vector

Estimator: TypeAlias = Literal["iw", "rv"]
ESTIMATORS = ("iw", "rv")
FIRST_RATE_IW = 2.0  # eta_1 of (2)
FIRST_RATE_RV = 4.0  # eta_1 of (3)
_MOST_STEPS = 100  # a cap that was never met: see the tests


class TsallisINFState(State):
    """eta_1, which also says whether the estimate is "rv", the summed estimates, and the weights."""

    K: int
    eta: float
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def is_reduced(state: TsallisINFState) -> bool:
    """Is the estimate "rv"?"""
    return state.eta == FIRST_RATE_RV


@jit_rule
def baseline(state: TsallisINFState, arm: int) -> float:
    """b of an arm in the round that the clock shows: (4), with eta_1²/t for eta_t²."""
    return 0.5 if is_reduced(state) and state.tree[arm] * state.clock[0] >= state.eta * state.eta else 0.0


@jit
def settle(gaps: Vector) -> int:
    """Replace gaps by the probabilities of (5); the number of Newton steps it took."""
    d = 1.0
    n_steps = 0
    while n_steps < _MOST_STEPS:
        total = 0.0
        slope = 0.0
        for i in range(gaps.size):
            root = 1.0 / (gaps[i] + d)
            total += root * root
            slope += root * root * root
        if total <= 1.0 or slope == 0.0:
            break
        step = total * (total - 1.0) / ((1.0 + math.sqrt(total)) * slope)
        if d + step == d:
            break
        d += step
        n_steps += 1
    for i in range(gaps.size):
        root = 1.0 / (gaps[i] + d)
        gaps[i] = root * root
    return n_steps


@jit_rule
def lead(state: TsallisINFState) -> None:
    """Set the weights of the next round: (1), measured from the smallest score."""
    K, eta = state.K, state.eta / math.sqrt(state.clock[0] + 1)  # (2), (3)
    best = smallest(state.scores, K)
    for i in range(K):
        gap = (state.scores[i] - state.scores[best]) + (state.scores[K + i] - state.scores[K + best])
        state.tree[i] = 0.5 * eta * max(gap, 0.0)
    settle(state.tree[:K])
    rebuild(state.tree, K)


@jit_rule
def tell(state: TsallisINFState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    K = state.K
    add(state.scores, K, arm, (loss - baseline(state, arm)) * importance_weighted(1.0, served))  # (2), (3)
    if is_reduced(state):
        for i in range(K):
            add(state.scores, K, i, baseline(state, i))  # (3)
    lead(state)


register_learner(TsallisINFState, ask=ask, tell=tell, probability=probability)


class TsallisINF(Learner):
    """Tsallis-INF: nothing to tune, for a best arm that stays the same, in random and in hostile games.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. `estimator`: "iw" (importance weighting) or "rv" (with
    its variance reduced). The rule and its guarantee: help("turncoat.learners.adversarial.tsallis_inf").
    """

    name = "tsallis-inf"
    facts = Facts(
        "unused",
        "S = 0 only",
        "√(KT)",
        "K",
        setting="adversarial",
        when='one arm stays best, losses may be anything, T unknown; estimator="rv"',
        when_not="the best arm changes: turncoat, or clipped-omd if S is known",
    )
    variants = (variant("tsallis-inf, rv", estimator="rv"),)
    state_type = TsallisINFState
    signed = ("scores",)
    uses_horizon = False
    estimator = Option[Estimator]('How it estimates losses: "iw" or "rv".', ESTIMATORS)

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        estimator: Estimator = "iw",
    ) -> None:
        self.estimator = estimator
        self.stability = "half" if estimator == "iw" else "none"  # the baseline of "rv" does not scale
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        K = self.n_arms
        start_weights(self, 1.0 / K, K, eta=FIRST_RATE_RV if estimator == "rv" else FIRST_RATE_IW)
