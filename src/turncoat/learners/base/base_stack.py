"""A herd: learners of any kinds that live in the buffer of another learner, one compiled state for all of them.

The keeper's buffer holds each base's own buffer, as a row, beside a copy of how it began, for starting it again.
Neighbours of one kind (one state, one size of buffer) are stacked into a block, (n, size); so H equal bases are
compiled once and looped over. Blocks of different kinds are a chain, Link(…, Link(…, Last(…))), whose *type* names the
kinds: each block carries `like`, the state of its first base. Compiled code walks down the chain by the number of a
base, and what it finds there is compiled for that kind: one body a kind (`rows_of`), however long the chain is.

    view_herd(Kinds, sizes, memory)                      the chain over a part of the keeper's buffer
    ask_base(herd, j, rng)                               (arm, probability) of base j
    tell_base(herd, j, rng, (arm, probability), loss)    one update of base j
    learn_base(herd, j, rng, choice, loss, out)          the same, and then its distribution over the arms
    chance_of(herd, j, arm, room)                        the probability of an arm under base j
    row_of(herd, j), fresh_of(herd, j)                   base j's buffer, now and as it began

Which kinds there are is known at run time only. `kinds_of` makes a class for each sequence of kinds; kernels on a flat
buffer close over it (buffer.py). It has the same name in every process, so they are found on disk again; loops over
whole games see the chain, whose classes are all written below.

**Random numbers**: a base draws from its keeper's stream. The four words are lent to it, put into its row, and taken
back; in between those words are 0. **Buffers are seen as words**, uint64, so that nobody takes them for plain numbers.
"""

from __future__ import annotations

import functools
import hashlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.cache import PACKAGE
from turncoat._compile.dispatch import ask, probability_of, tell, view_of, write_probabilities
from turncoat._compile.jit import borrow, compiled_as, jit, jit_rule
from turncoat.random import N_WORDS
from turncoat.types import Vector, Words


class Last(NamedTuple):
    """A block of bases of one kind, with none behind it."""

    like: Any  # the state of its first base: what tells compiled code the kind
    rows: Words  # (n, size), the buffers of its bases
    fresh: Words  # (n, size), how they began


class Link(NamedTuple):
    """A block of bases of one kind, and the blocks behind it."""

    like: Any
    rows: Words
    fresh: Words
    rest: Any


# -- the chain ----------------------------------------------------------------------------------------------------

_KINDS: dict[type, tuple[type, ...]] = {}  # what each class of kinds_of stands for


def blocks_of(bases: Sequence[tuple[type, int]]) -> list[tuple[type, int, int]]:
    """Neighbours alike, stacked: (state, n, size) of every block, from the state and the size of every base."""
    blocks: list[tuple[type, int, int]] = []
    for state, size in bases:
        if blocks and (blocks[-1][0], blocks[-1][2]) == (state, size):
            blocks[-1] = (state, blocks[-1][1] + 1, size)
        else:
            blocks.append((state, 1, size))
    return blocks


def kinds_of(states: Sequence[type]) -> type:
    """The class that stands for a chain of blocks with these states. Made once, and never instantiated.

    Named by the names of the states. Somebody who defines a state anew, under its old name, gets another class.
    """
    names = [f"{state.__module__}.{state.__qualname__}" for state in states]
    name = stem = "Kinds_" + hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]
    n_before = 0
    while name in globals() and _KINDS[globals()[name]] != tuple(states):
        n_before += 1
        name = f"{stem}_{n_before}"
    if name not in globals():
        foreign = [state.__module__ for state in states if state.__module__.partition(".")[0] != PACKAGE.name]
        Kinds = namedtuple(name, "herd", module=foreign[0] if foreign else __name__)  # type: ignore[misc]
        _KINDS[Kinds] = tuple(states)
        globals()[name] = Kinds  # where numba looks for it by name
    Known: type = globals()[name]
    return Known


@jit_rule
def block(sizes: Vector, memory: Vector) -> tuple[Words, Words, Vector]:
    """Rows, fresh rows, and the memory behind them, of the block whose n and size come first."""
    n, size = int(sizes[0]), int(sizes[1])
    words = memory[: 2 * n * size].view(np.uint64).reshape(2, n, size)
    return words[0], words[1], memory[2 * n * size :]


