"""Discounted Thompson sampling: Thompson sampling that forgets. For stochastic losses whose means change.

Setting: stochastic, independent losses in [0, 1] whose means change S times. Needs T and S (`n_switches`), from which
its discount comes, or a `discount`, and then neither.

Rule (dTS of Raj & Kalyani 2017), with rewards r = 1 - loss: a round draws
    theta(a) ~ Beta(prior + S(a), prior + F(a))                                         (1)
for every arm and plays the largest; a reward r changes the sums of all arms,
    S(a) <- gamma S(a) + 1{a = a_t} r,  F(a) <- gamma F(a) + 1{a = a_t} (1 - r)         (2)
so the law of an arm that is not played widens towards the prior until it is tried again.

    paper's symbol      name here
    gamma               gamma, the `discount`
    S_k, F_k            successes(a) / w, failures(a) / w, w = gamma^-age (discounting.py)
    alpha_0, beta_0     prior

Guarantee: none by its authors, who have simulations. (H. Qi, Y. Wang, L. Zhu, "Discounted Thompson sampling for
non-stationary bandit problems", arXiv:2305.10718, 2023, bound one with Gaussian priors by order sqrt(S T).)
Departures from the paper: it leaves the discount to the user; without one it is that of discounted UCB,
gamma = 1 - sqrt(S/T)/4, which forgets at the same speed. Rewards between 0 and 1 are counted in parts, as in
thompson_sampling.py. With S = 0, or discount = 1, it is Thompson sampling, draw by draw. Time is the number of tells:
late losses count as new ones, and nothing fades while none comes.
What is served has no closed form, so decisions have no propensity. Asks between tells draw anew each.
Cost per round: O(K), one Beta variate per arm (beta.py).
Reference: V. Raj, S. Kalyani, "Taming non-stationary bandits: a Bayesian approach", arXiv:1707.09727 (2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from turncoat.learners.base import Facts, Learner, Option, State, array, jit_rule, register_learner
from turncoat.learners.parts.beta import ask_largest
from turncoat.learners.parts.discounting import discount_for, grow_older, parse_discount, weight
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_prior, parse_switches
from turncoat.validation.numbers import MOST_ROUNDS


class DiscountedThompsonState(State):
    """The discount and the prior, and the sums as they would be had nothing faded for `age` rounds."""

    K: int
    gamma: float
    prior: float
    age: Vector = array(1)
    successes: Vector = array("K")
    failures: Vector = array("K")


@jit_rule
def ask(state: DiscountedThompsonState) -> tuple[int, None]:
    """The arm whose draw is the largest."""
    return ask_largest(state, 1.0 / weight(state.gamma, state.age[0]))  # (1)


@jit_rule
def tell(state: DiscountedThompsonState, choice: tuple[int, Any], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    state.clock[0] += 1
    w = grow_older(state.gamma, state.age, state.successes, state.failures)  # (2)
    state.successes[choice[0]] += w * (1.0 - loss)
    state.failures[choice[0]] += w * loss


register_learner(DiscountedThompsonState, ask=ask, tell=tell)


class DiscountedThompson(Learner):
    """Discounted Thompson sampling: Thompson sampling that forgets, for stochastic losses whose means change.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; not needed with a `discount`. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `n_switches`: S, how often the best arm
    changes; None is tuned as for 1. `discount`: what a sample counts a round later; by default from S and T. `prior`:
    how many good rounds, and as many bad ones, every arm starts with. The rule:
    help("turncoat.learners.stochastic.discounted_thompson").
    """

    name = "discounted-thompson"
    facts = Facts(
        "needed",
        "wanted",
        "none",
        "K",
        setting="stochastic",
        when="means drift or jump about S times and nothing is to be tuned",
        when_not="a bound or propensities are needed: discounted-ucb",
    )
    state_type = DiscountedThompsonState
    uses_propensity = False
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    discount = Option[float]("gamma, the factor by which a sample is discounted per round.")
    prior = Option[float]("How many good rounds, and as many bad ones, every arm starts with.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        discount: float | None = None,
        prior: float = 1.0,
    ) -> None:
        needed_by = "DiscountedThompson without discount=" if discount is None else None
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        K, T = self.n_arms, self.horizon
        self.prior = parse_prior(prior)
        self.n_switches = parse_switches(n_switches, T or MOST_ROUNDS)
        self.discount = parse_discount(discount, discount_for(T or 1, self.n_switches))
        self.start(K=K, gamma=self.discount, prior=self.prior)

    @property
    def posteriors(self) -> Matrix:
        """(K, 2): the two numbers of every arm's Beta law, for good and for bad rounds."""
        state = self.view()
        shrink = 1.0 / weight(state.gamma, state.age[0])
        return self.prior + np.column_stack([state.successes, state.failures]) * shrink
