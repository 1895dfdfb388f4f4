"""CBCE, coin betting for a changing environment: bets on arms within intervals of all lengths, and on the intervals.

Setting: losses in [0, 1], all of them revealed after each round. Needs neither T nor S, and no learning rate: it
competes on every interval of rounds, and so with every path that switches, however often.

Rule (Jun, Orabona, Wright & Willett 2017). A coin has z, the sum of its gains, and wealth, 1 at first. After n rounds
of its life it bets the fraction
    beta = z/(n + 1),  and  w = beta wealth.                                            (1)
Coins share out trust by p_i ∝ pi_i max(w_i, 0), or ∝ pi_i if no w_i is positive. Then coin i gains
    g_i = <p, loss> - loss_i,  or max(g_i, 0) if w_i ≤ 0;   wealth *= 1 + beta g,  z += g.     (2)
Every interval I of the geometric covering (covering.py) has a copy: K coins, one per arm, pi uniform, whose p is p_I.
And every interval is a coin itself, with loss <p_I, loss> and the prior
    pi_I ∝ 1/(q² (1 + floor(log2 q))),  q the first round of I.                         (3)
What is served is the sum of p(I) p_I. All intervals that hold t have one floor(log2 q), which leaves (t/q)² of (3).

    paper's symbol                     name here
    sum of g (z), 1 + sum of g w       sums and wealth of intervals; arm_sums, arm_wealth, one row per level
    p_t(I), the black box's p_I        trust, copies

Guarantee: on every interval I = [q, s] of n rounds of the covering, for every sequence of losses, regret in expectation
over its own draws at most
    sqrt(n (4 ln q + 2 ln(1 + floor(log2 q)) + ln n + 4.2)) + sqrt(n (2 ln K + ln n + 3.2)).
Derived: the pi_i wealth_i sum up to at most 1, as sum of pi_i w_i g_i ≤ 0 in every round; the wealth of betting by (1)
is at least exp(z²/(2n))/(e sqrt(pi n)) (Orabona & Pál 2016); so z ≤ sqrt(n (2 ln(1/pi_i) + ln n + 2 + ln pi)), where
2 + ln pi < 3.2, and 1/pi_I is at most pi²/6 times q² (1 + floor(log2 q)), 2 ln(pi²/6) < 1. The paper has the same
order, sqrt(n log s), for every interval at all; with S switches that is sqrt(S T log T).
Departures from the paper: it leaves the black box open and tries coin betting for arms; here that is (1) and (2) with
all arms awake. A coin with |z| ≤ 1e-12 bets nothing: what is exactly 0 on paper is not always so in floats, and p does
not depend on how small the largest w is.
Cost per round: O(K log t). Memory: 3 K numbers per level; there are floor(log2 T) + 1 levels, 54 without a horizon.
References: K.-S. Jun, F. Orabona, S. Wright, R. Willett, "Improved strongly adaptive online learning using coin
betting", AISTATS 2017; F. Orabona, D. Pál, "Coin betting and parameter-free online learning", NeurIPS 2016.
"""

from __future__ import annotations

import numpy as np

from turncoat.learners.base import Checks, Facts, State, array, jit_rule, register_learner
from turncoat.learners.base.constructors import WithoutOptions
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.parts.covering import blend, expected, first_round, n_levels, n_live, sum_to_1
from turncoat.learners.parts.tree_sampling import ask, probability
from turncoat.mirror.tree import tree_size
from turncoat.types import Matrix, Vector

WON_NOTHING = 1e-12


class CBCEState(State):
    """One row, or one number, per level; `costs` are what the copies lost in expectation in the last round."""

    K: int
    n: int  # levels
    losses: Vector = array("K")
    sums: Vector = array("n")
    wealth: Vector = array("n")
    trust: Vector = array("n")
    costs: Vector = array("n")
    arm_sums: Matrix = array("n", "K")
    arm_wealth: Matrix = array("n", "K")
    copies: Matrix = array("n", "K")
    tree: Vector = array(...)


@jit_rule
def fraction(z: float, n: int) -> float:
    """beta of a coin after n rounds of its life: (1)."""
    return z / (n + 1.0) if abs(z) > WON_NOTHING else 0.0


@jit_rule
def settle(sums: Vector, wealth: Vector, i: int, n: int, gain: float) -> None:
    """Pay coin i what its bet in the n-th round after its first has gained: (2)."""
    beta = fraction(sums[i], n)
    won = gain if beta > 0.0 else max(gain, 0.0)
    wealth[i] *= 1.0 + beta * won
    sums[i] += won