def view_herd(Kinds: type, sizes: Vector, memory: Vector) -> Any:
    """The chain over this memory. `sizes`: n and size of every block."""
    return _plain_chain(_KINDS[Kinds], sizes, memory)


def _plain_chain(states: Sequence[type], sizes: Vector, memory: Vector) -> Any:
    rows, fresh, more = block(sizes, memory)
    like = view_of(states[0], rows[0].view(np.float64))
    if len(states) == 1:
        return Last(like, rows, fresh)
    return Link(like, rows, fresh, _plain_chain(states[1:], sizes[2:], more))


@compiled_as(view_herd)
def _overload_view_herd(Kinds: Any, sizes: Any, memory: Any) -> Any:
    chain = _compiled_chain(_KINDS[Kinds.instance_class])
    return lambda Kinds, sizes, memory: chain(sizes, memory)


@functools.cache
def _compiled_chain(states: tuple[type, ...]) -> Callable[..., Any]:
    State = states[0]

    @jit_rule
    def last(sizes: Vector, memory: Vector) -> Any:
        rows, fresh, _ = block(sizes, memory)
        return Last(view_of(State, rows[0].view(np.float64)), rows, fresh)

    if len(states) == 1:
        return last
    rest = _compiled_chain(states[1:])

    @jit_rule
    def link(sizes: Vector, memory: Vector) -> Any:
        rows, fresh, more = block(sizes, memory)
        return Link(view_of(State, rows[0].view(np.float64)), rows, fresh, rest(sizes[2:], more))

    return link


# -- one kind -----------------------------------------------------------------------------------------------------

NOTHING = (-1, 1.0)  # no choice, for `learn_base`: one kernel is compiled in half the time of two


class Rows(NamedTuple):
    """The rule of one kind, on the rows of a block."""

    ask: Callable[..., tuple[int, float]]
    tell: Callable[..., None]
    learn: Callable[..., None]
    chance: Callable[..., float]


@jit
def lend(rng: Words, row: Words) -> None:
    """Give a base the random numbers."""
    for i in range(N_WORDS):
        row[i] = rng[i]


@jit
def take_back(rng: Words, row: Words) -> None:
    """And take them from it, as they are after its draws."""
    for i in range(N_WORDS):
        rng[i] = row[i]
        row[i] = 0


@functools.cache
def rows_of(State: Any) -> Rows:
    """The rule of bases with this state."""

    @jit
    def ask_row(rows: Words, j: int, rng: Words) -> tuple[int, float]:
        row = borrow(rows)[j]
        lend(borrow(rng), row)
        arm, served = ask(view_of(State, row.view(np.float64)))
        take_back(borrow(rng), row)
        return int(arm), float(served)

    @jit
    def tell_row(rows: Words, j: int, rng: Words, choice: tuple[int, float], loss: float) -> None:
        row = borrow(rows)[j]
        lend(borrow(rng), row)
        tell(view_of(State, row.view(np.float64)), choice, loss)
        take_back(borrow(rng), row)

    @jit
    def learn_row(rows: Words, j: int, rng: Words, choice: tuple[int, float], loss: float, out: Vector) -> None:
        row = borrow(rows)[j]
        lend(borrow(rng), row)
        state = view_of(State, row.view(np.float64))
        if choice[0] >= 0:
            tell(state, choice, loss)
        write_probabilities(state, borrow(out))
        take_back(borrow(rng), row)

    @jit
    def chance_row(rows: Words, j: int, arm: int, room: Vector) -> float:
        return float(probability_of(view_of(State, borrow(rows)[j].view(np.float64)), arm, borrow(room)))

    return Rows(ask_row, tell_row, learn_row, chance_row)


# -- one base -----------------------------------------------------------------------------------------------------


def _find(herd: Any, j: int) -> tuple[Any, int]:
    """The block that base j is in, and its place there."""
    while j >= herd.rows.shape[0]:
        j -= herd.rows.shape[0]
        herd = herd.rest
    return herd, j


def _rows_like(here: Any) -> Rows:
    State: Any = type(here.like)
    return rows_of(State)


def ask_base(herd: Any, j: int, rng: Words) -> Any:
    """(arm, probability): what base j plays."""
    here, k = _find(herd, j)
    return _rows_like(here).ask(here.rows, k, rng)


