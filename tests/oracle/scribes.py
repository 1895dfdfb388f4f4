"""Learners that play every arm alike and write down what they are told, to see what a master feeds its bases."""

from __future__ import annotations

from collections.abc import Sequence

import turncoat as tc
from turncoat.learners import State, array, jit_rule, register_learner
from turncoat.learners.base.declarations import Facts
from turncoat.random import uniform
from turncoat.types import Label, Seed, Vector


class ScribeState(State):
    """The sum of the losses told, and how many they were."""

    K: int
    told: Vector = array(2)


@jit_rule
def probability(state: ScribeState, arm: int) -> float:
    return 1.0 / state.K


@jit_rule
def ask(state: ScribeState) -> tuple[int, float]:
    return min(int(uniform(state.rng) * state.K), state.K - 1), 1.0 / state.K


@jit_rule
def tell(state: ScribeState, choice: tuple[int, float], loss: float) -> None:
    state.clock[0] += 1
    state.told[0] += loss
    state.told[1] += 1.0


register_learner(ScribeState, ask=ask, tell=tell, probability=probability)


class Scribe(tc.Learner):
    """Fed losses in [0, 1], and restarted."""

    name = "scribe"
    facts = Facts("unused", "unused", "none", "1", "adversarial", "in tests", "elsewhere")
    state_type = ScribeState

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.start(K=self.n_arms)


class StableScribe(Scribe):
    """Fed losses of any size, and never restarted."""

    name = "stable-scribe"
    stability = "kept"
