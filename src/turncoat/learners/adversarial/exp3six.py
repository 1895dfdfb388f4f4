"""EXP3-SIX: EXP3-IX that shares a little weight with every arm: small regret against paths, in nearly every run.

Setting: adversarial losses in [0, 1]; needs T; takes S (`n_switches`), and without it is tuned as for one switch.

Rule (Neu 2015, section 4: implicit exploration with the fixed share of Herbster & Warmuth):
    p(a) = w(a) / W                                                                     (1)
    w(a_t) *= exp(-eta loss / (p(a_t) + gamma))                                         (2)
    w(a) <- (1 - share) w(a) + share W / K for every a, W the total after (2)           (3)
with share = S / (T - 1) and
    eta = 2 gamma = sqrt(2 C / (K T)),   C = (S + 1) ln K + (T - 1) h(S / (T - 1)),     (4)
where h is the entropy of a coin, so that (T - 1) h(S / (T - 1)) ≤ S ln(e (T - 1) / S). With S = 0 this is EXP3-IX.

    paper's symbol      name here
    eta, gamma, alpha   eta, gamma = eta / 2, share
    w                   the leaves of `tree`, scaled to the total 1 where they are shared
    -ln w               scores: only with S = 0, where no share keeps a weight from vanishing

Guarantee: with probability at least 1 - delta, against every path with at most S switches at once,
    2 sqrt(2 K T C) + (sqrt(K T / (2 C)) + 1) ln(2/delta),
derived in docs/learners/exp3six.md: C bounds both what a path costs under (3) and the logarithm of the number of paths.
Told nothing, and so tuned for one switch, it pays ((S + 1) ln K + S ln(e T)) / eta in place of C / eta, twice.
Departures from the paper: the tuning (4) is ours, as the paper's could not be checked; the order is the same. At T = 1,
where nothing can switch, nothing is shared.
Cost per round: O(K) for (3), O(log K) with S = 0.
References: G. Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits", NIPS 2015;
M. Herbster, M. Warmuth, "Tracking the best expert", Mach. Learn. 32 (1998).
"""

from __future__ import annotations

import math

from turncoat.learners.base import Facts, State, array, computed, jit_rule, register_learner
from turncoat.learners.base.constructors import ToldSwitches
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import ask, probability
from turncoat.mirror.entropy import share_tree
from turncoat.mirror.softmax import charge
from turncoat.mirror.tree import fill, set_leaf, tree_size
from turncoat.types import Vector


def sharing(T: int, S: int) -> float:
    """share = S / (T - 1): how often a path with S switches does switch."""
    return S / (T - 1) if T > 1 else 0.0


def path_cost(T: int, K: int, S: int) -> float:
    """C of (4): the logarithm of how many paths with S switches there are, from above."""
    stay, move = 1.0 - sharing(T, S), sharing(T, S)
    coin = -sum(x * math.log(x) for x in (stay, move) if x > 0.0)
    return (S + 1) * math.log(K) + (T - 1) * coin


def learning_rate(T: int, K: int, S: int) -> float:
    """eta = 2 gamma, which balances the first two terms of the guarantee: (4)."""
    return math.sqrt(2.0 * path_cost(T, K, S) / (K * T))


class Exp3SIXState(State):
    """The rates and the weights; scores (K sums, K remainders) only where nothing is shared."""

    K: int
    n_nodes: int = computed(tree_size, "K")  # of the tree
    eta: float
    share: float
    scores: Vector = array(...)
    tree: Vector = array("n_nodes")


@jit_rule
def tell(state: Exp3SIXState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    x = state.eta * importance_weighted(loss, served + 0.5 * state.eta)  # at most 2
    if state.share > 0.0:
        set_leaf(state.tree, state.K, arm, state.tree[arm] * math.exp(-x))  # (2)
        share_tree(state.tree, state.K, state.share)  # (3)
    else:
        charge(state.scores, state.tree, state.K, arm, x)  # (2)


register_learner(Exp3SIXState, ask=ask, tell=tell, probability=probability)  # (1): tree_sampling.py


class Exp3SIX(ToldSwitches):
    """EXP3-SIX: EXP3-IX that shares a little weight with every arm, for a best arm that changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often the best arm changes; None is tuned as for 1.
    The rule and its guarantee: help("turncoat.learners.adversarial.exp3six").
    """

    name = "exp3-six"
    facts = Facts(
        "needed",
        "wanted",
        "√(SKT), or S√(KT)",
        "K",
        setting="adversarial",
        when="S is roughly known and the bound should hold in nearly every run",
        when_not="the average counts: clipped-omd had 0.6 to 0.9 of its regret",
    )
    state_type = Exp3SIXState
    signed = ("scores",)
    stability = "half"

    def _begin(self, K: int, T: int, S: int | None) -> None:
        S = min(1, T - 1) if S is None else S
        share = sharing(T, S)
        n_scores = 0 if share > 0.0 else 2 * K
        state = self.start(K=K, eta=learning_rate(T, K, S), share=share, rest=n_scores)
        fill(state.tree, K, 1.0)
