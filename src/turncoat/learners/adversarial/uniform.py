"""Uniform: play every arm with equal probability, learn nothing. The yardstick for what learning is worth.

Setting: needs neither T nor S.

Rule: p(a) = 1/K in every round.

Guarantee: none; its regret against any path is (mean loss of all arms) - (mean loss of the path), times T.
Departures from the paper: none. Cost per round: O(1).
Reference: the exploration step of P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed
bandit problem", SIAM J. Comput. 32 (2002), played alone.
"""

from __future__ import annotations

from turncoat.learners.base import Facts, State, jit_rule, register_learner
from turncoat.learners.base.constructors import WithoutOptions
from turncoat.random import uniform


class UniformState(State):
    """Random words, the clock, and the number of arms."""

    K: int


@jit_rule
def probability(state: UniformState, arm: int) -> float:
    """p(arm)."""
    return 1.0 / state.K


@jit_rule
def ask(state: UniformState) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    return min(int(uniform(state.rng) * state.K), state.K - 1), probability(state, 0)


@jit_rule
def tell(state: UniformState, choice: tuple[int, float], loss: float) -> None:
    """Count the round."""
    state.clock[0] += 1


register_learner(UniformState, ask=ask, tell=tell, probability=probability)


class Uniform(WithoutOptions):
    """Every arm with equal probability: needs nothing, learns nothing. The yardstick for what learning is worth.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told.
    """

    name = "uniform"
    facts = Facts(
        "unused",
        "unused",
        "none",
        "1",
        setting="adversarial",
        when="as a yardstick: a learner that is not clearly better has learned nothing",
        when_not="to choose well: start with turncoat",
    )
    state_type = UniformState
    uses_horizon = False
    uses_propensity = False
    stability = "kept"

    def _begin(self, K: int, T: int | None) -> None:
        self.start(K=K)
