"""What is handed to the statistics, checked. Every refusal names the value and says what is accepted."""

from __future__ import annotations

import math
import reprlib
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat.errors import OptionError
from turncoat.types import Vector

Floats: TypeAlias = NDArray[np.float64]

METHODS = ("t", "bootstrap-t")


def parse_level(level: Any) -> float:
    """How often an interval shall hold the truth: a number between 0 and 1."""
    if isinstance(level, bool | np.bool_) or not isinstance(level, Real) or not 0.0 < float(level) < 1.0:
        raise OptionError(f"level is {level!r}; accepted are numbers above 0 and below 1, such as 0.95")
    return float(level)


def parse_method(method: Any) -> str:
    """How an interval is made: one of the words in `METHODS`."""
    if not isinstance(method, str) or method not in METHODS:
        raise OptionError(f"method is {method!r}; accepted are {' and '.join(map(repr, METHODS))}")
    return method


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


def parse_offset(offset: Any) -> float:
    """What is added to both sides of a ratio: a finite number of at least 0."""
    fits = isinstance(offset, Real) and not isinstance(offset, bool | np.bool_)
    if not fits or not 0.0 <= float(offset) < math.inf:
        raise OptionError(f"offset is {offset!r}; accepted are finite numbers of at least 0")
    return float(offset)


def _shape(axes: tuple[str, ...]) -> str:
    return f"in an array over ({', '.join(axes)})"
