"""Learners that play in blocks of a fixed number of tells, and begin anew after each.

A decision of one block that is told in a later one says nothing about the present run: it is dropped and counted. A
round reported through `observe` has no decision, and counts as one of the present block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from turncoat.decision import Decision
from turncoat.learners.base.declarations import Option
from turncoat.learners.base.learner import Learner
from turncoat.types import Label, Vector
from turncoat.validation.games import unit_loss

N_MARKS = 3
_RUN, _FIRST, _DROPPED = range(N_MARKS)


class BlockLearner(Learner):
    """A learner in blocks. Made by its subclasses only, which set `block` and have a field `marks` of N_MARKS numbers:

    the run last looked at, the first decision that was asked in it, and how many tells were dropped.
    """

    block = Option[int]("After how many tells it begins anew.")

    @property
    def n_dropped(self) -> int:
        """How many tells came after a restart that their decision was made before, and were not learned from."""
        return int(self._marks[_DROPPED])

    def _settle(self) -> None:
        super()._settle()
        self._marks: Vector = self.view().marks

    def _look(self) -> Vector:
        """Notice a restart: decisions made before it belong to an earlier run."""
        marks, run = self._marks, self.n_told // self.block
        if run != marks[_RUN]:
            marks[_RUN] = run
            marks[_FIRST] = self._next_id
        return marks

    @property
    def by_kernels(self) -> bool:
        """No: a tell looks at when its decision was made."""
        return False

    def asked_in_loop(self, n: int, *, at_once: bool) -> None:
        """A compiled loop has asked n times, and told each at once: note the restarts that it saw."""
        super().asked_in_loop(n, at_once=at_once)
        run, since = divmod(self.n_told - 1, self.block)
        if n and run != self._marks[_RUN]:
            self._marks[_RUN] = run
            self._marks[_FIRST] = self._next_id - since - 1

    def ask(self, *, allowed: Iterable[Label] | None = None, m: int | None = None) -> Decision:
        """Choose an arm. Tell what it cost before the next restart, in any order, or forget it."""
        self._look()
        return super().ask(allowed=allowed, m=m)

    def tell(self, decision: Decision, loss: float | None = None, *, reward: float | None = None) -> None:
        """Learn what a decision cost: a loss or reward inside `loss_range`. Dropped if there was a restart since."""
        marks = self._look()
        if self._is_outstanding(decision) and decision.id < marks[_FIRST]:
            unit_loss(loss, reward, self._low, self._high)  # refused as ever
            self._outstanding.discard(decision.id)
            marks[_DROPPED] += 1
            return
        warn_after, self._warn_after = self._warn_after, math.inf  # the warning is given from here, a frame higher
        try:
            super().tell(decision, loss, reward=reward)
        finally:
            self._warn_after = warn_after
        if self.n_told > self._warn_after:
            self._warn_past_horizon()
