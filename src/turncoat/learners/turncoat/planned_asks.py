"""PlanningLearner: `ask(m=…)` plans m pulls ahead, `ask(allowed=…)` chooses among some arms; the tells of both.

`m` is rounded down to a power of two. By default it is the number of decisions waited for (delays.py) plus one, for the
decision itself; in `ask_many(n)`, plus n. The plans are made by planning.py, the choices among some arms by
restricted_arms.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from turncoat._compile.dispatch import view_of
from turncoat._compile.jit import jit_entry, jit_rule, without_refcount
from turncoat._compile.state import HEAD
from turncoat.decision import Decision
from turncoat.decisions import N_COLUMNS, Decisions
from turncoat.errors import OptionError
from turncoat.learners.base.batches import NO_PLAN, Rows
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.learners.turncoat.changing_arms import ChangingLearner
from turncoat.learners.turncoat.delays import (
    REACH,
    TOTAL,
    blank_delays,
    count_delay,
    count_delays,
    count_prompt,
    restored_delays,
    saved_delays,
)
from turncoat.learners.turncoat.planning import MOST_PULLS, make_plan, plan_size
from turncoat.learners.turncoat.restricted_arms import ask_among, probabilities_among, tell_among
from turncoat.learners.turncoat.rule import ask_ahead, probability_ahead, tell_ahead
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.types import Ints, Label, Vector
from turncoat.validation.numbers import is_whole


@jit_rule
def ask_planned(state: TurncoatState, plan: Vector, m: float) -> tuple[int, float]:
    """Plan m pulls, and draw a base, then its arm: (index, q)."""
    if plan.size > 0:
        make_plan(state, plan, m)
    return ask_ahead(state, plan)


@jit_rule
def tell_planned(state: TurncoatState, plan: Vector, m: float, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of a choice for which m pulls were planned."""
    if plan.size > 0:
        make_plan(state, plan, m)
    tell_ahead(state, plan, choice, loss)


@jit_entry
def ask_on(buffer: Vector, plan: Vector, m: float) -> tuple[int, float]:
    """`ask_planned` on a buffer. `plan`: empty if m is 1."""
    index, q = ask_planned(view_of(TurncoatState, without_refcount(buffer)), without_refcount(plan), m)
    return index, q


@jit_entry
def tell_on(buffer: Vector, plan: Vector, m: float, arm: int, loss: float, q: float) -> int:
    """`tell_planned` on a buffer. Returns the new clock, or -1 for a choice that cannot be."""
    if not (buffer.size > HEAD and 0 <= arm < buffer[HEAD] and is_probability(q)):
        return -1
    state = view_of(TurncoatState, without_refcount(buffer))
    tell_planned(state, without_refcount(plan), m, (arm, q), loss)
    return int(state.clock[0])


@jit_entry
def probabilities_on(buffer: Vector, plan: Vector, m: float, out: Vector) -> None:
    """q of all arms where m pulls are planned."""
    state, plan, out = view_of(TurncoatState, without_refcount(buffer)), without_refcount(plan), without_refcount(out)
    if plan.size > 0:
        make_plan(state, plan, m)
    for k in range(out.size):
        out[k] = probability_ahead(state, plan, k)


def rounded(pulls: int) -> int:
    """The largest power of two up to a number of pulls; MOST_PULLS at most."""
    return min(1 << (pulls.bit_length() - 1), MOST_PULLS)