@jit_rule
def share_out(sums: Vector, wealth: Vector, n: int, p: Vector) -> None:
    """p of coins of one age and equal prior."""
    total = 0.0
    for i in range(p.size):
        p[i] = max(fraction(sums[i], n) * wealth[i], 0.0)
        total += p[i]
    for i in range(p.size):
        p[i] = p[i] / total if total > 0.0 else 1.0 / p.size


@jit_rule
def trust_intervals(state: CBCEState, t: int, live: int) -> None:
    """p(I): as in `share_out`, with the prior (3), and every interval of its own age."""
    total, prior = 0.0, 0.0
    for k in range(live):
        q = first_round(t, k)
        bet = fraction(state.sums[k], t - q) * state.wealth[k]
        state.trust[k] = (t / q) ** 2 * max(bet, 0.0)
        total += state.trust[k]
        prior += (t / q) ** 2
    for k in range(live):
        state.trust[k] = state.trust[k] / total if total > 0.0 else (t / first_round(t, k)) ** 2 / prior


@jit_rule
def prepare(state: CBCEState, t: int) -> None:
    """Begin the intervals that begin in round t, and set what is served in it."""
    live = n_live(t, state.trust.size)
    for k in range(live):
        q = first_round(t, k)
        if q == t:
            state.sums[k], state.wealth[k] = 0.0, 1.0
            state.arm_sums[k, :] = 0.0
            state.arm_wealth[k, :] = 1.0
        share_out(state.arm_sums[k], state.arm_wealth[k], t - q, state.copies[k])
    trust_intervals(state, t, live)
    blend(state.trust, state.copies, live, state.tree, state.K)


@jit_rule
def tell(state: CBCEState, choice: tuple[int, float], losses: Vector) -> None:
    """Learn the losses of a round."""
    state.clock[0] += 1
    t, K = state.clock[0], state.K
    live = n_live(t, state.trust.size)
    least = losses.min()  # gains are differences: nothing changes if it is taken off all losses
    for k in range(live):
        n = t - first_round(t, k)
        state.costs[k] = expected(state.copies[k], losses, least, K)
        for arm in range(K):
            settle(state.arm_sums[k], state.arm_wealth[k], arm, n, state.costs[k] - (losses[arm] - least))
    mixed = expected(state.trust, state.costs, 0.0, live)
    for k in range(live):
        settle(state.sums, state.wealth, k, t - first_round(t, k), mixed - state.costs[k])
    prepare(state, t + 1)


register_learner(CBCEState, ask=ask, tell=tell, probability=probability, sees_all=True)


class CBCE(WithoutOptions, FullInformationLearner):
    """CBCE: coin betting on intervals of all lengths, where all losses are seen and the number of switches is unknown.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T, which saves memory; it goes without. `seed`:
    one seed, one run. `loss_range`: the lowest and highest loss that can be told. The rule and its guarantee:
    help("turncoat.learners.full_information.cbce").
    """

    name = "cbce"
    facts = Facts(
        "optional",
        "unknown",
        "√(ST)",
        "K log t",
        setting="full information",
        when="all losses are seen, and the best arm changes unknown times",
        when_not="S is known: fixed-share; only one loss is seen: turncoat",
    )
    state_type = CBCEState
    signed = ("sums", "arm_sums")

    def _begin(self, K: int, T: int | None) -> None:
        prepare(self.start(K=K, n=n_levels(T), rest=tree_size(K)), 1)

    def _checks(self) -> Checks:
        state, t = self.view(), self.n_told + 1
        live = n_live(t, state.trust.size)
        for k in range(live):
            n = t - first_round(t, k)
            sums = np.append(state.arm_sums[k], state.sums[k])
            wrong = (sums < -1.0 - 1e-9 * n).any() or (sums > n * (1.0 + 1e-9)).any()
            yield wrong, f"a sum of gains is not one of {n} rounds"
        rich = (state.wealth > 2.0**120).any() or (state.arm_wealth > 1.01 * self.n_arms).any()
        yield rich, "wealth is more than bets can win"
        yield not sum_to_1(state.trust[:live]), "trust does not sum to 1"
        yield not sum_to_1(state.copies[:live]), "a copy's probabilities do not sum to 1"
        yield from super()._checks()
