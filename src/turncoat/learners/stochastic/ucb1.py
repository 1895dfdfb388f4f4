"""UCB1: play the arm whose mean could still be the best. The classic where nothing ever changes.

Setting: stochastic, independent losses in [0, 1] whose means stay the same. Needs neither T nor S, and follows no
switch: after one it may stick to the old arm for a multiple of the time it has been there. A reference, not a tracker.

Rule (Auer et al. 2002, figure 1), with rewards r = 1 - loss: play each arm once, then the arm with the largest
    X(a)/N(a) + sqrt(2 ln t / N(a))                                                     (1)

    paper's symbol      name here
    n_j                 counts
    n_j xbar_j          sums
    n                   t, the clock: how many losses were told
    2                   exploration

Guarantee: expected pseudo-regret at most the sum over worse arms of 8 ln T/gap, plus (1 + π²/3) times the sum of the
gaps (for exploration 2; the constants were checked in lecture notes, theorem 1 is a number from memory), which is of
order sqrt(K T ln T) whatever the gaps are. None for losses that are not stochastic, and none against switches.
Departures from the paper: arms that tie, the untried ones first among them, are chosen at random (index.py), where
the paper leaves the order open. The time is the number of tells, so late losses make it wait.
Cost per round: O(K).
Reference: P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine
Learning 47 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from turncoat.learners.base import Facts, Option, State, array, jit_rule, register_learner
from turncoat.learners.base.index import MOST_EXPLORATION, IndexLearner, count, largest, ucb_index
from turncoat.types import Label, Seed, Vector
from turncoat.validation.numbers import parse_positive


class UCB1State(State):
    """How often each arm was told, and its rewards."""

    K: int
    exploration: float
    counts: Vector = array("K")
    sums: Vector = array("K")


@jit_rule
def confidence(state: UCB1State) -> float:
    """2 ln t."""
    return state.exploration * math.log(max(float(state.clock[0]), 1.0))


@jit_rule
def index(state: UCB1State, c: float, arm: int, least: float) -> float:
    """The index of an arm."""
    return ucb_index(state.counts[arm], state.sums[arm], c)  # (1)


rule = largest(confidence, index)
register_learner(UCB1State, ask=rule.ask, tell=count, probabilities=rule.probabilities)


class UCB1(IndexLearner):
    """UCB1: play the arm whose mean could still be the best. For stochastic losses that never change.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. `exploration`: 2 in the theorem; less explores less, and
    is often better. The rule and its guarantee: help("turncoat.learners.stochastic.ucb1").
    """

    name = "ucb1"
    facts = Facts(
        "unused",
        "S = 0 only",
        "√(KT)",
        "K",
        setting="stochastic",
        when="means never change and the simplest rule with a bound will do",
        when_not="regret counts: kl-ucb had a quarter of it; means change: glr-kl-ucb",
    )
    state_type = UCB1State
    rule = rule
    uses_horizon = False
    exploration = Option[float]("What stands before ln t in the index.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        exploration: float = 2.0,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.exploration = parse_positive("exploration", exploration, MOST_EXPLORATION)
        self.start(K=self.n_arms, exploration=self.exploration)
