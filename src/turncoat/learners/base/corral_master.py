"""What Corral and Stochastic Corral share: a master by mirror descent with a log-barrier, whose rates grow.

Its state has, beside what every keeper's has (generic_master.py),

    served   what the next base is drawn from: p with a share g of uniform exploration
    eta      the master's rate for each base        g, beta   1/T, and what a rate grows by
    rho      the largest 1/served(j) allowed for    room      K zeros (`probability_of`)

Equation numbers are those of corral.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from turncoat import kim_yun
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.base_stack import chance_of
from turncoat.learners.base.generic_master import Keeper
from turncoat.mirror.log_barrier import step_one_hot
from turncoat.types import Label, Seed, Vector
from turncoat.validation.games import parse_positive

MOST_RATE = 1.0


def master_rate(T: int, K: int, M: int) -> float:
    """eta = sqrt(M/(KT)): what balances the bound for bases whose regret is of order sqrt(KT)."""
    return min(math.sqrt(M / (K * kim_yun.rounds(T))), MOST_RATE)


@jit_rule
def marginal(state: Any, arm: int) -> float:
    """q(arm): what a user is served, whichever base decides."""
    if state.K == 1:
        return 1.0
    q = 0.0
    for j in range(state.served.size):
        q += state.served[j] * chance_of(state.herd, j, arm, state.room)
    return min(q, 1.0)  # rounding must not serve more than certainty


@jit_rule
def step_master(state: Any, i: int, estimate: float) -> bool:
    """(3), and (4) for base i, for all others rose. Did its rho grow?"""
    M = state.p.size
    step_one_hot(state.p, i, estimate, state.eta, 0.0)  # (3)
    for j in range(M):
        state.served[j] = min((1.0 - state.g) * state.p[j] + state.g / M, 1.0)  # (1)
    if state.served[i] * state.rho[i] >= 1.0:
        return False
    state.rho[i] = 2.0 / state.served[i]  # (4)
    state.eta[i] *= state.beta
    return True


class BarrierKeeper(Keeper):
    """A keeper with such a master. Made by its subclasses only."""

    _rate: float

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None,
        seed: Seed,
        loss_range: Sequence[float],
        bases: Any,
        copies: int = 1,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, bases, copies, needed_by=type(self).__name__)

    def _start_master(self, numbers: Sequence[float], n_more: int, T: int, rate: float | None) -> None:
        """Begin: all bases alike, at this rate, or at what is right for T rounds."""
        M = len(self._fresh)
        default = master_rate(T, self.n_arms, M)
        self._rate = default if rate is None else parse_positive("rate", rate, MOST_RATE)
        state = self._start_keeper(numbers, n_more)
        state.p[:] = state.served[:] = 1.0 / M
        state.eta[:] = self._rate
        state.rho[:] = 2.0 * M

    def _damage(self) -> str:
        state, first = self.view(), 2.0 * len(self._fresh)
        if min(state.served.min(), state.eta.min()) <= 0.0:
            return "served or eta holds a value that is not above 0"
        if state.rho.min() < first or state.rho.max() > first / state.g * (1.0 + 1e-6):
            return "rho holds a value that no probability leads to"
        doublings = np.log2(state.rho / first)  # each time rho grows, it doubles at least
        if np.any(state.eta > self._rate * state.beta ** (doublings + 1e-6)):
            return "eta grew more often than rho"
        return super()._damage()

    @property
    def rate(self) -> float:
        """The master's first learning rate, eta."""
        return self._rate

    @property
    def master_probabilities(self) -> Vector:
        """How much each base is trusted: the distribution the next base is drawn from (M,)."""
        return np.array(self.view().served)

    @property
    def master_rates(self) -> Vector:
        """The master's learning rate for each base, eta (M,)."""
        return np.array(self.view().eta)

    @property
    def rho(self) -> Vector:
        """The largest weight that each base's losses can have had (M,)."""
        return np.array(self.view().rho)
