"""Hedge: exponential weights over arms whose losses are all seen. The full-information counterpart of EXP3.

Setting: losses in [0, 1], all of them revealed after each round. T optional (anytime rate without it). S plays no part:
there is no guarantee once the best arm changes.

Rule (Freund & Schapire 1997), L(a) being the losses of arm a so far:
    p(a) ∝ exp(-eta L(a))                                                               (1)
with eta = sqrt(8 ln K / T), or eta_t = 2 sqrt(ln K / t) when no horizon is given.

    paper's symbol      name here
    eta                 eta (0 in the state: the anytime rate)
    L                   scores, K sums and their K remainders
    exp(-eta L)         the leaves of `tree`

Guarantee: regret in expectation over its own draws, for every sequence of losses, at most sqrt(T ln K / 2) with T, and
at most sqrt(t ln K) after any number t of rounds without. Both follow from ln K / eta_T + sum of eta_t / 8 for rates
that never rise (Cesa-Bianchi & Lugosi 2006, section 2.2-2.3): with T, both terms are sqrt(T ln K / 8); without, the
first is sqrt(T ln K) / 2 and the second at most as much, as sum of 1/sqrt(t) ≤ 2 sqrt(T).
Departures from the paper: arms are drawn from p, where the paper takes the expected loss; rates are later authors'.
Cost per round: O(K).
References: Y. Freund, R. E. Schapire, "A decision-theoretic generalization of on-line learning and an application to
boosting", J. Comput. Syst. Sci. 55 (1997); N. Cesa-Bianchi, G. Lugosi, "Prediction, Learning, and Games" (2006).
"""

from __future__ import annotations

import math
from typing import Any

from turncoat.learners.base import Facts, State, array, jit_rule, register_learner
from turncoat.learners.base.constructors import WithoutOptions
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.softmax import add, weigh
from turncoat.types import Vector


def learning_rate(T: int, K: int) -> float:
    """eta, which balances ln K / eta and eta T / 8."""
    return math.sqrt(8.0 * math.log(K) / T)


class HedgeState(State):
    """eta is 0 for the anytime rate."""

    K: int
    eta: float
    losses: Vector = array("K")
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def learn(state: Any, losses: Vector, eta: float) -> None:
    """Add the losses up and weigh every arm anew."""
    for arm in range(state.K):
        add(state.scores, state.K, arm, losses[arm])
    weigh(state.scores, eta, state.tree, state.K)  # (1)


@jit_rule
def tell(state: HedgeState, choice: tuple[int, float], losses: Vector) -> None:
    """Learn the losses of a round."""
    state.clock[0] += 1
    anytime = 2.0 * math.sqrt(math.log(state.K) / (state.clock[0] + 1.0))  # of the next round
    learn(state, losses, state.eta if state.eta > 0.0 else anytime)


register_learner(HedgeState, ask=ask, tell=tell, probability=probability, sees_all=True)


class Hedge(WithoutOptions, FullInformationLearner):
    """Hedge: exponential weights where the losses of all arms are seen, for a best arm that stays the same.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; it goes without. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. The rule and its guarantee:
    help("turncoat.learners.full_information.hedge").
    """

    name = "hedge"
    facts = Facts(
        "optional",
        "S = 0 only",
        "√T",
        "K",
        setting="full information",
        when="all losses are seen and one arm stays best; the yardstick for EXP3",
        when_not="the best arm changes: fixed-share or cbce; only one loss is seen: exp3",
    )
    state_type = HedgeState
    signed = ("scores",)

    def _begin(self, K: int, T: int | None) -> None:
        start_weights(self, 1.0, K, eta=0.0 if T is None else learning_rate(T, K))
