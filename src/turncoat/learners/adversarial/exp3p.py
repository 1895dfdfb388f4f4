"""EXP3.P: EXP3 with a bonus for arms that are seldom played. Small regret in nearly every run, by explicit exploration.

Setting: adversarial losses in [0, 1]; needs T. S plays no part: the comparator is the best fixed arm.

Rule (Bubeck & Cesa-Bianchi 2012, section 3.2, after Auer et al. 2002), with r = 1 - loss:
    p(a) = (1 - gamma) exp(eta Ghat(a)) / (sum over all arms) + gamma/K                 (1)
    Ghat(a) += (r if a was played, else 0) / p(a) + beta / p(a) for every a             (2)
with eta = 0.95 sqrt(ln K / (K T)), gamma = 1.05 sqrt(K ln K / T), at most 1, and
    risk delta given:  beta = sqrt(ln(K/delta) / (K T))                                 (3)
    not given:         beta = sqrt(ln K / (K T))                                        (4)

    paper's symbol      name here
    eta, gamma, beta    eta, gamma, beta
    delta               risk
    -eta Ghat           scores, K sums and their K remainders
    exp(eta Ghat)       the leaves of `tree`

Guarantee: with probability at least 1 - delta regret is at most 5.15 sqrt(K T ln(K/delta)) with (3), and at most
5.15 sqrt(K T ln K) + sqrt(K T / ln K) ln(1/delta), for every delta, with (4): theorem 3.2 there, adaptive adversaries
included. Both follow from its general bound, equation 3.12, for gamma ≤ 1/2 and (1 + beta) K eta ≤ gamma,
    beta K T + gamma T + (1 + beta) eta K T + ln(K/delta)/beta + ln(K)/eta              (docs/learners/exp3p.md).
Departures from the paper: none in the rule. In a late tell the gain is divided by what was served, the bonus by what is
served now. Gains over probabilities are capped at 1e30; no decision drawn by the learner reaches that.
Cost per round: O(K), since every arm gets its bonus.
References: S. Bubeck, N. Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit problems",
Found. Trends Mach. Learn. 5 (2012); P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed
bandit problem", SIAM J. Comput. 32 (2002), section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from turncoat.learners.base import Facts, Learner, Option, State, array, jit_rule, register_learner
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import exploring_ask, exploring_probability, start_weights
from turncoat.mirror.softmax import add, weigh
from turncoat.types import Label, Seed, Vector
from turncoat.validation.games import parse_risk


def learning_rate(T: int, K: int) -> float:
    """eta (Bubeck & Cesa-Bianchi 2012, theorem 3.2)."""
    return 0.95 * math.sqrt(math.log(K) / (K * T))


def exploration(T: int, K: int) -> float:
    """gamma (the same). Where it would be above 1/2, T < 4.41 K ln K, the bound is above T."""
    return min(1.0, 1.05 * math.sqrt(K * math.log(K) / T))


def bonus(T: int, K: int, risk: float | None) -> float:
    """beta: (3) where the risk is given, (4) where it is not."""
    return math.sqrt(math.log(K if risk is None else K / risk) / (K * T))


class Exp3PState(State):
    """The rates, the scores, and the weights."""

    K: int
    eta: float
    gamma: float
    beta: float
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def tell(state: Exp3PState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    K, eta = state.K, state.eta
    for i in range(K):
        add(state.scores, K, i, -eta * state.beta / exploring_probability(state, i))  # (2), the bonus
    add(state.scores, K, arm, -eta * importance_weighted(1.0 - loss, served))  # (2), the gain
    weigh(state.scores, 1.0, state.tree, K)


register_learner(Exp3PState, ask=exploring_ask, tell=tell, probability=exploring_probability)  # (1)


class Exp3P(Learner):
    """EXP3.P: EXP3 with a bonus for arms that are seldom played, for a best arm that stays the same.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `risk`: delta, the probability with which the bound may fail; None for
    the tuning that serves all. The rule and its guarantee: help("turncoat.learners.adversarial.exp3p").
    """

    name = "exp3.p"
    facts = Facts(
        "needed",
        "S = 0 only",
        "√(KT)",
        "K",
        setting="adversarial",
        when="to compare with the literature on bounds for nearly every run",
        when_not="to win: exp3-ix promises the same with a smaller constant",
    )
    state_type = Exp3PState
    signed = ("scores",)
    risk = Option[float | None]("delta, the probability with which the bound may fail; None if it was not given.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        risk: float | None = None,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.risk = parse_risk(risk)
        eta, gamma, beta = learning_rate(T, K), exploration(T, K), bonus(T, K, self.risk)
        start_weights(self, 1.0, K, eta=eta, gamma=gamma, beta=beta)
