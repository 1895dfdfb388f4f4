"""The flat buffer that holds a learner: what stands first in it, and the kernels that are called on it from Python.

Words 0–3 are the random numbers, word 4 the clock, which counts tells; a learner's own numbers begin at HEAD, and the
first of them is K, the number of arms. A call from Python with one array costs a fifth of one with a NamedTuple of
views, so `flat` makes the kernels that take the buffer and build the views inside compiled code.

They are written once for all learners: closures over the *class* of the state, through which the generic rules find the
learner's own. numba finds such a closure on disk again; one over the kernels themselves it would compile anew in every
process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from turncoat._compile.dispatch import ask, tell, view_of, write_probabilities
from turncoat._compile.jit import borrow, jit, jit_rule
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.random import N_WORDS
from turncoat.types import Ints, Vector, Words

CLOCK = N_WORDS
HEAD = CLOCK + 1  # where a learner's own numbers begin

# what an ask serves: index, propensity, and for masters the base, p(base) and p_base(index)
Served: TypeAlias = tuple[int, float | None, int | None, float | None, float | None]


class Flat(NamedTuple):
    """A learner's rule on its buffer. `tell` returns the new clock, or -1 for a choice that cannot be."""

    ask: Callable[..., Served]
    tell: Callable[..., int]
    probabilities: Callable[..., None]


@jit_rule
def rng_of(buffer: Vector) -> Words:
    """The random words of a buffer."""
    return buffer[:CLOCK].view(np.uint64)


@jit_rule
def clock_of(buffer: Vector) -> Ints:
    """The clock of a buffer, an array of one number."""
    return buffer[CLOCK:HEAD].view(np.int64)


def flat(State: Any) -> Flat:
    """The kernels of learners that choose by themselves: (index, propensity), and no base."""

    @jit
    def ask_flat(buffer: Vector) -> Served:
        index, propensity = ask(view_of(State, borrow(buffer)))
        return index, propensity, None, None, None

    @jit
    def tell_flat(buffer: Vector, index: int, loss: float, propensity: float) -> int:
        if not (0 <= index < buffer[HEAD] and is_probability(propensity)):
            return -1
        state = view_of(State, borrow(buffer))
        tell(state, (index, propensity), loss)
        return int(state.clock[0])

    @jit
    def probabilities_flat(buffer: Vector, out: Vector) -> None:
        write_probabilities(view_of(State, borrow(buffer)), borrow(out))

    return Flat(ask_flat, tell_flat, probabilities_flat)
