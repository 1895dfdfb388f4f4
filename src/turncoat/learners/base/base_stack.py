"""The base stack: learners of any kinds inside the buffer of their master.

The master's buffer holds each base's own buffer as a row, and a copy of that row at the start, for restarts.
Neighbours of one kind (one state class, one size of buffer) are stacked into a block, so H equal bases are compiled
once and looped over. The master's state has the fields

    sizes     n and the size of a row, for every block
    memory    the blocks: n rows as they are, then n rows as they began

and its class has `kinds`, the state classes of the blocks. Which kinds there are is known at run time only:
`stacked_state` makes a subclass of the master's state class for each sequence of kinds. It has the same name in every
process, so kernels that close over it are found on disk again.

    ask_base(state, j, rng)                               (arm, probability) of base j
    tell_base(state, j, rng, (arm, probability), loss)    one update of base j
    learn_base(state, j, rng, choice, loss, out)          the same, and then its distribution over the arms
    chance_of(state, j, arm, room)                        the probability of an arm under base j
    copy_base(state, j, source)                           base j becomes what base `source` is
    restart_base(state, j)                                base j becomes what it was at first

In compiled code each of these is a chain of comparisons, block by block, ending in a kernel of the block's kind.

**Random numbers**: a base draws from its master's stream. The four words are copied into its row before a call and back
after it; between calls those words are 0. **Rows are viewed as words**, uint64, so that random words are never rounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.cache import PACKAGE
from turncoat._compile.dispatch import ask, probability_of, tell, view_of, write_probabilities
from turncoat._compile.jit import compiled_as, jit_rule, jit_step
from turncoat._compile.state import N_WORDS, StateMeta
from turncoat.types import Vector, Words

# -- the blocks ---------------------------------------------------------------------------------------------------


def blocks_of(bases: Sequence[tuple[type, int]]) -> list[tuple[type, int, int]]:
    """Neighbours alike, stacked: (state, n, size) of every block, from the state and the size of every base."""
    blocks: list[tuple[type, int, int]] = []
    for state, size in bases:
        if blocks and (blocks[-1][0], blocks[-1][2]) == (state, size):
            blocks[-1] = (state, blocks[-1][1] + 1, size)
        else:
            blocks.append((state, 1, size))
    return blocks


def stacked_state(Master: Any, kinds: Sequence[type]) -> Any:
    """The master's state class over blocks of these kinds. Made once.

    It is named by the names of the classes. A class defined anew, under its old name, leads to another one.
    """
    names = [f"{state.__module__}.{state.__qualname__}" for state in (Master, *kinds)]
    name = stem = f"{Master.__name__}_" + hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]
    n_before = 0
    while name in globals() and (globals()[name].__base__, globals()[name].kinds) != (Master, tuple(kinds)):
        n_before += 1
        name = f"{stem}_{n_before}"
    if name not in globals():
        foreign = [state.__module__ for state in (Master, *kinds) if state.__module__.partition(".")[0] != PACKAGE.name]
        body = {"__module__": foreign[0] if foreign else __name__, "kinds": tuple(kinds)}
        globals()[name] = StateMeta(name, (Master,), body)  # here it is found by name when it is unpickled
    return globals()[name]


@jit_rule
def rows_at(sizes: Vector, memory: Words, block: int, fresh: int) -> Words:
    """The rows of a block, (n, size): as they are (fresh 0), or as they began (fresh 1)."""
    at = 0
    for i in range(block):
        at += 2 * int(sizes[2 * i]) * int(sizes[2 * i + 1])
    n, size = int(sizes[2 * block]), int(sizes[2 * block + 1])
    at += fresh * n * size
    return memory[at : at + n * size].reshape((n, size))


# -- one kind -----------------------------------------------------------------------------------------------------

NOTHING = (-1, 1.0)  # no choice, for `learn_base`: one kernel is compiled in half the time of two


class RowKernels(NamedTuple):
    """The rule of one kind, on the rows of a block."""

    ask: Callable[..., tuple[int, float]]
    tell: Callable[..., None]
    learn: Callable[..., None]
    chance: Callable[..., float]


@jit_rule
def lend(rng: Words, row: Words) -> None:
    """Give a base the random numbers."""
    for i in range(N_WORDS):
        row[i] = rng[i]


@jit_rule
def take_back(rng: Words, row: Words) -> None:
    """And take them from it, as they are after its draws."""
    for i in range(N_WORDS):
        rng[i] = row[i]
        row[i] = 0


@cache
def row_kernels(State: Any) -> RowKernels:
    """The rule of bases with this state."""

    @jit_step
    def ask_row(rows: Words, j: int, rng: Words) -> tuple[int, float]:
        row = rows[j]
        lend(rng, row)
        arm, served = ask(view_of(State, row.view(np.float64)))
        take_back(rng, row)
        return int(arm), float(served)

    @jit_step
    def tell_row(rows: Words, j: int, rng: Words, choice: tuple[int, float], loss: float) -> None:
        row = rows[j]
        lend(rng, row)
        tell(view_of(State, row.view(np.float64)), choice, loss)
        take_back(rng, row)

    @jit_step
    def learn_row(rows: Words, j: int, rng: Words, choice: tuple[int, float], loss: float, out: Vector) -> None:
        row = rows[j]
        lend(rng, row)
        state = view_of(State, row.view(np.float64))
        if choice[0] >= 0:
            tell(state, choice, loss)
        write_probabilities(state, out)
        take_back(rng, row)

    @jit_step
    def chance_row(rows: Words, j: int, arm: int, room: Vector) -> float:
        return float(probability_of(view_of(State, rows[j].view(np.float64)), arm, room))

    return RowKernels(ask_row, tell_row, learn_row, chance_row)


# -- one base -----------------------------------------------------------------------------------------------------


@jit_rule
def find_base(state: Any, j: int) -> tuple[int, int]:
    """The block that base j is in, and its place there."""
    block = 0
    while j >= state.sizes[2 * block]:
        j -= int(state.sizes[2 * block])
        block += 1
    return block, j


def row_of(state: Any, j: int, fresh: int = 0) -> Words:
    """The buffer of base j, as words: now, or as it began. For Python."""
    block, place = find_base(state, j)
    row: Words = rows_at(state.sizes, state.memory, block, fresh)[place]
    return row


def _of_kind(name: str, text: str) -> Any:
    """A function of a state, a base and more, which calls the row kernel of this name of the base's kind."""

    def call(state: Any, j: int, *arguments: Any) -> Any:
        block, place = find_base(state, j)
        kernel = getattr(row_kernels(type(state).kinds[block]), name)
        return kernel(rows_at(state.sizes, state.memory, block, 0), place, *arguments)

    @compiled_as(call)
    def _overload(state: Any, j: Any, *arguments: Any) -> Any:
        return _chain(name, state.instance_class.kinds, 0)

    call.__doc__ = text
    return call


