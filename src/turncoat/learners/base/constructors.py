"""Constructors that several learners share. A learner of such a class lays out its buffer in `_begin`."""

from __future__ import annotations

from collections.abc import Sequence

from turncoat.learners.base.declarations import Option
from turncoat.learners.base.learner import Learner
from turncoat.types import Label, Seed
from turncoat.validation.games import parse_switches


class WithoutOptions(Learner):
    """A learner that has no option of its own and goes without a horizon. Made by its subclasses only."""

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self._begin(self.n_arms, self.horizon)

    def _begin(self, K: int, T: int | None) -> None:
        raise NotImplementedError


class ToldSwitches(Learner):
    """A learner that needs a horizon, takes S, and has no other option. Made by its subclasses only."""

    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        T = int(self.horizon or 1)
        self.n_switches = parse_switches(n_switches, T)
        self._begin(self.n_arms, T, self.n_switches)

    def _begin(self, K: int, T: int, S: int | None) -> None:
        raise NotImplementedError
