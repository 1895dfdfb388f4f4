"""Loss tables as users hand them over: checked, with errors that name row and column, and read block by block.

A block is a small C-ordered float64 array. Other types and layouts are converted block by block, so a big table is
never copied, and between two blocks Python can handle Ctrl-C.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat.errors import OptionError, TableError
from turncoat.types import Ints, Matrix
from turncoat.validation.numbers import is_whole

ACCEPTED = "accepted is a (rounds, arms) table of finite numbers, one row per round, at least one of each"


def as_table(losses: ArrayLike) -> NDArray[Any]:
    """The losses as a (T, K) array of numbers, not copied if they are one; their values are checked by `blocks`."""
    try:
        table = np.asarray(losses)
    except (ValueError, TypeError, OverflowError):  # ragged rows, for one
        table = _objects(losses)
    if np.ma.is_masked(losses):
        row, column = np.argwhere(np.ma.getmaskarray(np.ma.asarray(losses)))[0][:2]
        raise TableError(f"the loss in row {row}, column {column} is masked; {ACCEPTED}")
    if hasattr(losses, "game"):
        raise TableError(f"losses are {reprlib.repr(losses)}, an environment: pass what its losses() returns")
    if table.ndim == 0:
        raise TableError(f"losses are {reprlib.repr(losses)}; {ACCEPTED}")
    if table.ndim != 2 or table.size == 0:
        raise TableError(f"losses have the shape {table.shape}; {ACCEPTED}")
    return table if table.dtype.kind in "biuf" else _from_objects(table, _objects(losses))


def _objects(losses: Any) -> NDArray[Any]:
    """The losses as an array of Python objects; rows of different lengths raise."""
    lengths = [len(row) if isinstance(row, Sequence | np.ndarray) else None for row in losses]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            raise TableError(
                f"row {row} of the losses is not as long as row 0: {reprlib.repr(losses[row])}; {ACCEPTED}"
            )
    try:
        return np.asarray(losses, dtype=object)
    except (ValueError, TypeError):
        raise TableError(f"the rows of the losses do not fit together; {ACCEPTED}") from None


def _from_objects(table: NDArray[Any], items: NDArray[Any]) -> Matrix:
    """Items that NumPy did not take for numbers: real ones of any type pass, the first of anything else is named."""
    for (row, column), item in np.ndenumerate(items):
        where = f"the loss in row {row}, column {column}"
        if not isinstance(item, Real | np.bool_):
            raise TableError(f"{where} is {item!r}; {ACCEPTED}")
        try:
            float(item)
        except OverflowError:
            raise TableError(f"{where} is too large for a float; {ACCEPTED}") from None
    if table.dtype.kind != "O":
        raise TableError(f"losses have the type {table.dtype}; {ACCEPTED}")
    return items.astype(np.float64)


BLOCK_VALUES = 1 << 15  # losses in a block: 256 kB, which stays in the processor's cache
BLOCK_CELLS = 1 << 26  # cells of the dynamic programme in a block: well under a second


def blocks(table: NDArray[Any], max_switches: int) -> Iterator[tuple[int, Matrix]]:
    """The table in order, as (first row, block). A loss that is not finite raises, with its row and column.

    So do losses so large that the sum of T of them could leave the range of a float64.
    """
    T, K = table.shape
    largest = float(np.finfo(np.float64).max) / (4 * T)
    n_rows = max(1, min(BLOCK_VALUES // K, BLOCK_CELLS // (K * (max_switches + 1))))
    for start in range(0, T, n_rows):
        with np.errstate(over="ignore"):  # a long double past the range becomes inf, and is refused below
            block = np.require(table[start : start + n_rows], np.float64, ["C", "A", "W"])
        if not (block.max() <= largest and block.min() >= -largest):  # NaN fails both
            _refuse(table, start, block, largest)
        yield start, block


def _refuse(table: NDArray[Any], start: int, block: Matrix, largest: float) -> None:
    i, column = np.argwhere(~(np.abs(block) <= largest))[0]
    value = table[start + i, column]
    size = f", at most {largest:.3g} in size over {len(table)} rounds" if np.isfinite(block[i, column]) else ""
    raise TableError(f"the loss in row {start + i}, column {column} is {value}; accepted are finite numbers{size}")


def as_switches(name: str, value: Any) -> int:
    """A number of switches: a whole number of at least 0."""
    if not is_whole(value) or value < 0:
        raise OptionError(f"{name} is {value!r}; accepted is a whole number of at least 0")
    return int(value)


def as_arms(name: str, arms: ArrayLike, T: int, K: int) -> Ints:
    """A sequence of T arms, each a whole number in 0..K-1."""
    accepted = f"accepted are {T} whole numbers in 0..{K - 1}, one arm for each row of the losses"
    try:
        sequence = np.asarray(arms)
    except (ValueError, TypeError, OverflowError):
        raise OptionError(f"{name} is ragged; {accepted}") from None
    if sequence.shape != (T,):
        raise OptionError(f"{name} has the shape {sequence.shape}; {accepted}")
    if sequence.dtype.kind not in "iu":
        sequence = np.asarray(arms, dtype=object)
        for t, item in enumerate(sequence):
            if not is_whole(item):
                raise OptionError(f"{name}[{t}] is {item!r}; {accepted}")
    outside = (sequence < 0) | (sequence >= K)
    if outside.any():
        t = int(outside.argmax())
        raise OptionError(f"{name}[{t}] is {sequence[t]}; {accepted}")
    return np.require(sequence, np.int64, ["C", "A", "W"])