def _chain(name: str, kinds: tuple[type, ...], block: int) -> Callable[..., Any]:
    """Look for base j in this block and in those behind it."""
    kernel = getattr(row_kernels(kinds[block]), name)
    if block == len(kinds) - 1:
        return lambda state, j, *arguments: kernel(rows_at(state.sizes, state.memory, block, 0), j, *arguments)
    behind = jit_step(_chain(name, kinds, block + 1))

    def search(state: Any, j: Any, *arguments: Any) -> Any:
        rows = rows_at(state.sizes, state.memory, block, 0)
        if j < rows.shape[0]:
            return kernel(rows, j, *arguments)
        return behind(state, j - rows.shape[0], *arguments)

    return search


ask_base = _of_kind("ask", "(arm, probability): what base j plays, drawn with these random words.")
tell_base = _of_kind("tell", "Base j learns the loss of a choice.")
learn_base = _of_kind(
    "learn", "Base j learns the loss of a choice, unless that is NOTHING, and writes what it plays next."
)
chance_of = _of_kind("chance", "p_j(arm). The last argument: K zeros, which it may use and leaves 0.")


@jit_rule
def copy_base(state: Any, j: int, source: int) -> None:
    """Base j becomes what base `source`, of the same block, is."""
    block, place = find_base(state, j)
    rows = rows_at(state.sizes, state.memory, block, 0)
    for word in range(rows.shape[1]):
        rows[place, word] = rows[place + source - j, word]


@jit_rule
def restart_base(state: Any, j: int) -> None:
    """Base j becomes what it was at first. Its random words, all 0 at rest, stay."""
    block, place = find_base(state, j)
    rows, fresh = rows_at(state.sizes, state.memory, block, 0), rows_at(state.sizes, state.memory, block, 1)
    for word in range(N_WORDS, rows.shape[1]):
        rows[place, word] = fresh[place, word]
