"""SAOL, the strongly adaptive online learner: copies of Hedge on intervals of all lengths, and trust among them.

Setting: losses in [0, 1], all of them revealed after each round. Needs neither T nor S: it competes on every interval
of rounds, and so with every path that switches, however often.

Rule (Daniely, Gonen & Shalev-Shwartz 2015, algorithm 1). Every interval I of the geometric covering (covering.py) has a
copy of Hedge with p_I, and eta_I = min(1/2, |I|^(-1/2)). In round t, over the intervals that hold t,
    p = sum of w_I p_I / sum of w_I                                                     (1)
    r_I = <p - p_I, loss>,  w_I *= 1 + eta_I r_I                                        (2)
and a new interval begins with w_I = eta_I and a p_I that is uniform. The copy of I plays Hedge tuned to |I|,
    p_I(a) ∝ exp(-sqrt(8 ln K / |I|) L_I(a)),  L_I the losses since I began.            (3)

    paper's symbol      name here
    w_t(I), eta_I       weights, one per level; trust_rate
    B_I (a black box)   scores (K sums, K remainders) and copies (p_I), one row per level

Guarantee: on every interval I = [q, s] of the covering, for every sequence of losses, regret in expectation over its
own draws at most  ln(s (floor(log2 s) + 1))/eta_I + eta_I |I| + sqrt(|I| ln K/2). Derived: the w_I/eta_I of live
intervals sum up to at most s (floor(log2 s) + 1): each begins with 1, and (2) adds w_I r_I to them, which sum up to 0
by (1); ln(1+x) ≥ x - x² for x ≥ -1/2; and (3). The paper states the same order, log(s) sqrt(|I|), for every interval
at all: it is made of covering intervals whose lengths fall by halves to both sides, which costs a factor
2/(1 - 2^(-1/2)) < 6.9. Over the segments of a path with S switches that adds up to the order of log(T) sqrt(S T).
Departures from the paper: where losses are only linear the paper draws an interval by w_I and charges r_I with the loss
drawn; here p is the mixture, so that r_I is the expected one. The black box is Hedge with the rate for |I|, known when
the interval begins; the paper leaves it open. Weights are kept above 1e-300.
Cost per round: O(K log t). Memory: 3 K numbers per level, and floor(log2 T) + 1 levels, 54 without a horizon.
Reference: A. Daniely, A. Gonen, S. Shalev-Shwartz, "Strongly adaptive online learning", ICML 2015.
"""

from __future__ import annotations

import math

from turncoat.learners.base import Checks, Facts, State, array, jit_rule, register_learner
from turncoat.learners.base.constructors import WithoutOptions
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.full_information.hedge import learning_rate
from turncoat.learners.parts.covering import blend, expected, first_round, n_levels, n_live, sum_to_1
from turncoat.learners.parts.tree_sampling import ask, probability
from turncoat.mirror.softmax import add, softmax
from turncoat.mirror.tree import tree_size
from turncoat.types import Matrix, Vector

SMALLEST_WEIGHT = 1e-300


@jit_rule
def trust_rate(k: int) -> float:
    """eta_I at level k."""
    return min(0.5, math.sqrt(0.5**k))


class SAOLState(State):
    """One row, or one number, per level; `costs` are what the copies lost in expectation in the last round."""

    K: int
    n: int  # levels
    rates: Vector = array("n")
    losses: Vector = array("K")
    weights: Vector = array("n")
    costs: Vector = array("n")
    scores: Matrix = array("n", "2 * K")
    copies: Matrix = array("n", "K")
    tree: Vector = array(...)


@jit_rule
def prepare(state: SAOLState, t: int) -> None:
    """Begin the intervals that begin in round t, and set p: (1)."""
    live = n_live(t, state.weights.size)
    for k in range(live):
        if first_round(t, k) == t:
            state.weights[k] = trust_rate(k)
            state.scores[k, :] = 0.0
            state.copies[k, :] = 1.0 / state.K
    blend(state.weights, state.copies, live, state.tree, state.K)


@jit_rule
def tell(state: SAOLState, choice: tuple[int, float], losses: Vector) -> None:
    """Learn the losses of a round."""
    state.clock[0] += 1
    t, K = state.clock[0], state.K
    live = n_live(t, state.weights.size)
    least = losses.min()  # gains are differences: nothing changes if it is taken off all losses
    for k in range(live):
        state.costs[k] = expected(state.copies[k], losses, least, K)
    mixed = expected(state.weights, state.costs, 0.0, live)
    for k in range(live):
        grown = 1.0 + trust_rate(k) * (mixed - state.costs[k])  # (2)
        state.weights[k] = max(state.weights[k] * grown, SMALLEST_WEIGHT)
        for arm in range(K):
            add(state.scores[k], K, arm, state.rates[k] * losses[arm])
        softmax(state.scores[k], state.copies[k])  # (3)
    prepare(state, t + 1)


register_learner(SAOLState, ask=ask, tell=tell, probability=probability, sees_all=True)


class SAOL(WithoutOptions, FullInformationLearner):
    """SAOL: Hedge on intervals of all lengths, where all losses are seen and the number of switches is unknown.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T, which saves memory; it goes without. `seed`:
    one seed, one run. `loss_range`: the lowest and highest loss that can be told. The rule and its guarantee:
    help("turncoat.learners.full_information.saol").
    """

    name = "saol"
    facts = Facts(
        "optional",
        "unknown",
        "√(ST)",
        "K log t",
        setting="full information",
        when="to compare with the literature on adaptive regret",
        when_not="to win: cbce has a smaller bound, and less regret where it was measured",
    )
    state_type = SAOLState
    signed = ("scores",)

    def _begin(self, K: int, T: int | None) -> None:
        n = n_levels(T)
        rates = [learning_rate(2**k, K) for k in range(n)]
        prepare(self.start(K=K, n=n, rates=rates, rest=tree_size(K)), 1)

    def _checks(self) -> Checks:
        state = self.view()
        live = n_live(self.n_told + 1, state.weights.size)
        reached = state.weights[0] == trust_rate(0) and (state.weights <= 2.0**60).all()  # level 0 always just began
        yield not reached, "weights holds a number that trust cannot reach"
        sums, remainders = state.scores[:, : self.n_arms], state.scores[:, self.n_arms :]
        wrong = (sums < 0.0).any() or (abs(remainders) > 1e-6).any()
        yield wrong, "scores holds what is no sum of losses, or no remainder"
        yield not sum_to_1(state.copies[:live]), "a copy's probabilities do not sum to 1"
        yield from super()._checks()
