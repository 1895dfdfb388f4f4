"""What the two masters of Kim & Yun share: drawing a base and its arm, feedback to the bases, properties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from turncoat import kim_yun
from turncoat._compile.choices import write_choice
from turncoat._compile.dispatch import ask, view_of
from turncoat._compile.jit import jit, jit_entry, jit_rule, without_refcount
from turncoat.learners.base.buffer import BufferKernels, Served, master_kernels
from turncoat.learners.base.declarations import Option, Shown, copied
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.omd_bases import distributions, draw, mixture, probability, start, update
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.random import uniform
from turncoat.types import Label, Matrix, Seed, Vector

Feedback: TypeAlias = Literal["own", "shared"]
Projection: TypeAlias = Literal["exact", "mixing"]
FEEDBACKS = ("own", "shared")
PROJECTIONS = ("exact", "mixing")

# (arm, base, p(base), p_base(arm), q(arm)); q is 0 under own feedback, which never looks at the mixture
Choice: TypeAlias = tuple[int, int, float, float, float]


@jit
def pick(p: Vector, u: float) -> int:
    """The base whose slice of the cumulative distribution holds u; branch-free, so that no branch is mispredicted.

    What rounding leaves of the sum goes to the last base; no base has probability 0.
    """
    below = 0.0
    n_below = 0
    for h in range(p.size - 1):
        below += p[h]
        n_below += 1 if u >= below else 0
    return n_below


@jit_rule
def choose(state: Any) -> Choice:
    """Draw a base from p, then an arm from the base."""
    h = pick(state.p, uniform(state.rng))
    arm = draw(state, h, state.rng)
    q = mixture(state, state.p, arm) if state.shared else 0.0
    return arm, h, state.p[h], probability(state, h, arm), q


@jit_rule
def learn(state: Any, choice: Choice, loss: float) -> float:
    """The bases learn; returns loss/q under shared feedback, and loss/p(base) under own.

    Under shared feedback all bases do, and `charges` become what each would have lost on average; under own, only the
    base that was drawn.
    """
    arm, drawn, p_drawn, p_arm, q = choice
    if state.shared:
        estimate = importance_weighted(loss, q)
        for h in range(state.p.size):
            state.charges[h] = probability(state, h, arm) * estimate
            update(state, h, arm, state.xi[h] * estimate)
        return estimate
    estimate = importance_weighted(loss, p_drawn)
    update(state, drawn, arm, state.xi[drawn] * importance_weighted(estimate, p_arm))
    return estimate


@jit_rule
def soften(state: Any) -> None:
    """What is served under mixing: p = (1 - H alpha) · inner + alpha."""
    H = state.p.size
    for h in range(H):
        state.p[h] = min((1.0 - H * state.alpha) * state.inner[h] + state.alpha, 1.0)


@jit_rule
def marginal(state: Any, arm: int) -> float:
    """q(arm): what a user is served, whichever base decides."""
    return mixture(state, state.p, arm)


def kim_yun_kernels(State: Any) -> BufferKernels:
    """The kernels of these masters: those of every master, but for the marginal, which shared feedback knows."""

    @jit_entry
    def ask_kernel(buffer: Vector) -> Served:
        state = view_of(State, without_refcount(buffer))
        arm, h, p_h, p_arm, q = ask(state)
        return arm, q if state.shared else marginal(state, arm), h, p_h, p_arm

    @jit_entry
    def ask_many_kernel(buffer: Vector, plan: Vector, m: float, rows: Matrix) -> None:
        state, rows = view_of(State, without_refcount(buffer)), without_refcount(rows)
        for i in range(rows.shape[0]):
            arm, h, p_h, p_arm, q = ask(state)
            write_choice(rows[i], (arm, q if state.shared else marginal(state, arm), h, p_h, p_arm))

    return master_kernels(State)._replace(ask=ask_kernel, ask_many=ask_many_kernel)


class Master(Learner):
    """A learner that chooses among bases, each tuned to a candidate number of switches."""

    signed = ("scores", "base_scores")
    _has_bases = True
    _kernels_of = staticmethod(kim_yun_kernels)
    feedback = Option[Feedback](
        'Which bases learn from a round: the one that decided ("own"), or all ("shared").', FEEDBACKS
    )
    projection = Option[Projection]('How distributions are kept off zero: "exact", or by "mixing".', PROJECTIONS)
    master_probabilities = Shown(
        copied, "How much each base is trusted: the distribution the next base is drawn from (H,).", "p"
    )
    master_rates = Shown(copied, "The master's learning rate for each base, eta (H,).", "eta")
    base_rates = Shown(copied, "The learning rate of each base, xi (H,).", "xi")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        feedback: Feedback = "own",
        projection: Projection = "exact",
    ) -> None:
        self.feedback, self.projection = feedback, projection
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        T = int(self.horizon or 1)
        self._candidates = kim_yun.candidates(T)
        self._begin(self.n_arms, T)

    def _begin(self, K: int, T: int) -> None:
        raise NotImplementedError

    def _start_master(self, **numbers: Any) -> Any:
        """Lay out the buffer, master and bases uniform; the state, whose rates are still to be set."""
        K, H = self.n_arms, len(self._candidates)
        shared, mixing = self.feedback == "shared", self.projection == "mixing"
        state = self.start(K=K, ways=H, shared=shared, mixing=mixing, **numbers)
        state.inner[:] = 1.0 / H
        state.p[:] = 1.0 / H
        start(state)
        return state

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        if self.feedback == "own":
            raise self._no_observe('own feedback needs the base that decided; use feedback="shared"')
        return self._tell(self._buffer, index, loss, propensity, 0, 1.0, 1.0)

    @property
    def candidates(self) -> Vector:
        """The numbers of switches the bases are tuned to (H,)."""
        return np.array(self._candidates)

    @property
    def base_probabilities(self) -> Matrix:
        """Each base's distribution over the arms (H, K)."""
        served = np.empty((len(self._candidates), self.n_arms))
        distributions(self.view(), served)
        return served
