"""Decisions: what `ask_many` returns and `tell_many` takes, several decisions as columns of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from turncoat.decision import Decision
from turncoat.types import Ints, Label, Matrix, Vector

N_COLUMNS = 5  # index, propensity, and for masters base, master and base probability
INDEX, PROPENSITY = 0, 1


class Decisions:
    """Several decisions of one learner. `decisions[i]` is one of them; slices, lists and masks give fewer.

    `rows` has what their updates will need, a row for each, and is not to be written to. All of them have the same m,
    and were chosen from the same `allowed` arms.
    """

    __slots__ = ("_labels", "_says", "allowed", "ids", "learner", "m", "rows")

    def __init__(
        self,
        rows: Matrix,
        ids: Ints,
        labels: list[Label],
        learner: str,
        allowed: tuple[int, ...] | None = None,
        m: int = 1,
        says: tuple[bool, bool] = (True, False),  # propensities, bases
    ) -> None:
        rows.flags.writeable = ids.flags.writeable = False
        self.rows, self.ids, self._labels = rows, ids, labels
        self.learner, self.allowed, self.m, self._says = learner, allowed, m, says

    @property
    def arms(self) -> list[Label]:
        """The label of the arm of each."""
        return [self._labels[index] for index in self.indices.tolist()]

    @property
    def indices(self) -> Ints:
        """The index of the arm of each."""
        return self.rows[:, INDEX].astype(np.int64)

    @property
    def propensities(self) -> Vector | None:
        """The probability with which the arm of each was served; None if the learner cannot say."""
        return self.rows[:, PROPENSITY].copy() if self._says[0] else None

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, which: Any) -> Any:
        if np.ndim(which) == 0 and not isinstance(which, slice):
            return self._decision(int(self.ids[which]), *self.rows[which].tolist())
        if isinstance(which, list) and not which:
            which = slice(0)
        return Decisions(
            self.rows[which], self.ids[which], self._labels, self.learner, self.allowed, self.m, self._says
        )

    def _decision(self, number: int, index: float, q: float, base: float, p_h: float, p_arm: float) -> Decision:
        k = int(index)
        of_master = (int(base), p_h, p_arm) if self._says[1] else (None, None, None)
        propensity = q if self._says[0] else None
        return Decision._make((self._labels[k], k, propensity, *of_master, self.learner, number, self.allowed, self.m))

    def __repr__(self) -> str:
        return f"<{len(self)} decisions of learner {self.learner}, m={self.m}>"
