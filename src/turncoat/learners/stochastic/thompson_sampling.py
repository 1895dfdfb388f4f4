"""Thompson sampling: play each arm with the probability that it is the best. For losses that never change.

Setting: stochastic, independent losses in [0, 1] whose means stay the same. Needs neither T nor S, and follows no
switch. A reference, not a tracker.

Rule (Thompson 1933; Agrawal & Goyal 2012, algorithm 1), with rewards r = 1 - loss: each arm has a Beta law for its mean
reward. A round draws from each of them,
    theta(a) ~ Beta(prior + S(a), prior + F(a))                                         (1)
and plays the largest theta; a reward r adds
    S(a) += r,  F(a) += 1 - r                                                           (2)

    paper's symbol      name here
    S_i, F_i            successes, failures
    Beta(1, 1)          prior = 1 on both sides

Guarantee, for 0/1 losses and prior = 1: expected pseudo-regret at most (1 + ε) the sum over worse arms of
gap ln T/kl(m, m*), plus O(K/ε²), m and m* being the mean rewards of the arm and of the best; and of order
sqrt(K T ln T) whatever the gaps are (Agrawal & Goyal 2013; the second as its abstract has it, the first from memory).
None for losses that are not stochastic, and none against switches.
Departures from the paper: a reward between 0 and 1 is counted in parts, as in (2), where Agrawal & Goyal toss a coin
that shows 1 with probability r. For 0/1 losses both are the same. Else parts are counted because a tell then needs no
random numbers, so that what is learned does not depend on the number of asks, and because they add no noise; but the
theorem is for the coin.
What is served has no closed form, so decisions have no propensity. **Late tells**: the rule acts on what it was told;
asks between tells draw anew each, so a batch of them is spread over the arms by itself.
Cost per round: O(K), one Beta variate per arm (beta.py).
References: W. R. Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence of
two samples", Biometrika 25 (1933); S. Agrawal, N. Goyal, "Analysis of Thompson sampling for the multi-armed bandit
problem", COLT 2012, and "Further optimal regret bounds for Thompson sampling", AISTATS 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from turncoat.learners.base import Facts, Learner, Option, State, array, jit_rule, register_learner
from turncoat.learners.parts.beta import ask_largest
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_prior


class ThompsonSamplingState(State):
    """The prior, and what was added to it."""

    K: int
    prior: float
    successes: Vector = array("K")
    failures: Vector = array("K")


@jit_rule
def ask(state: ThompsonSamplingState) -> tuple[int, None]:
    """The arm whose draw is the largest."""
    return ask_largest(state, 1.0)  # (1)


@jit_rule
def tell(state: ThompsonSamplingState, choice: tuple[int, Any], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    state.clock[0] += 1
    state.successes[choice[0]] += 1.0 - loss  # (2)
    state.failures[choice[0]] += loss


register_learner(ThompsonSamplingState, ask=ask, tell=tell)


class ThompsonSampling(Learner):
    """Thompson sampling: play each arm with the probability that it is the best. For losses that never change.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. `prior`: how many good rounds, and as many bad ones,
    every arm starts with; 1 is uniform, 0.5 Jeffreys'. The rule and its guarantee:
    help("turncoat.learners.stochastic.thompson_sampling").
    """

    name = "thompson-sampling"
    facts = Facts(
        "unused",
        "S = 0 only",
        "√(KT)",
        "K",
        setting="stochastic",
        when="means never change; batches of asks spread over the arms",
        when_not="the best arm changes: discounted-thompson; propensities count: kl-ucb",
    )
    state_type = ThompsonSamplingState
    uses_horizon = False
    uses_propensity = False
    prior = Option[float]("How many good rounds, and as many bad ones, every arm starts with.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        prior: float = 1.0,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.prior = parse_prior(prior)
        self.start(K=self.n_arms, prior=self.prior)

    @property
    def posteriors(self) -> Matrix:
        """(K, 2): the two numbers of every arm's Beta law, for good and for bad rounds."""
        state = self.view()
        return self.prior + np.column_stack([state.successes, state.failures])
