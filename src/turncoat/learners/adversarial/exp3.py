"""EXP3: exponential weights on importance-weighted losses. The classic against the best *fixed* arm.

Setting: adversarial losses in [0, 1]. Loss form: T optional (anytime rate without it). Gain form: needs T. S plays no
part: there is no guarantee once the best arm changes.

Rule, loss form (Bubeck & Cesa-Bianchi 2012, section 3.1):
    p(a) ∝ exp(-eta Lhat(a))                                                            (1)
    Lhat(a_t) += loss / p(a_t)                                                          (2)
with eta = sqrt(2 ln K / (K T)), or eta_t = sqrt(ln K / (K t)) when no horizon is given.
Rule, gain form (Auer et al. 2002, figure 1), with r = 1 - loss:
    p(a) = (1 - gamma) w(a)/W + gamma/K                                                 (3)
    w(a_t) *= exp(gamma r / (K p(a_t)))                                                 (4)
with gamma = min(1, sqrt(K ln K / ((e - 1) T))).

    paper's symbol      name here
    eta, gamma          eta, gamma
    Lhat, -ln w         scores (loss form with a horizon: eta Lhat), K sums and their K remainders
    w                   the leaves of `tree`

Guarantee: expected regret at most sqrt(2 K T ln K) (loss form with T), 2 sqrt(K T ln K) (anytime), and
2 sqrt(e - 1) sqrt(K T ln K) (gain form), against the best fixed arm, oblivious adversary.
Departures from the papers: estimates are capped at 1e30 and exponents of the gain form at 100. No decision drawn by
the learner reaches either cap (in the gain form the exponent is at most 1); they keep rounds reported through
`observe` with absurd propensities from overflowing.
Cost per round: O(log K) with a fixed rate, O(K) for the anytime rate, which re-weighs all arms.
References: P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM J.
Comput. 32 (2002); S. Bubeck, N. Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit
problems", Found. Trends Mach. Learn. 5 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from turncoat.learners.base import Facts, Learner, Option, State, array, jit_rule, register_learner
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import exploring_ask, exploring_probability, start_weights
from turncoat.mirror.softmax import add, charge, weigh
from turncoat.types import Label, Seed, Vector

Form: TypeAlias = Literal["loss", "gain"]
FORMS = ("loss", "gain")
LARGEST_EXPONENT = 100.0


def loss_rate(T: int, K: int) -> float:
    """eta of the loss form (Bubeck & Cesa-Bianchi 2012, theorem 3.1)."""
    return math.sqrt(2.0 * math.log(K) / (K * T))


def gain_exploration(T: int, K: int) -> float:
    """gamma of the gain form (Auer et al. 2002, corollary 3.2, with the trivial bound G ≤ T)."""
    return min(1.0, math.sqrt(K * math.log(K) / ((math.e - 1.0) * T)))


class Exp3State(State):
    """eta is 0 for the anytime rate; gamma is 0 for the loss form."""

    K: int
    gain: bool
    eta: float
    gamma: float
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def tell(state: Exp3State, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    if state.gain:
        x = min(state.gamma / state.K * importance_weighted(1.0 - loss, served), LARGEST_EXPONENT)
        charge(state.scores, state.tree, state.K, arm, -x)  # (4)
    elif state.eta > 0.0:
        charge(state.scores, state.tree, state.K, arm, state.eta * importance_weighted(loss, served))  # (2)
    else:
        add(state.scores, state.K, arm, importance_weighted(loss, served))  # (2)
        eta = math.sqrt(math.log(state.K) / (state.K * (state.clock[0] + 1.0)))
        weigh(state.scores, eta, state.tree, state.K)


register_learner(Exp3State, ask=exploring_ask, tell=tell, probability=exploring_probability)  # (1), (3)


class Exp3(Learner):
    """EXP3: exponential weights, for a best arm that stays the same.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; the "loss" form goes without. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `form`: "loss" (the modern one) or "gain"
    (the original, with explicit exploration). The rule and its guarantee: help("turncoat.learners.adversarial.exp3").
    """

    name = "exp3"
    facts = Facts(
        "optional",
        "S = 0 only",
        "√(KT)",
        "log K",
        setting="adversarial",
        when="to compare with the literature on a best arm that never changes",
        when_not="one arm stays best: tsallis-inf had less than half; it changes: clipped-omd",
    )
    state_type = Exp3State
    signed = ("scores",)
    form = Option[Form]('Which rule it plays: "loss" or "gain".', FORMS)

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        form: Form = "loss",
    ) -> None:
        self.form = form
        self.stability = "half" if form == "loss" else "none"  # gains do not scale
        needed_by = 'Exp3(form="gain")' if form == "gain" else None
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        K, T = self.n_arms, self.horizon
        eta = loss_rate(T, K) if form == "loss" and T is not None else 0.0
        gamma = gain_exploration(T, K) if form == "gain" and T is not None else 0.0
        start_weights(self, 1.0, K, gain=form == "gain", eta=eta, gamma=gamma)
