"""Validation of columns of numbers: arms, losses and propensities of many rounds at once."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from turncoat.errors import LossError, LossTypeError, OptionError
from turncoat.types import Ints, Vector

ALL = slice(None)


def parse_indices(indices: Any, n_arms: int) -> Ints:
    """Indices of arms."""
    accepted = f"accepted are whole numbers from 0 to {n_arms - 1}, one per round"
    column = _column(indices)
    if column is None or (column.size and column.dtype.kind not in "iu"):
        raise OptionError(f"indices is {reprlib.repr(indices)}; {accepted}")
    if (i := _first((column < 0) | (column >= n_arms))) is not None:
        raise OptionError(f"indices[{i}] is {column[i]!s}; {accepted}")
    return np.array(column, dtype=np.int64)


def parse_propensities(propensities: Any, n: int, *, needed: bool) -> Vector:
    """The probabilities that n rounds were served with; 1 if they are not given and not needed."""
    if propensities is None and not needed:
        return np.ones(n)
    accepted = f"accepted are {n} numbers above 0 and at most 1, one per round"
    column = _column(propensities)
    if column is None or column.size != n or (n and column.dtype.kind not in "iuf"):
        raise OptionError(f"propensities is {reprlib.repr(propensities)}; {accepted}")
    if (i := _first(~((column > 0.0) & (column <= 1.0)))) is not None:
        raise OptionError(f"propensities[{i}] is {column[i]!s}; {accepted}")
    return np.array(column, dtype=np.float64)


def unit_column(losses: Any, rewards: Any, n: int, low: float, high: float, *, as_given: bool = False) -> Vector:
    """The losses in [0, 1] that n told losses, or told rewards, stand for; `as_given`: the numbers themselves."""
    if (losses is None) == (rewards is None):
        raise LossTypeError("give either losses= or rewards=, and only one of them")
    name, told = ("losses", losses) if rewards is None else ("rewards", rewards)
    accepted = f"accepted are {n} numbers from {low} to {high}, one per round"
    column = _column(told)
    if column is None or (column.size and column.dtype.kind not in "iuf"):
        raise LossTypeError(f"{name} is {reprlib.repr(told)}; {accepted}")
    if column.size != n:
        raise LossError(f"{name} is {reprlib.repr(told)}, {column.size} in number; {accepted}")
    if (i := _first(~((column >= low) & (column <= high)))) is not None:
        raise LossError(f"{name}[{i}] is {column[i]!s}; {accepted} (see loss_range)")
    numbers: Vector = np.array(column, dtype=np.float64)
    if as_given:
        return numbers
    return (numbers - low) / (high - low) if rewards is None else (high - numbers) / (high - low)


def _column(given: Any) -> Any:
    """An array with one axis, or None."""
    try:
        column = None if isinstance(given, np.ma.MaskedArray | str | bytes) else np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        column = None
    return column if column is not None and column.ndim == 1 else None


def _first(wrong: Any) -> int | None:
    """Where the first one is."""
    found = np.flatnonzero(wrong)
    return int(found[0]) if found.size else None
