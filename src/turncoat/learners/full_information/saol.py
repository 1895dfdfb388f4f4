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
    w_t(I), eta_I       weights, one a level; trust_rate
    B_I (a black box)   scores (K sums, K remainders) and copies (p_I), one row a level

Guarantee: on every interval I = [q, s] of the covering, for every sequence of losses, regret in expectation over its
own draws at most  ln(s (floor(log2 s) + 1))/eta_I + eta_I |I| + sqrt(|I| ln K/2). Derived: the w_I/eta_I of live
intervals sum up to at most s (floor(log2 s) + 1): each begins with 1, and (2) adds w_I r_I to them, which sum up to 0
by (1); ln(1+x) ≥ x - x² for x ≥ -1/2; and (3). The paper states the same order, log(s) sqrt(|I|), for every interval
at all: it is made of covering intervals whose lengths fall by halves to both sides, which costs a factor
2/(1 - 2^(-1/2)) < 6.9. Over the segments of a path with S switches that adds up to the order of log(T) sqrt(S T).
Departures from the paper: where losses are only linear the paper draws an interval by w_I and charges r_I with the loss
drawn; here p is the mixture, so that r_I is the expected one. The black box is Hedge with the rate for |I|, known when
the interval begins; the paper leaves it open. Weights are kept above 1e-300.
Cost per round: O(K log t). Memory: 3 K numbers a level, of which there are floor(log2 T) + 1, or 54 without a horizon.
Reference: A. Daniely, A. Gonen, S. Shalev-Shwartz, "Strongly adaptive online learning", ICML 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.base.learner import Facts
from turncoat.learners.full_information.hedge import learning_rate
from turncoat.learners.parts import covering
from turncoat.learners.parts.covering import blend, expected, first_round, n_levels, n_live
from turncoat.learners.parts.tree_sampling import ask, probability
from turncoat.mirror.softmax import add, softmax
from turncoat.mirror.tree import tree_size
from turncoat.types import Ints, Label, Matrix, Seed, Vector, Words

SMALLEST_WEIGHT = 1e-300


@jit_rule
def trust_rate(k: int) -> float:
    """eta_I at level k."""
    return min(0.5, math.sqrt(0.5**k))


class SAOLState(NamedTuple):
    """One row, or one number, a level; `costs` are what the copies lost in expectation in the last round."""

    rng: Words
    clock: Ints
    K: int
    losses: Vector
    weights: Vector
    costs: Vector
    rates: Vector
    scores: Matrix
    copies: Matrix
    tree: Vector


@jit_rule
def view(buffer: Vector) -> SAOLState:
    """Name the parts of the buffer."""
    K, n = int(buffer[HEAD]), int(buffer[HEAD + 1])
    rates = buffer[HEAD + 2 : HEAD + 2 + n]
    arrays = buffer[HEAD + 2 + n :]
    rows = arrays[K + 2 * n :]
    return SAOLState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        arrays[:K],
        arrays[K : K + n],
        arrays[K + n : K + 2 * n],
        rates,
        rows[: 2 * K * n].reshape(n, 2 * K),
        rows[2 * K * n : 3 * K * n].reshape(n, K),
        rows[3 * K * n :],
    )


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


register_learner(SAOLState, view=view, ask=ask, tell=tell, probability=probability, sees_all=True)


class SAOL(FullInformationLearner):
    """SAOL: Hedge on intervals of all lengths, where all losses are seen and nobody knows how often the best changes.

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

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        K, n = self.n_arms, n_levels(self.horizon)
        rates = [learning_rate(2**k, K) for k in range(n)]
        self.start([K, n, *rates], n_more=K + 2 * n + 3 * K * n + tree_size(K))
        prepare(self.view(), 1)

    def _damage(self) -> str:
        state = self.view()
        live = n_live(self.n_told + 1, state.weights.size)
        if state.weights[0] != trust_rate(0) or (state.weights > 2.0**60).any():  # level 0 has just begun, always
            return "weights holds a number that trust cannot reach"
        K = self.n_arms
        if (state.scores[:, :K] < 0.0).any() or (abs(state.scores[:, K:]) > 1e-6).any():
            return "scores holds what is no sum of losses, or no remainder"
        return covering.damage(state.copies, live) or super()._damage()
