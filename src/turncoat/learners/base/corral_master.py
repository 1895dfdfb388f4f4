"""What Corral and Stochastic Corral share: a master by mirror descent with a log-barrier, whose rates grow.

Its state has, beside what every generic master's has (generic_master.py),

    served   what the next base is drawn from: p with a share g of uniform exploration
    eta      the master's rate for each base        g, beta   1/T, and what a rate grows by
    rho      the largest 1/served(j) allowed for    room      K zeros (`probability_of`)

Equation numbers are those of corral.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from turncoat import kim_yun
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.base_stack import chance_of
from turncoat.learners.base.declarations import Option, Shown, copied
from turncoat.learners.base.generic_master import GenericMaster
from turncoat.learners.base.saved_state import Checks
from turncoat.mirror.log_barrier import step_one_hot
from turncoat.validation.numbers import parse_positive

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
        q += state.served[j] * chance_of(state, j, arm, state.room)
    return min(q, 1.0)  # rounding must not serve more than certainty


@jit_rule
def step_master(state: Any, i: int, estimate: float) -> bool:
    """(3), and (4) for base i, whose p alone can have fallen. Returns whether its rho grew."""
    M = state.p.size
    step_one_hot(state.p, i, estimate, state.eta, 0.0)  # (3)
    for j in range(M):
        state.served[j] = min((1.0 - state.g) * state.p[j] + state.g / M, 1.0)  # (1)
    if state.served[i] * state.rho[i] >= 1.0:
        return False
    state.rho[i] = 2.0 / state.served[i]  # (4)
    state.eta[i] *= state.beta
    return True


class CorralMaster(GenericMaster):
    """A generic master with this step. Made by its subclasses only."""

    rate = Option[float]("The master's first learning rate, eta.")
    master_probabilities = Shown(
        copied, "How much each base is trusted: the distribution the next base is drawn from (M,).", "served"
    )
    master_rates = Shown(copied, "The master's learning rate for each base, eta (M,).", "eta")
    rho = Shown(copied, "The largest weight that each base's losses can have had (M,).")

    def _start_master(self, T: int, rate: float | None, **constants: Any) -> None:
        """Begin: all bases alike, at this rate, or at what is right for T rounds."""
        M = len(self._fresh)
        default = master_rate(T, self.n_arms, M)
        self.rate = default if rate is None else parse_positive("rate", rate, MOST_RATE)
        state = self._start_generic_master(g=1.0 / kim_yun.rounds(T), beta=kim_yun.growth_2(T), **constants)
        state.p[:] = state.served[:] = 1.0 / M
        state.eta[:] = self.rate
        state.rho[:] = 2.0 * M

    def _checks(self) -> Checks:
        state, first = self.view(), 2.0 * len(self._fresh)
        yield min(state.served.min(), state.eta.min()) <= 0.0, "served or eta holds a value that is not above 0"
        far = state.rho.min() < first or state.rho.max() > first / state.g * (1.0 + 1e-6)
        yield far, "rho holds a value that no probability leads to"
        doublings = np.log2(state.rho / first)  # each time rho grows, it doubles at least
        yield np.any(state.eta > self.rate * state.beta ** (doublings + 1e-6)), "eta grew more often than rho"
        yield from super()._checks()
