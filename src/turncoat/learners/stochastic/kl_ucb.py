"""kl-UCB: UCB with Bernoulli confidence intervals. The stationary reference to beat.

Setting: stochastic, independent losses in [0, 1] whose means stay the same. Needs neither T nor S, and follows no
switch. A reference, not a tracker.

Rule (Garivier & Cappé 2011, algorithm 1), with rewards r = 1 - loss: play each arm once, then the arm with the largest
    max { q in [0, 1] : N(a) kl(X(a)/N(a), q) ≤ ln t + c ln ln t }                      (1)
with kl the divergence of two Bernoulli laws (kl.py).

    paper's symbol      name here
    N[a], S[a]          counts, sums
    t                   t, the clock: how many losses were told
    c                   extra

Guarantee: with c = 3 a worse arm of mean reward m, the best one having m*, is played (1 + ε) ln T/kl(m, m*) +
O(ln ln T) times in expectation (theorem 2 there; number and form from memory): for 0/1 losses no rule that is good in
every game does better, and by kl ≥ 2 gap² the bound is never above UCB1's. None for losses that are not stochastic,
and none against switches.
Departures from the paper: c = 0 unless `extra` says otherwise, which is what its authors recommend for play; the
theorem then no longer covers it. ln ln t counts as 0 before t = e, where it is negative. Ties, untried arms first
among them, are broken at random (index.py), and indices that round to 1 tie. The time is the number of tells.
Cost per round: O(K), with a few roots: an arm whose index is surely below the best so far costs two logarithms.
Reference: A. Garivier, O. Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from turncoat.learners.base import Facts, Option, State, array, jit_rule, register_learner
from turncoat.learners.base.index import IndexLearner, count, kl_index, largest
from turncoat.types import Label, Seed, Vector
from turncoat.validation.numbers import parse_between

MOST_EXTRA = 1000.0


class KLUCBState(State):
    """How often each arm was told, and its rewards."""

    K: int
    extra: float
    counts: Vector = array("K")
    sums: Vector = array("K")


@jit_rule
def confidence(state: KLUCBState) -> float:
    """ln t + c ln ln t."""
    log_t = math.log(max(float(state.clock[0]), 1.0))
    return log_t + state.extra * math.log(max(log_t, 1.0))


@jit_rule
def index(state: KLUCBState, c: float, arm: int, least: float) -> float:
    """The index of an arm; where it is below `least`, a number below `least`."""
    return kl_index(state.counts[arm], state.sums[arm], c, least)  # (1)


rule = largest(confidence, index)
register_learner(KLUCBState, ask=rule.ask, tell=count, probabilities=rule.probabilities)


class KLUCB(IndexLearner):
    """kl-UCB: UCB with Bernoulli confidence intervals. The best of the simple rules where nothing ever changes.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. `extra`: what stands before ln ln t; 0 plays best, the
    theorem wants 3. The rule and its guarantee: help("turncoat.learners.stochastic.kl_ucb").
    """

    name = "kl-ucb"
    facts = Facts(
        "unused",
        "S = 0 only",
        "√(KT)",
        "K",
        setting="stochastic",
        when="means never change, above all with losses 0 and 1",
        when_not="the best arm changes: glr-kl-ucb; losses may be anything: tsallis-inf",
    )
    state_type = KLUCBState
    rule = rule
    uses_horizon = False
    extra = Option[float]("What stands before ln ln t in the confidence.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        extra: float = 0.0,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.extra = parse_between("extra", extra, 0.0, MOST_EXTRA)
        self.start(K=self.n_arms, extra=self.extra)
