"""Fixed share: Hedge that shares a little weight among all arms, so that it can follow a changing best arm.

Setting: losses in [0, 1], all of them revealed after each round; needs T; takes S (`n_switches`), and without it is
tuned as for one switch.

Rule (Herbster & Warmuth 1998, fixed share):
    v(a) ∝ p(a) exp(-eta loss(a))                                                       (1)
    p(a) = (1 - s) v(a) + s/(K-1) (1 - v(a)) = (1 - m) v(a) + m/K,  m = s K/(K-1)       (2)
with  s = min(S/(T-1), (K-1)/K),  eta = sqrt(8 C/T),
      C = ln K + S ln((K-1)/s) + (T-1-S) ln(1/(1-s)).                                   (3)

    paper's symbol      name here
    alpha               s; the kernel has m, `mix`
    eta                 eta
    v, w                the leaves of `tree`
    L                   scores, only where s = 0

Guarantee: regret in expectation over its own draws, for every sequence of losses and every path with at most S
switches, at most C/eta + eta T/8 = sqrt(C T/2). Derived: (1) and (2) are exponential weights over all paths, whose
prior is that of a Markov chain that moves with probability s; -ln of the prior of a path with S switches is C, which is
less for fewer switches as s ≤ (K-1)/K, and a round costs at most eta/8 by Hoeffding's lemma. With s = S/(T-1), C is
ln K + S ln(K-1) + (T-1) H(s), H the binary entropy: as in the paper.
Departures from the paper: arms are drawn from p, where the paper predicts with it; s is capped where more sharing than
to a uniform p would be useless. Without switches nothing is shared: then it is Hedge, with Hedge's own arithmetic, in
which an arm that sank out of sight comes back when its losses say so.
Cost per round: O(K).
Reference: M. Herbster, M. K. Warmuth, "Tracking the best expert", Mach. Learn. 32 (1998).
"""

from __future__ import annotations

import math

from turncoat.learners.base import Facts, State, array, jit_rule, register_learner
from turncoat.learners.base.constructors import ToldSwitches
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.full_information.hedge import learn
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.tree import rebuild
from turncoat.types import Vector


def sharing(T: int, K: int, S: int) -> float:
    """s: how often the best arm changes, and no more than makes p uniform."""
    return min(S / (T - 1.0), (K - 1.0) / K) if S > 0 else 0.0


def complexity(T: int, K: int, S: int) -> float:
    """C: -ln of the prior weight of a path with S switches (3)."""
    s = sharing(T, K, S)
    return math.log(K) + (S * math.log((K - 1) / s) - (T - 1 - S) * math.log1p(-s) if s > 0.0 else 0.0)


def learning_rate(T: int, K: int, S: int) -> float:
    """eta, which balances C/eta and eta T/8."""
    return math.sqrt(8.0 * complexity(T, K, S) / T)


class FixedShareState(State):
    """`scores` are kept only where nothing is shared."""

    K: int
    eta: float
    mix: float
    losses: Vector = array("K")
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def tell(state: FixedShareState, choice: tuple[int, float], losses: Vector) -> None:
    """Learn the losses of a round."""
    state.clock[0] += 1
    if state.mix == 0.0:
        learn(state, losses, state.eta)
        return
    K, tree = state.K, state.tree
    least, V = losses.min(), 0.0
    for arm in range(K):
        tree[arm] *= math.exp(-state.eta * (losses[arm] - least))  # (1)
        V += tree[arm]
    for arm in range(K):
        tree[arm] = (1.0 - state.mix) * tree[arm] / V + state.mix / K  # (2)
    rebuild(tree, K)


register_learner(FixedShareState, ask=ask, tell=tell, probability=probability, sees_all=True)


class FixedShare(ToldSwitches, FullInformationLearner):
    """Fixed share: Hedge that shares a little weight, where all losses are seen and the best arm changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often the best arm changes; None is tuned as for 1.
    The rule and its guarantee: help("turncoat.learners.full_information.fixed_share").
    """

    name = "fixed-share"
    facts = Facts(
        "needed",
        "wanted",
        "√(ST)",
        "K",
        setting="full information",
        when="all losses are seen, the best arm changes, and about how often is known",
        when_not="S is not known: cbce; only one loss is seen: clipped-omd or exp3.s",
    )
    state_type = FixedShareState
    signed = ("scores",)

    def _begin(self, K: int, T: int, S: int | None) -> None:
        S = min(1, T - 1) if S is None else S
        S = S if K > 1 else 0
        mix = sharing(T, K, S) * K / (K - 1) if K > 1 else 0.0
        start_weights(self, 1.0 / K, K, eta=learning_rate(T, K, S), mix=min(mix, 1.0))
