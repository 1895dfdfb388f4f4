"""Validation of numbers, of options with a few named values, and of arrays for statistics."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from turncoat.errors import OptionError
from turncoat.types import Floats, Vector

MOST_ROUNDS = 2**53  # up to here a clock and the floats computed from it are exact
METHODS = ("t", "bootstrap-t")


def is_whole(value: Any) -> bool:
    """Is it a whole number, and not a bool?"""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Is it a real number, and not a bool?"""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def parse_whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    if not is_whole(value) or not least <= value <= most:
        raise OptionError(f"{name} is {value!r}; accepted are whole numbers from {least} to {most}")
    return int(value)


def parse_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """A finite number from low to high."""
    if not is_number(value) or not low <= value <= high or not math.isfinite(value):
        top = f"to {high:g}" if math.isfinite(high) else "on"
        raise OptionError(f"{name} is {value!r}; accepted are finite numbers from {low:g} {top}")
    return float(value)


def parse_between(name: str, value: Any, least: float, most: float) -> float:
    """A number from `least` to `most`."""
    if not is_number(value) or not least <= value <= most:
        raise OptionError(f"{name} is {value!r}; accepted are numbers from {least:g} to {most:g}")
    return float(value)


def parse_positive(name: str, value: Any, most: float) -> float:
    """A number above 0 and at most `most`."""
    number = float(value) if is_number(value) and 0 < value <= most else 0.0
    if number == 0.0:  # a fraction may be above 0 and yet no float
        raise OptionError(f"{name} is {value!r}; accepted are numbers above 0 and at most {most:g}")
    return number


def parse_word(name: str, word: str, words: Collection[str]) -> str:
    """One of the words an option knows."""
    if not isinstance(word, str) or word not in words:
        raise OptionError(f"{name} is {word!r}; accepted are {', '.join(repr(known) for known in words)}")
    return word


def parse_level(level: Any) -> float:
    """How often an interval shall hold the truth: a number between 0 and 1."""
    if not is_number(level) or not 0.0 < float(level) < 1.0:
        raise OptionError(f"level is {level!r}; accepted are numbers above 0 and below 1, such as 0.95")
    return float(level)


def parse_method(method: Any) -> str:
    """How an interval is made: one of the words in `METHODS`."""
    if not isinstance(method, str) or method not in METHODS:
        raise OptionError(f"method is {method!r}; accepted are {' and '.join(map(repr, METHODS))}")
    return method


def parse_offset(offset: Any) -> float:
    """What is added to both sides of a ratio: a finite number of at least 0."""
    if not is_number(offset) or not 0.0 <= float(offset) < math.inf:
        raise OptionError(f"offset is {offset!r}; accepted are finite numbers of at least 0")
    return float(offset)


def parse_numbers(name: str, values: ArrayLike, *axes: str) -> Floats:
    """An array of numbers with these axes ("…" first stands for any number of them); what is not finite becomes NaN."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):  # ragged, or text
        raise OptionError(f"{name} are {reprlib.repr(values)}; accepted are numbers, {_shape(axes)}") from None
    least = len(axes) - (axes[0] == "…")
    if numbers.ndim < least or (numbers.ndim > least and axes[0] != "…"):
        raise OptionError(f"{name} have the shape {numbers.shape}; accepted are numbers, {_shape(axes)}")
    if any(n == 0 and axis != "seeds" for n, axis in zip(numbers.shape[::-1], axes[::-1], strict=False)):
        raise OptionError(f"{name} have the shape {numbers.shape}; only the seeds may be none at all, {_shape(axes)}")
    return np.where(np.isfinite(numbers), numbers, math.nan)


def parse_sizes(sizes: ArrayLike) -> Vector:
    """Horizons or numbers of switches, all finite and above 0, for their logarithms are taken."""
    numbers = parse_numbers("sizes", sizes, "points")
    for value in numbers:
        if not value > 0.0:
            raise OptionError(
                f"sizes hold {value!r}; accepted are finite numbers above 0, as their logarithms are taken"
            )
    return numbers


def _shape(axes: tuple[str, ...]) -> str:
    return f"in an array over ({', '.join(axes)})"
