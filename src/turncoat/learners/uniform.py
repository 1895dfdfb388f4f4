"""Uniform: play every arm with equal probability, learn nothing. The yardstick for what learning is worth.

Setting: needs neither T nor S.

Rule: p(a) = 1/K in every round.

Guarantee: none; its regret against any path is (mean loss of all arms) - (mean loss of the path), times T.
Departures from the paper: none. Cost per round: O(1).
Reference: the exploration step of P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed
bandit problem", SIAM J. Comput. 32 (2002), played alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turncoat._jit import borrow, jit, jit_rule, register_learner
from turncoat.learners.learner import CLOCK, HEAD, Facts, Learner, Served
from turncoat.rng import uniform
from turncoat.types import Ints, Label, Seed, Vector, Words


class UniformState(NamedTuple):
    """Random words, the clock, and the number of arms."""

    rng: Words
    clock: Ints
    K: int


@jit_rule
def view(buffer: Vector) -> UniformState:
    """Name the parts of the buffer."""
    return UniformState(buffer[:CLOCK].view(np.uint64), buffer[CLOCK:HEAD].view(np.int64), int(buffer[HEAD]))


@jit_rule
def ask(state: UniformState) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    return min(int(uniform(state.rng) * state.K), state.K - 1), 1.0 / state.K


@jit_rule
def tell(state: UniformState, choice: tuple[int, float], loss: float) -> None:
    """Count the round."""
    state.clock[0] += 1


@jit
def ask_flat(buffer: Vector) -> Served:
    """`ask` on the buffer itself: (index, probability), and no base."""
    arm, served = ask(view(borrow(buffer)))
    return arm, served, None, None, None


@jit
def tell_flat(buffer: Vector, index: int, loss: float, propensity: float) -> int:
    """`tell` on the buffer itself: the new clock, or -1 for a choice that cannot be."""
    state = view(borrow(buffer))
    if not 0 <= index < state.K:
        return -1
    tell(state, (index, propensity), loss)
    return int(state.clock[0])


@jit
def probabilities_flat(buffer: Vector, out: Vector) -> None:
    """The distribution the next ask draws from."""
    for arm in range(out.size):
        out[arm] = 1.0 / out.size


register_learner(UniformState, ask=ask, tell=tell)


class Uniform(Learner):
    """Every arm with equal probability: needs nothing, learns nothing. The yardstick for what learning is worth.

    `arms`: a count, or distinct labels. `horizon`: taken like every learner's, and not used. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told.
    """

    name = "uniform"
    facts = Facts("unused", "unused", "none", "1")
    _view = staticmethod(view)
    _ask = staticmethod(ask_flat)
    _tell = staticmethod(tell_flat)
    _probabilities = staticmethod(probabilities_flat)

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self._start([self.n_arms], n_more=0)

    def _settle(self) -> None:
        self._warn_after = math.inf  # nothing in it depends on the horizon
