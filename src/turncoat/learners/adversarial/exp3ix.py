"""EXP3-IX: EXP3 that divides by a little more than the probability served. Small regret in nearly every run.

Setting: adversarial losses in [0, 1]; T optional (anytime rates without it). S plays no part: the comparator is the
best fixed arm (`Exp3SIX` is the version for paths).

Rule (Neu 2015, algorithm 1, "implicit exploration"):
    p(a) ∝ exp(-eta Lhat(a))                                                            (1)
    Lhat(a_t) += loss / (p(a_t) + gamma)                                                (2)
with eta = 2 gamma = sqrt(2 ln K / (K T)), or eta_t = 2 gamma_t = sqrt(ln K / (K t)) when no horizon is given. An
estimate is never above 1/gamma, so a single unlucky draw cannot decide a game; EXP3 has no such limit. The price is an
estimate that is too small on average, by the factor p/(p + gamma).

    paper's symbol      name here
    eta_t, gamma_t      eta, gamma = eta / 2
    Lhat                scores (with a horizon: eta Lhat), K sums and their K remainders
    w                   the leaves of `tree`

Guarantee: with probability at least 1 - delta, for every delta at once with the same learner, regret is at most
    2 sqrt(2 K T ln K) + (sqrt(K T / (2 ln K)) + 1) ln(2/delta)     with T,
    4 sqrt(K T ln K) + (sqrt(K T / ln K) + 1) ln(2/delta)           anytime, for any one T.
Derived from the paper's corollary 1 (docs/learners/exp3ix.md); its theorem 1, quoted from memory, has 2 sqrt(...) where
these have sqrt(...) before ln(2/delta).
Departures from the paper: none in the rule. A late tell counts for the round in which it is told, with that gamma.
Estimates are capped at 1e30, which matters for a single arm alone, where gamma is 0.
Cost per round: O(log K) with a horizon, O(K) for the anytime rates, which re-weigh all arms.
Reference: G. Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits", NIPS 2015.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base import Facts, State, array, register_learner
from turncoat.learners.base.constructors import WithoutOptions
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.softmax import add, charge, weigh
from turncoat.types import Vector


def learning_rate(T: int, K: int) -> float:
    """eta = 2 gamma for a known horizon (Neu 2015, theorem 1)."""
    return math.sqrt(2.0 * math.log(K) / (K * T))


@jit
def anytime_rate(t: int, K: int) -> float:
    """eta = 2 gamma in round t, counted from 1, when no horizon is given (Neu 2015, theorem 1)."""
    return math.sqrt(math.log(K) / (K * t))


class Exp3IXState(State):
    """eta is 0 for the anytime rates."""

    K: int
    eta: float
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def tell(state: Exp3IXState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    K, t = state.K, state.clock[0]
    if state.eta > 0.0:
        charge(state.scores, state.tree, K, arm, state.eta * importance_weighted(loss, served + 0.5 * state.eta))  # (2)
    else:
        add(state.scores, K, arm, importance_weighted(loss, served + 0.5 * anytime_rate(t, K)))  # (2)
        weigh(state.scores, anytime_rate(t + 1, K), state.tree, K)


register_learner(Exp3IXState, ask=ask, tell=tell, probability=probability)  # (1): tree_sampling.py


class Exp3IX(WithoutOptions):
    """EXP3-IX: exponential weights with implicit exploration, for a best arm that stays the same.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T, if known. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. The rule and its guarantee:
    help("turncoat.learners.adversarial.exp3ix").
    """

    name = "exp3-ix"
    facts = Facts(
        "optional",
        "S = 0 only",
        "√(KT)",
        "log K",
        setting="adversarial",
        when="one arm stays best and the bound should hold in nearly every run",
        when_not="the best arm changes: exp3-six; the average counts: tsallis-inf",
    )
    state_type = Exp3IXState
    signed = ("scores",)
    stability = "half"

    def _begin(self, K: int, T: int | None) -> None:
        start_weights(self, 1.0, K, eta=0.0 if T is None else learning_rate(T, K))
