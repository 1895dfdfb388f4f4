"""Full information: learners that are told the losses of all arms after each round.

They ask, save and play like every learner. What differs is the feedback: `tell(decision, losses)`, one number per arm,
and `observe(losses)` for a round decided elsewhere. Their state has a field `losses`, K numbers: the losses of the
round, in [0, 1], are put there and the rule is told them there, so that a compiled game allocates nothing.

They are the yardstick for what bandit feedback costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from turncoat._compile.dispatch import tell, view_of
from turncoat._compile.jit import jit_entry, without_refcount
from turncoat._compile.state import HEAD
from turncoat.decision import Decision
from turncoat.errors import LossError, LossTypeError, ObserveError
from turncoat.learners.base.buffer import BufferKernels, buffer_kernels, no_kernel
from turncoat.learners.base.learner import Learner
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.types import Vector
from turncoat.validation.games import unit_losses

Losses = Sequence[float] | NDArray[Any]


def full_information_kernels(State: Any) -> BufferKernels:
    """The kernels of learners that are told all losses."""

    @jit_entry
    def tell_kernel(buffer: Vector, index: int, losses: Vector, propensity: float) -> int:
        if not (0 <= index < buffer[HEAD] and is_probability(propensity)):
            return -1
        state = view_of(State, without_refcount(buffer))
        for arm in range(state.losses.size):
            state.losses[arm] = losses[arm]
        tell(state, (index, propensity), state.losses)
        return int(state.clock[0])

    return buffer_kernels(State)._replace(tell=tell_kernel, tell_many=no_kernel)


class FullInformationLearner(Learner):
    """A learner that is told the losses of all arms. Made by its subclasses only."""

    uses_propensity = False
    sees_all = True
    _kernels_of = staticmethod(full_information_kernels)

    def tell(  # type: ignore[override]  # other feedback than a bandit's
        self, decision: Decision, losses: Losses | None = None, *, rewards: Losses | None = None, **of_one_arm: Any
    ) -> None:
        """Learn what every arm would have cost: K losses, or `rewards`, inside `loss_range`. Each decision once."""
        if not self._is_outstanding(decision):
            raise self._refusal(decision)
        if of_one_arm:
            raise LossTypeError(f"{self._needs_all()}: tell(decision, losses)")
        unit = unit_losses(losses, rewards, self.n_arms, self._low, self._high)
        _, index, q, base, *_, allowed, m = decision
        known = index.__class__ is int and -1 < index < self.n_arms and isinstance(q, float)
        known = known and base is None and allowed is None and m == 1
        clock = self._tell(self._buffer, index, unit, q) if known else -1
        if clock < 0:
            raise self._altered(decision)
        self._outstanding.discard(decision.id)
        if clock > self._warn_after:
            self._warn_past_horizon()

    def observe(  # type: ignore[override]
        self, losses: Losses | None = None, *of_one_arm: Any, rewards: Losses | None = None, **words: Any
    ) -> None:
        """Learn from a round decided elsewhere: K losses, or `rewards`."""
        if of_one_arm or words:
            raise ObserveError(f"{self._needs_all()}: observe(losses)")
        unit = unit_losses(losses, rewards, self.n_arms, self._low, self._high)
        clock = self._tell(self._buffer, 0, unit, 1.0)
        if clock > self._warn_after:
            self._warn_past_horizon()

    def _checked(self, losses: Any, rewards: Any, n: int) -> list[Any]:
        if (losses is None) == (rewards is None):
            raise LossTypeError("give either losses= or rewards=, and only one of them")
        told = list(losses if rewards is None else rewards)
        if len(told) != n:
            raise LossError(f"the losses or rewards of {len(told)} rounds were given; accepted are those of {n}")
        for row in told:
            given = (row, None) if rewards is None else (None, row)
            unit_losses(given[0], given[1], self.n_arms, self._low, self._high)
        return told

    def _needs_all(self) -> str:
        return f"{type(self).__name__} learns from the losses of all {self.n_arms} arms, that of one is not enough"
