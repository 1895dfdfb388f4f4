"""Uniform: play every arm with equal probability, learn nothing. The yardstick for what learning is worth.

Setting: needs neither T nor S.

Rule: p(a) = 1/K in every round.

Guarantee: none; its regret against any path is (mean loss of all arms) - (mean loss of the path), times T.
Departures from the paper: none. Cost per round: O(1).
Reference: the exploration step of P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed
bandit problem", SIAM J. Comput. 32 (2002), played alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.learner import Facts, Learner
from turncoat.random import uniform
from turncoat.types import Ints, Label, Seed, Vector, Words


class UniformState(NamedTuple):
    """Random words, the clock, and the number of arms."""

    rng: Words
    clock: Ints
    K: int


@jit_rule
def view(buffer: Vector) -> UniformState:
    """Name the parts of the buffer."""
    return UniformState(rng_of(buffer), clock_of(buffer), int(buffer[HEAD]))


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


register_learner(UniformState, view=view, ask=ask, tell=tell, probability=probability)


class Uniform(Learner):
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
        when="as a yardstick: who is not clearly better has learned nothing",
        when_not="to choose well: start with turncoat",
    )
    state_type = UniformState
    uses_horizon = False
    uses_propensity = False
    stability = "kept"

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.start([self.n_arms], n_more=0)
