"""ClippedOMD: mirror descent with entropy on the clipped simplex. The baseline to beat when S is known.

Setting: adversarial losses in [0, 1]; needs T; takes S (`n_switches`), and without it is tuned as for one switch.

Rule: with lhat = loss / p(a_t) at the played arm and 0 elsewhere,
    p <- argmin over {q : q ≥ beta} of  <q, lhat> + KL(q || p) / xi                     (1)
with beta = 1/(K T) and xi = sqrt(2 (S ln(KT) + ln K) / (K T)). The floor is what lets it follow a switch: no arm is
ever more than ln(KT) away. This is one base of the paper's masters, playing alone. With projection="sharing" it is
fixed share instead (Herbster & Warmuth 1998): the same step without a floor, after which every arm gives away a share
K beta = 1/T of its weight, which all get in equal parts,
    p(a_t) *= exp(-xi lhat), normalise, p <- (1 - K beta) p + beta                      (2)

    paper's symbol      name here
    xi(h)               xi
    beta                beta
    p_{t,h}             the leaves of `tree`, over their total

Guarantee: expected regret against every path with S switches at most (S ln(KT) + ln K)/xi + xi K T/2 + 1, which is
sqrt(2 K T (S ln(KT) + ln K)) + 1 at the xi above (docs/mathematics.md). Sharing has (S ln(KT) + ln K + 1)/xi + xi K T/2
(docs/learners/clipped-omd.md). Oblivious adversary.
Departures from the paper: played alone, so the estimate divides by p(a) only; the rate is tuned for that. At T = 1 the
floor is that of T = 2, so that something can move.
"Sharing" is not the "mixing" of the masters, which mixes what is served and leaves the weights alone.
Cost per round: O(log K); the projection in (1) is exact (one-hot lemma). O(K) with sharing.
References: J. Kim, S.-Y. Yun, "Adversarial bandits against arbitrary strategies", TMLR 2025, the base algorithm;
M. Herbster, M. Warmuth, "Tracking the best linear predictor", JMLR 1 (2001), for clipping against switches, and
"Tracking the best expert", Mach. Learn. 32 (1998), for sharing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from turncoat import kim_yun
from turncoat.learners.base import Facts, Learner, Option, State, array, jit_rule, register_learner, variant
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.entropy import share_tree, step_one_hot_tree
from turncoat.mirror.tree import set_leaf
from turncoat.types import Label, Seed, Vector
from turncoat.validation.games import parse_switches

Projection: TypeAlias = Literal["exact", "sharing"]
PROJECTIONS = ("exact", "sharing")


def learning_rate(T: int, K: int, S: int) -> float:
    """xi, which balances the two terms of the guarantee."""
    return math.sqrt(2.0 * (S * math.log(K * T) + math.log(K)) / (K * T))


class ClippedOMDState(State):
    """The rate, the floor, whether it is kept by sharing, and the weights (with sharing, of total 1)."""

    K: int
    xi: float
    beta: float
    sharing: bool
    tree: Vector = array(...)


@jit_rule
def tell(state: ClippedOMDState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    x = state.xi * importance_weighted(loss, served)
    if not state.sharing and loss > 0.0:
        step_one_hot_tree(state.tree, state.K, arm, x, state.beta)  # (1)
    if state.sharing and state.K > 1:
        set_leaf(state.tree, state.K, arm, state.tree[arm] * math.exp(-x))
        share_tree(state.tree, state.K, state.K * state.beta)  # (2)


register_learner(ClippedOMDState, ask=ask, tell=tell, probability=probability)


class ClippedOMD(Learner):
    """Clipped mirror descent: the simplest learner that follows a changing best arm, and the best of those told S.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often the best arm changes; None is tuned as for 1.
    `projection`: how weights are kept off zero, "exact" (mirror descent over a floor) or "sharing" (fixed share).
    The rule and its guarantee: help("turncoat.learners.adversarial.clipped_omd").
    """

    name = "clipped-omd"
    facts = Facts(
        "needed",
        "wanted",
        "√(SKT), or S√(KT)",
        "log K",
        setting="adversarial",
        when="S is roughly known, losses may be anything: the smallest constant",
        when_not="S is a guess: turncoat; losses are random and jump: glr-kl-ucb",
    )
    variants = (variant("clipped-omd sharing", projection="sharing"),)
    state_type = ClippedOMDState
    stability = "kept"
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    projection = Option[Projection]('How weights are kept off zero: "exact", or by "sharing".', PROJECTIONS)

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        projection: Projection = "exact",
    ) -> None:
        self.projection = projection
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.n_switches = parse_switches(n_switches, T)
        xi = learning_rate(T, K, 1 if self.n_switches is None else self.n_switches)
        beta, is_sharing = kim_yun.base_floor(T, K), projection == "sharing"
        start_weights(self, 1.0, K, xi=xi, beta=beta, sharing=is_sharing)
