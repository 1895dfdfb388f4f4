"""What the two masters of Kim & Yun share: drawing a base and an arm, feeding the bases, and showing themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from turncoat import kim_yun
from turncoat._compile.dispatch import ask, tell, view_of, write_probabilities
from turncoat._compile.jit import borrow, jit, jit_rule
from turncoat.learners.base.buffer import HEAD, Flat, Served
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.omd_bases import bases_size, distributions, draw, mixture, probability, start, update
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.random import uniform
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_word

Feedback: TypeAlias = Literal["own", "shared"]
Projection: TypeAlias = Literal["exact", "mixing"]
FEEDBACKS = ("own", "shared")
PROJECTIONS = ("exact", "mixing")

# (arm, base, p(base), p_base(arm), q(arm)); q is 0 under own feedback, which never looks at the mixture
Choice: TypeAlias = tuple[int, int, float, float, float]


@jit
def pick(p: Vector, u: float) -> int:
    """The base whose slice of the cumulative distribution holds u; without a branch that could be guessed wrong.

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
    arm = draw(state.bases, h, state.rng)
    q = mixture(state.bases, state.p, arm) if state.shared else 0.0
    return arm, h, state.p[h], probability(state.bases, h, arm), q


@jit_rule
def learn_own(state: Any, h: int, arm: int, estimate: float) -> None:
    """Only the base that was drawn learns."""
    update(state.bases, h, arm, state.xi[h] * estimate)


@jit_rule
def learn_shared(state: Any, arm: int, estimate: float) -> None:
    """Every base learns, and is charged to the master for what it would have lost on average."""
    for h in range(state.p.size):
        state.charges[h] = probability(state.bases, h, arm) * estimate
        update(state.bases, h, arm, state.xi[h] * estimate)


@jit_rule
def soften(state: Any) -> None:
    """What is served under mixing: p = (1 - H alpha) · inner + alpha."""
    H = state.p.size
    for h in range(H):
        state.p[h] = min((1.0 - H * state.alpha) * state.inner[h] + state.alpha, 1.0)


@jit_rule
def marginal(state: Any, arm: int) -> float:
    """q(arm): what a user is served, whichever base decides."""
    return mixture(state.bases, state.p, arm)


def flat_master(State: Any) -> Flat:
    """The kernels of a master on its buffer; beside index and marginal, the base, p(base) and p_base(index)."""

    @jit
    def ask_flat(buffer: Vector) -> Served:
        state = view_of(State, borrow(buffer))
        arm, h, p_h, p_arm, q = ask(state)
        return arm, q if state.shared else marginal(state, arm), h, p_h, p_arm

    @jit
    def tell_flat(buffer: Vector, index: int, loss: float, q: float, h: int, p_h: float, p_arm: float) -> int:
        state = view_of(State, borrow(buffer))
        inside = 0 <= index < buffer[HEAD] and 0 <= h < state.p.size
        if not (inside and is_probability(p_h) and is_probability(p_arm) and is_probability(q)):
            return -1
        tell(state, (index, h, p_h, p_arm, q), loss)
        return int(state.clock[0])

    @jit
    def probabilities_flat(buffer: Vector, out: Vector) -> None:
        write_probabilities(view_of(State, borrow(buffer)), borrow(out))

    return Flat(ask_flat, tell_flat, probabilities_flat)


class Master(Learner):
    """A learner that chooses among bases, each tuned to a candidate number of switches."""

    signed = ("scores",)
    _has_bases = True
    _flat = staticmethod(flat_master)

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None,
        seed: Seed,
        loss_range: Sequence[float],
        feedback: Feedback,
        projection: Projection,
    ) -> None:
        parse_word("feedback", feedback, FEEDBACKS)
        parse_word("projection", projection, PROJECTIONS)
        self._feedback, self._projection = feedback, projection
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        self._candidates = kim_yun.candidates(int(self.horizon or 1))

    def _start_master(self, numbers: Sequence[float], n_vectors: int) -> Any:
        """Lay out the buffer, master and bases uniform; the view, whose rates are still to be set."""
        K, H = self.n_arms, len(self._candidates)
        shared, mixing = self.feedback == "shared", self.projection == "mixing"
        self.start([K, H, shared, mixing, *numbers], n_more=n_vectors * H + bases_size(H, K, mixing))
        state = self.view()
        state.inner[:] = 1.0 / H
        state.p[:] = 1.0 / H
        start(state.bases)
        return state

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        if self.feedback == "own":
            raise self._no_observe('own feedback needs the base that decided; use feedback="shared"')
        return self._tell(self._buffer, index, loss, propensity, 0, 1.0, 1.0)

    @property
    def feedback(self) -> Feedback:
        """Who learns from a round: the base that decided ("own"), or every base ("shared")."""
        return self._feedback

    @property
    def projection(self) -> Projection:
        """How distributions are kept off zero: "exact", or by "mixing"."""
        return self._projection

    @property
    def candidates(self) -> Vector:
        """The numbers of switches the bases are tuned to (H,)."""
        return np.array(self._candidates)

    @property
    def master_probabilities(self) -> Vector:
        """How much each base is trusted: the distribution the next base is drawn from (H,)."""
        return np.array(self.view().p)

    @property
    def base_probabilities(self) -> Matrix:
        """Each base's distribution over the arms (H, K)."""
        served = np.empty((len(self._candidates), self.n_arms))
        distributions(self.view().bases, served)
        return served

    @property
    def master_rates(self) -> Vector:
        """The master's learning rate for each base, eta (H,)."""
        return np.array(self.view().eta)

    @property
    def base_rates(self) -> Vector:
        """The learning rate of each base, xi (H,)."""
        return np.array(self.view().xi)
