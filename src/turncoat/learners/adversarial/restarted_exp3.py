"""RestartedExp3 (Rexp3): EXP3 that forgets everything at fixed times. The simplest way to follow a change.

Setting: adversarial losses in [0, 1]; needs T; takes S (`n_switches`), and without it is tuned as for one switch. A
variation budget V, the sum over rounds of the largest change of an arm's mean loss, is given in the same place, rounded
up to a whole number: the rule knows S and V only through their power -2/3.

Rule (Besbes, Gur & Zeevi 2014, section 4): play blocks of
    D = ceil((K ln K)^(1/3) (T / S)^(2/3)) rounds, T rounds at most and with S = 0,     (1)
in each of them a fresh EXP3 that is tuned for D rounds:
    p(a) ∝ exp(-eta Lhat(a)),   Lhat(a_t) += loss / p(a_t),   eta = sqrt(2 ln K / (K D))   (2)

    paper's symbol      name here
    Delta_T             block
    V_T                 S
    Lhat                scores (eta Lhat), K sums and their K remainders
    w                   the leaves of `tree`

Guarantee: expected regret against every path with S switches at most S D + ceil(T / D) sqrt(2 K D ln K), which is
(1 + sqrt 2) (S K ln K)^(1/3) T^(2/3) + S + sqrt(2 K D ln K) with (1): a block with a switch in it may lose every round,
any other has the bound of EXP3. Against the best arm of every round in mean, 2 V D takes the place of S D (derived in
docs/learners/restarted-exp3.md). Oblivious adversary.
Departures from the paper: EXP3 in its loss form, whose constant is smaller, in place of its gain form. Blocks are
counted in tells. A decision from before a restart, told after it, is dropped and counted (`n_dropped`).
Cost per round: O(log K), and O(K) at a restart.
Reference: O. Besbes, Y. Gur, A. Zeevi, "Stochastic multi-armed-bandit problem with non-stationary rewards", NIPS 2014.
"""

from __future__ import annotations

import math

from turncoat.learners.adversarial.exp3 import loss_rate
from turncoat.learners.base import Facts, State, array, jit_rule, register_learner
from turncoat.learners.base.blocks import N_MARKS, BlockLearner
from turncoat.learners.base.constructors import ToldSwitches
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import ask, probability, start_weights
from turncoat.mirror.softmax import charge
from turncoat.mirror.tree import fill
from turncoat.types import Vector


def block_length(T: int, K: int, S: int) -> int:
    """D: (1)."""
    if S == 0 or K == 1:
        return T
    return min(T, math.ceil(math.pow(K * math.log(K), 1.0 / 3.0) * math.pow(T / S, 2.0 / 3.0)))


class RestartedExp3State(State):
    """The rate, the block, what blocks.py keeps, the scores, and the weights."""

    K: int
    eta: float
    block: int
    marks: Vector = array(N_MARKS)
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def tell(state: RestartedExp3State, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of a choice of this run; after the last one of a block, begin anew."""
    arm, served = choice
    state.clock[0] += 1
    if state.clock[0] % state.block == 0:  # (1)
        for i in range(2 * state.K):
            state.scores[i] = 0.0
        fill(state.tree, state.K, 1.0)
    else:
        charge(state.scores, state.tree, state.K, arm, state.eta * importance_weighted(loss, served))  # (2)


register_learner(RestartedExp3State, ask=ask, tell=tell, probability=probability)  # (2): tree_sampling.py


class RestartedExp3(ToldSwitches, BlockLearner):
    """EXP3 that begins anew at fixed times, for a best arm that changes: a simple baseline.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often the best arm changes, or the variation budget,
    rounded up; None is tuned as for 1.

    The rule and its guarantee: help("turncoat.learners.adversarial.restarted_exp3").
    """

    name = "restarted-exp3"
    facts = Facts(
        "needed",
        "wanted",
        "(SK)^⅓·T^⅔",
        "log K",
        setting="adversarial",
        when="losses drift within a known budget and the simplest rule will do",
        when_not="switches are few: clipped-omd had a third to a half of its regret",
    )
    state_type = RestartedExp3State
    signed = ("scores",)
    stability = "half"

    def _begin(self, K: int, T: int, S: int | None) -> None:
        self.block = block_length(T, K, 1 if S is None else S)
        start_weights(self, 1.0, K, eta=loss_rate(self.block, K), block=self.block)
