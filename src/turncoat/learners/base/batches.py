"""Batches: `ask_many`, `tell_many` and `observe_many`, the verbs of a learner over arrays, in compiled code.

They give what as many calls of `ask`, `tell` and `observe` give, in order, to the bit. One exception: Turncoat plans
all asks of a batch for one m (docs/production.md). Bad input changes nothing: all rows are checked before the first is
learned. For a learner whose ask or tell is more than a kernel, that method is called once per row instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from turncoat.decisions import INDEX, N_COLUMNS, PROPENSITY, Decisions
from turncoat.errors import DecisionError, DecisionTypeError
from turncoat.learners.base.buffer import no_kernel
from turncoat.types import Label, Matrix, Vector
from turncoat.validation.columns import parse_indices, parse_propensities, unit_column
from turncoat.validation.numbers import parse_whole

MOST_AT_ONCE = 10**8
NO_PLAN: Vector = np.empty(0)

Rows = tuple[Matrix, tuple[int, ...] | None, int]  # what was decided; among which arms; how many pulls were planned


class BatchMethods:
    """The verbs over arrays. Base class of Learner; `self` is one."""

    _ask_many: Callable[..., Any]
    _tell_many: Callable[..., Any]

    @property
    def by_kernels(self) -> bool:
        """Are its ask, and its tell of a decision of any age, no more than their kernels?"""
        return True

    def ask_many(self: Any, n: int, *, allowed: Iterable[Label] | None = None, m: int | None = None) -> Decisions:
        """Choose n arms before a loss of theirs is known: `Decisions`, for `tell_many`.

        `allowed` and `m`: as in `ask`. By default Turncoat plans as many pulls as it waits for once all n are asked.
        """
        n = parse_whole("n", n, 0, MOST_AT_ONCE)
        rows, among, pulls = self._ask_rows(n, allowed, m)
        ids = np.arange(self._next_id - n, self._next_id)
        return Decisions(
            rows, ids, self._labels, self._token, among, pulls, says=(self._says_propensity, self._has_bases)
        )

    def tell_many(self: Any, decisions: Decisions, losses: Any = None, *, rewards: Any = None) -> None:
        """Learn what decisions cost: a loss for each, or a reward, inside `loss_range`. Each can be told once."""
        ids = self._known_ids(decisions)
        if not self.by_kernels or self._tell_many is no_kernel:
            self._tell_by_hand(decisions, losses, rewards)
            return
        clock = self._tell_rows(decisions, unit_column(losses, rewards, len(ids), self._low, self._high))
        if clock < 0:
            raise DecisionError(f"{decisions!r} have been altered: they are not what this learner decided")
        self._outstanding.difference_update(ids)
        self._note_tells(decisions.ids, clock)

    def observe_many(
        self: Any,
        indices: Any,
        losses: Any = None,
        propensities: Any = None,
        *,
        rewards: Any = None,
        m: int | None = None,
    ) -> None:
        """Learn from rounds decided elsewhere: arm indices, their losses, and the probabilities they were served with.

        `m`: as in `observe`, one for all.
        """
        arms = parse_indices(indices, self.n_arms)
        n = len(arms)
        served = parse_propensities(propensities, n, needed=self.uses_propensity)
        planned = 1 if m is None else self._parse_m(m)
        if not self.by_kernels or self._tell_many is no_kernel or self._has_bases:
            given = self._checked(losses, rewards, n)
            for index, q, loss in zip(arms.tolist(), served.tolist(), given, strict=True):
                self.observe(index, loss, q, m=m) if rewards is None else self.observe(index, None, q, reward=loss, m=m)
            return
        rows = np.ones((n, N_COLUMNS))
        rows[:, INDEX], rows[:, PROPENSITY] = arms, served
        observed = Decisions(rows, np.empty(0, dtype=np.int64), self._labels, self._token, None, planned)
        clock = self._tell_rows(observed, unit_column(losses, rewards, n, self._low, self._high))
        if clock > self._warn_after:
            self._warn_past_horizon()

    # -- by kernels ---------------------------------------------------------------------------------------------

    def _ask_rows(self: Any, n: int, allowed: Any, m: Any) -> Rows:
        if allowed is not None or m is not None:
            raise self._no_planning(allowed, m)
        rows = np.zeros((n, N_COLUMNS))
        if self._ask_many is no_kernel or not self.by_kernels:
            for row in rows:
                _, index, q, base, p_h, p_arm, *_ = self.ask()
                row[:] = index, 1.0 if q is None else q, *([0, 0.0, 0.0] if base is None else [base, p_h, p_arm])
        else:
            self._ask_many(self._buffer, NO_PLAN, 1.0, rows)
            self._note_asks(n)
        return rows, None, 1

    def _note_asks(self: Any, n: int) -> None:
        """The newest n decisions are outstanding."""
        self._outstanding.update(range(self._next_id, self._next_id + n))
        self._next_id += n

    def _tell_rows(self: Any, decisions: Decisions, losses: Vector) -> int:
        """The clock after all rows were learned; -1 if there is one that cannot be, and then nothing was."""
        return int(self._tell_many(self._buffer, NO_PLAN, 1.0, decisions.rows, losses))

    def _note_tells(self: Any, ids: Any, clock: int) -> None:
        """These decisions were told, and are outstanding no more."""
        if clock > self._warn_after:
            self._warn_past_horizon(stacklevel=4)

    # -- by hand ------------------------------------------------------------------------------------------------

    def _tell_by_hand(self: Any, decisions: Decisions, losses: Any, rewards: Any) -> None:
        several, one = ("losses", "loss") if rewards is None else ("rewards", "reward")
        word = several if self.sees_all else one
        for decision, told in zip(decisions, self._checked(losses, rewards, len(decisions)), strict=True):
            self.tell(decision, **{word: told})

    def _checked(self: Any, losses: Any, rewards: Any, n: int) -> list[Any]:
        """What is told, row by row; checked, and nothing has changed."""
        given: list[float] = unit_column(losses, rewards, n, *self.accepts, as_given=True).tolist()
        return given

    def _known_ids(self: Any, decisions: Any) -> list[int]:
        """The ids of decisions that can be told."""
        if type(decisions) is not Decisions:
            raise DecisionTypeError(f"{decisions!r} ({type(decisions).__name__}): accepted is what ask_many returned")
        if decisions.learner != self._token:
            raise DecisionError(f"{decisions!r} were made by another learner")
        ids: list[int] = decisions.ids.tolist()
        if not self._outstanding.issuperset(ids):
            number = next(number for number in ids if number not in self._outstanding)
            raise self._refusal(decisions[ids.index(number)])
        if len({*ids}) < len(ids):
            number = next(number for i, number in enumerate(ids) if number in ids[:i])
            raise DecisionError(f"the decision with id {number} stands twice in {decisions!r}; accepted is once")
        return ids
