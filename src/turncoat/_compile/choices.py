"""Choices in a matrix: what `ask` returned is kept as a row of numbers until its loss is told.

A choice is a tuple of numbers, and None where a rule has no propensity. Its types are known when a loop is compiled:
`read_choice` is given another choice of the same rule, and returns a tuple like it.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from turncoat._compile.jit import dispatch
from turncoat.errors import OptionError

MOST_PARTS = 7


def write_choice(row: Any, choice: Any) -> None:
    """Write a choice into a row of at least MOST_PARTS numbers."""
    for i, part in enumerate(choice):
        row[i] = 0.0 if part is None else part


def read_choice(row: Any, like: Any) -> Any:
    """The choice in a row. `like`: another choice of the same rule."""
    return tuple(None if part is None else type(part)(row[i]) for i, part in enumerate(like))


def _check(choice: Any) -> None:
    if len(choice) > MOST_PARTS:
        raise OptionError(f"a choice has {len(choice)} parts; accepted are at most {MOST_PARTS} where losses come late")


@intrinsic
def _write(typing: Any, row: Any, choice: Any) -> Any:
    _check(choice)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(row)(context, builder, arguments[0])
        for i, kind in enumerate(choice):
            if kind != types.none:
                part = builder.extract_value(arguments[1], i)
                builder.store(context.cast(builder, part, kind, types.float64), _at(builder, array, i))

    return types.void(row, choice), generate


@intrinsic
def _read(typing: Any, row: Any, like: Any) -> Any:
    _check(like)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, choice = context.make_array(row)(context, builder, arguments[0]), arguments[1]
        for i, kind in enumerate(like):
            if kind != types.none:
                part = context.cast(builder, builder.load(_at(builder, array, i)), types.float64, kind)
                choice = builder.insert_value(choice, part, i)
        return choice

    return like(row, like), generate


def _at(builder: Any, array: Any, i: int) -> Any:
    """The address of a number in a contiguous row."""
    return cgutils.gep_inbounds(builder, array.data, i)


dispatch(write_choice, lambda row: _write)
dispatch(read_choice, lambda row: _read)
