"""Loss tables as users hand them over: what is a table and what is not, told by row and column."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat.errors import TableError
from turncoat.types import Matrix

ACCEPTED = "accepted is a (rounds, arms) table of finite numbers, one row a round, at least one of each"


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
