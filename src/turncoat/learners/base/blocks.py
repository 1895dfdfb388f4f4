"""Learners that play in blocks of a fixed number of tells, and begin anew after each.

What was decided in one block and is told in a later one says nothing about the run that is on: it is dropped, and
counted. A round reported through `observe` has no decision, and counts as one of now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from turncoat.learners.base.learner import Learner
from turncoat.types import Decision, Label, Vector
from turncoat.validation.games import unit_loss

N_MARKS = 3
_RUN, _FIRST, _DROPPED = range(N_MARKS)


class BlockLearner(Learner):
    """A learner in blocks. Made by its subclasses only, which set `_block` and keep N_MARKS numbers for the marks:

    the run last looked at, the first decision that was asked in it, and how many tells were dropped. They stand in the
    buffer right behind the constants.
    """

    _block: int

    @property
    def block(self) -> int:
        """After how many tells it begins anew."""
        return self._block

    @property
    def n_dropped(self) -> int:
        """How many tells came after a restart that their decision was made before, and were not learned from."""
        return int(self._marks[_DROPPED])

    @property
    def _marks(self) -> Vector:
        return self._buffer[self._constants.stop : self._constants.stop + N_MARKS]

    def _look(self) -> Vector:
        """If there was a restart since it last looked, what was decided up to now is of an earlier run."""
        marks, run = self._marks, self.n_told // self._block
        if run != marks[_RUN]:
            marks[_RUN] = run
            marks[_FIRST] = self._next_id
        return marks

    def ask(self, *, allowed: Iterable[Label] | None = None) -> Decision:
        """Choose an arm. Tell what it cost before the next restart, in any order, or forget it."""
        self._look()
        return super().ask(allowed=allowed)

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