class PlanningLearner(ChangingLearner):
    """A learner that plans ahead. Made by its subclasses only."""

    plans_ahead = True
    _prompt = 0  # tells at a delay of 1 that are not in the record yet

    def _settle(self) -> None:
        super()._settle()
        self._plan = NO_PLAN
        self._restart_waiting(blank_delays())

    def _restart_waiting(self, delays: Ints) -> None:
        self._delays = delays
        self._prompt = 0
        self._wait_anew()

    def _wait_anew(self) -> None:
        """Count the decisions that are within the reach."""
        self._reach = int(self._delays[REACH])
        oldest = self._next_id - self._reach
        self._waiting = sum(number > oldest for number in self._outstanding) if self._reach > 1 else 0

    # -- how far ahead ------------------------------------------------------------------------------------------

    def _note_ask(self) -> None:
        self._waiting += 1
        self._waiting -= self._next_id - self._reach in self._outstanding

    def _note_tell(self, number: int, clock: int) -> None:
        delay = self._next_id - number
        if delay == 1 and self._reach == 1:
            self._prompt += 1
            return
        self._waiting -= delay < self._reach
        if self._prompt:
            self._count_prompt()
        if delay == 1 and self._delays[TOTAL] == 0:
            count_prompt(self._delays, 1)
            self._wait_anew()
        elif count_delay(self._delays, delay):
            self._wait_anew()

    def _note_forget(self, number: int) -> None:
        self._waiting -= self._next_id - number < self._reach

    def planning(self) -> tuple[Vector, Ints, set[int]]:
        """For compiled loops: room for a plan, the record of delays, and the outstanding decisions."""
        self._count_prompt()
        return self._room(), self._delays, self._outstanding

    def asked_in_loop(self, n: int, *, at_once: bool) -> None:
        """Note n asks of a compiled loop. `at_once`: each was told before the next; else the loop counted delays."""
        super().asked_in_loop(n, at_once=at_once)
        if at_once:
            self._count_prompt()
            count_prompt(self._delays, n)
        self._wait_anew()

    @contextmanager
    def whole_game(self) -> Iterator[None]:
        """Around a compiled loop that works on `view()`: an error puts all back as it was before."""
        self._count_prompt()
        delays = self._delays.copy()
        try:
            with super().whole_game():
                yield
        except Exception:
            self._plan = NO_PLAN
            self._restart_waiting(delays)
            raise

    def _count_prompt(self) -> None:
        count_prompt(self._delays, self._prompt)
        self._prompt = 0

    def _parse_m(self, m: Any) -> int:
        if not is_whole(m) or m < 1:
            raise OptionError(f"m is {m!r}; accepted are whole numbers of at least 1")
        return rounded(int(m))

    def _planned(self, m: int | None) -> tuple[int, Vector]:
        """How many pulls are planned, and room for the plan."""
        pulls = rounded(self._waiting + 1) if m is None else self._parse_m(m)
        return pulls, self._room() if pulls > 1 else NO_PLAN

    def _room(self) -> Vector:
        if self._plan.size != plan_size(self.n_arms):
            self._plan = np.zeros(plan_size(self.n_arms))
        return self._plan

    # -- ask and tell -------------------------------------------------------------------------------------------

    def _ask_planned(self, allowed: Iterable[Label] | None, m: int | None) -> Decision:
        among = None if allowed is None else self._among(allowed)
        pulls, plan = self._planned(m)
        if among is None:
            index, q = ask_on(self._buffer, plan, pulls)
        else:
            index, q = ask_among(self._buffer, plan, pulls, np.array(among))
        number = self._next_id
        self._next_id = number + 1
        self._outstanding.add(number)
        if self._reach > 1:
            self._note_ask()
        return Decision(self._labels[index], index, q, None, None, None, self._token, number, among, pulls)

    def _ask_rows(self, n: int, allowed: Iterable[Label] | None, m: int | None) -> Rows:
        among = None if allowed is None else self._among(allowed)
        pulls = rounded(self._waiting + max(n, 1)) if m is None else self._parse_m(m)
        plan = self._room() if pulls > 1 else NO_PLAN
        rows = np.zeros((n, N_COLUMNS))
        if among is None:
            self._ask_many(self._buffer, plan, float(pulls), rows)
        for row in rows if among is not None else ():
            row[:2] = ask_among(self._buffer, plan, pulls, np.array(among))
        self._note_asks(n)
        self._wait_anew()
        return rows, among, pulls

    def _tell_rows(self, decisions: Decisions, losses: Vector) -> int:
        m, allowed = decisions.m, decisions.allowed
        plan = self._room() if m > 1 else NO_PLAN
        if allowed is None:
            return int(self._tell_many(self._buffer, plan, float(m), decisions.rows, losses))
        clock, among = self.n_told, self._there(allowed)
        for (index, q, *_), loss in zip(decisions.rows.tolist(), losses.tolist(), strict=True):
            clock = tell_among(self._buffer, plan, m, among, int(index), loss, q)
        return clock

    def _note_tells(self, ids: Ints, clock: int) -> None:
        self._count_prompt()
        count_delays(self._delays, self._next_id - ids)
        self._wait_anew()

    def _probabilities_planned(self, allowed: Iterable[Label] | None, m: int | None) -> Vector:
        among = None if allowed is None else self._among(allowed)
        pulls, plan = self._planned(m)
        out = np.empty(self.n_arms)
        if among is None:
            probabilities_on(self._buffer, plan, pulls, out)
        else:  # on a copy: `restrict` writes to the state
            probabilities_among(self._buffer.copy(), plan, pulls, np.array(among), out)
        return out

    def _tell_planned(self, index: int, loss: Any, propensity: Any, allowed: tuple[int, ...] | None, m: Any) -> int:
        if not (_is_planned(m) and isinstance(propensity, float) and is_probability(propensity)):
            return -1
        plan = self._room() if m > 1 else NO_PLAN
        if allowed is None:
            return tell_on(self._buffer, plan, m, index, loss, propensity)
        if not self._are_among(index, allowed):
            return -1
        return tell_among(self._buffer, plan, m, self._there(allowed), index, loss, propensity)

    def _is_sound(self, decision: Decision) -> bool:
        return super()._is_sound(decision) and _is_planned(decision.m)

    # -- arms that come and go ----------------------------------------------------------------------------------

    def add_arm(self, label: Label | None = None) -> int:
        """Add an arm and return its index. It is tried soon. Outstanding decisions stay valid.

        `label`: one that no arm has or had, str or int; not needed where arms have numbers only.
        """
        index = super().add_arm(label)
        self._plan = NO_PLAN
        return index

    def retire_arm(self, arm: Label) -> None:
        """Retire an arm, given by its label: it keeps its index and has probability 0.

        If it is told later, the round counts, also in the mean of all losses, and nothing else is learned from it.
        """
        super().retire_arm(arm)
        self._plan = NO_PLAN

    # -- saving -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold: `tc.restore` goes on from there identically."""
        self._count_prompt()
        return {**super().state(), "delays": saved_delays(self._delays)}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        learner = super()._rebuilt(state)
        learner._restart_waiting(restored_delays(state.get("delays")))
        return learner


def _is_planned(m: Any) -> bool:
    """Is this a number of pulls that an ask can have planned?"""
    return type(m) is int and 1 <= m <= MOST_PULLS and m & (m - 1) == 0