def tell_base(herd: Any, j: int, rng: Words, choice: tuple[int, float], loss: float) -> Any:
    """Base j learns the loss of a choice."""
    here, k = _find(herd, j)
    return _rows_like(here).tell(here.rows, k, rng, choice, loss)


def learn_base(herd: Any, j: int, rng: Words, choice: tuple[int, float], loss: float, out: Vector) -> Any:
    """Base j learns the loss of a choice, unless that is NOTHING, and writes what it would play next."""
    here, k = _find(herd, j)
    return _rows_like(here).learn(here.rows, k, rng, choice, loss, out)


def chance_of(herd: Any, j: int, arm: int, room: Vector) -> Any:
    """p_j(arm). `room`: K zeros, which it may use and leaves 0."""
    here, k = _find(herd, j)
    return _rows_like(here).chance(here.rows, k, arm, room)


def row_of(herd: Any, j: int) -> Any:
    """The buffer of base j, as words."""
    here, k = _find(herd, j)
    return here.rows[k]


def fresh_of(herd: Any, j: int) -> Any:
    """The buffer of base j as it began, as words."""
    here, k = _find(herd, j)
    return here.fresh[k]


@compiled_as(ask_base)
def _overload_ask_base(herd: Any, j: Any, rng: Any) -> Any:
    rule = rows_of(herd.types[0].instance_class).ask
    if herd.instance_class is Last:
        return lambda herd, j, rng: rule(herd.rows, j, rng)

    def walk(herd: Any, j: Any, rng: Any) -> Any:
        if j < herd.rows.shape[0]:
            return rule(herd.rows, j, rng)
        return ask_base(herd.rest, j - herd.rows.shape[0], rng)

    return walk


@compiled_as(tell_base)
def _overload_tell_base(herd: Any, j: Any, rng: Any, choice: Any, loss: Any) -> Any:
    rule = rows_of(herd.types[0].instance_class).tell
    if herd.instance_class is Last:
        return lambda herd, j, rng, choice, loss: rule(herd.rows, j, rng, choice, loss)

    def walk(herd: Any, j: Any, rng: Any, choice: Any, loss: Any) -> Any:
        if j < herd.rows.shape[0]:
            rule(herd.rows, j, rng, choice, loss)
        else:
            tell_base(herd.rest, j - herd.rows.shape[0], rng, choice, loss)

    return walk


@compiled_as(learn_base)
def _overload_learn_base(herd: Any, j: Any, rng: Any, choice: Any, loss: Any, out: Any) -> Any:
    rule = rows_of(herd.types[0].instance_class).learn
    if herd.instance_class is Last:
        return lambda herd, j, rng, choice, loss, out: rule(herd.rows, j, rng, choice, loss, out)

    def walk(herd: Any, j: Any, rng: Any, choice: Any, loss: Any, out: Any) -> Any:
        if j < herd.rows.shape[0]:
            rule(herd.rows, j, rng, choice, loss, out)
        else:
            learn_base(herd.rest, j - herd.rows.shape[0], rng, choice, loss, out)

    return walk


@compiled_as(chance_of)
def _overload_chance_of(herd: Any, j: Any, arm: Any, room: Any) -> Any:
    rule = rows_of(herd.types[0].instance_class).chance
    if herd.instance_class is Last:
        return lambda herd, j, arm, room: rule(herd.rows, j, arm, room)

    def walk(herd: Any, j: Any, arm: Any, room: Any) -> Any:
        if j < herd.rows.shape[0]:
            return rule(herd.rows, j, arm, room)
        return chance_of(herd.rest, j - herd.rows.shape[0], arm, room)

    return walk


@compiled_as(row_of)
def _overload_row_of(herd: Any, j: Any) -> Any:
    if herd.instance_class is Last:
        return lambda herd, j: herd.rows[j]

    def walk(herd: Any, j: Any) -> Any:
        return herd.rows[j] if j < herd.rows.shape[0] else row_of(herd.rest, j - herd.rows.shape[0])

    return walk


@compiled_as(fresh_of)
def _overload_fresh_of(herd: Any, j: Any) -> Any:
    if herd.instance_class is Last:
        return lambda herd, j: herd.fresh[j]

    def walk(herd: Any, j: Any) -> Any:
        return herd.fresh[j] if j < herd.rows.shape[0] else fresh_of(herd.rest, j - herd.rows.shape[0])

    return walk
