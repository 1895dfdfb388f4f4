"""The kernels that a learner calls on its buffer: ask, tell and probabilities, from Python.

They take the buffer, one array, which is the cheapest call from Python, and open the state on it in compiled code. They
are written once for all learners: closures over the *class* of the state, through which the generic rules find the
learner's own. numba finds such a closure on disk again; one over the kernels themselves it would compile anew in every
process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from turncoat._compile.choices import write_choice
from turncoat._compile.dispatch import (
    ask,
    ask_planned,
    probability_of,
    tell,
    tell_planned,
    view_of,
    write_probabilities,
)
from turncoat._compile.jit import jit_entry, without_refcount
from turncoat._compile.state import HEAD
from turncoat.decisions import INDEX, PROPENSITY
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.types import Matrix, Vector

# what an ask serves: index, propensity, and for masters the base, p(base) and p_base(index)
Served: TypeAlias = tuple[int, float | None, int | None, float | None, float | None]


def no_kernel(*words: Any) -> None:
    """What learners have whose batches are single calls."""


class BufferKernels(NamedTuple):
    """A learner's rule on its buffer. `tell` returns the new clock, or -1 for a choice that cannot be."""

    ask: Callable[..., Served]
    tell: Callable[..., int]
    probabilities: Callable[..., None]
    ask_many: Callable[..., Any] = no_kernel  # writes rows of decisions.py
    tell_many: Callable[..., Any] = no_kernel


def buffer_kernels(State: Any) -> BufferKernels:
    """The kernels of learners that choose by themselves: (index, propensity), and no base."""

    @jit_entry
    def ask_kernel(buffer: Vector) -> Served:
        index, propensity = ask(view_of(State, without_refcount(buffer)))
        return index, propensity, None, None, None

    @jit_entry
    def tell_kernel(buffer: Vector, index: int, loss: float, propensity: float) -> int:
        if not (0 <= index < buffer[HEAD] and is_probability(propensity)):
            return -1
        state = view_of(State, without_refcount(buffer))
        tell(state, (index, propensity), loss)
        return int(state.clock[0])

    @jit_entry
    def probabilities_kernel(buffer: Vector, out: Vector) -> None:
        write_probabilities(view_of(State, without_refcount(buffer)), without_refcount(out))

    @jit_entry
    def ask_many_kernel(buffer: Vector, plan: Vector, m: float, rows: Matrix) -> None:
        state = view_of(State, without_refcount(buffer))
        plan, rows = without_refcount(plan), without_refcount(rows)
        for i in range(rows.shape[0]):
            index, propensity = ask_planned(state, plan, m)
            write_choice(rows[i], (index, 1.0 if propensity is None else propensity))

    @jit_entry
    def tell_many_kernel(buffer: Vector, plan: Vector, m: float, rows: Matrix, losses: Vector) -> int:
        state = view_of(State, without_refcount(buffer))
        plan, rows, losses = without_refcount(plan), without_refcount(rows), without_refcount(losses)
        for i in range(rows.shape[0]):
            if not (0.0 <= rows[i, INDEX] < buffer[HEAD] and is_probability(rows[i, PROPENSITY])):
                return -1
        for i in range(rows.shape[0]):
            tell_planned(state, plan, m, (int(rows[i, INDEX]), rows[i, PROPENSITY]), losses[i])
        return int(state.clock[0])

    return BufferKernels(ask_kernel, tell_kernel, probabilities_kernel, ask_many_kernel, tell_many_kernel)


@cache
def master_kernels(State: Any) -> BufferKernels:
    """The kernels of masters; beside index and marginal, the base, p(base) and p_base(index)."""

    @jit_entry
    def ask_kernel(buffer: Vector) -> Served:
        state = view_of(State, without_refcount(buffer))
        arm, j, p_j, p_arm, _ = ask(state)
        q = probability_of(state, arm, state.sizes)  # generic masters say it arm by arm, and need no room
        return arm, max(q, SMALLEST_SERVED), j, p_j, p_arm

    @jit_entry
    def tell_kernel(buffer: Vector, index: int, loss: float, q: float, j: int, p_j: float, p_arm: float) -> int:
        state = view_of(State, without_refcount(buffer))
        inside = 0 <= index < state.K and 0 <= j < state.ways
        if not (inside and is_probability(p_j) and is_probability(p_arm) and is_probability(q)):
            return -1
        tell(state, (index, j, p_j, p_arm, q), loss)
        return int(state.clock[0])

    @jit_entry
    def ask_many_kernel(buffer: Vector, plan: Vector, m: float, rows: Matrix) -> None:
        state, rows = view_of(State, without_refcount(buffer)), without_refcount(rows)
        for i in range(rows.shape[0]):
            arm, j, p_j, p_arm, _ = ask(state)
            q = probability_of(state, arm, state.sizes)
            write_choice(rows[i], (arm, max(q, SMALLEST_SERVED), j, p_j, p_arm))

    @jit_entry
    def tell_many_kernel(buffer: Vector, plan: Vector, m: float, rows: Matrix, losses: Vector) -> int:
        state = view_of(State, without_refcount(buffer))
        rows, losses = without_refcount(rows), without_refcount(losses)
        for i in range(rows.shape[0]):
            inside = 0 <= rows[i, 0] < state.K and 0 <= rows[i, 2] < state.ways
            if not (
                inside and is_probability(rows[i, 1]) and is_probability(rows[i, 3]) and is_probability(rows[i, 4])
            ):
                return -1
        for i in range(rows.shape[0]):
            index, q, j, p_j, p_arm = int(rows[i, 0]), rows[i, 1], int(rows[i, 2]), rows[i, 3], rows[i, 4]
            tell(state, (index, j, p_j, p_arm, q), losses[i])
        return int(state.clock[0])

    return BufferKernels(
        ask_kernel, tell_kernel, buffer_kernels(State).probabilities, ask_many_kernel, tell_many_kernel
    )
