"""What a user hands to an environment, checked. Every refusal names the value and says what is accepted."""

from __future__ import annotations

import math
import reprlib
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from turncoat.errors import OptionError
from turncoat.types import Ints, Words

MOST_ROUNDS = 2**53  # up to here rounds and the floats computed from them are exact

Noise: TypeAlias = str | float


def parse_whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise OptionError(f"{name} is {value!r}; accepted are whole numbers from {low} to {high}")
    return int(value)


def parse_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """A finite number from low to high."""
    fits = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not fits or not low <= value <= high or not math.isfinite(value):
        top = f"to {high:g}" if math.isfinite(high) else "on"
        raise OptionError(f"{name} is {value!r}; accepted are finite numbers from {low:g} {top}")
    return float(value)


def parse_switches(n_switches: Any, n_arms: int, horizon: int) -> int:
    """The number of switches of the best arm: fewer than there are rounds, and none with a single arm."""
    high = horizon - 1 if n_arms > 1 else 0
    if isinstance(n_switches, bool) or not isinstance(n_switches, int | np.integer) or not 0 <= n_switches <= high:
        raise OptionError(
            f"n_switches is {n_switches!r}; accepted are whole numbers from 0 to horizon - 1 = {horizon - 1} "
            "(0 with a single arm)"
        )
    return int(n_switches)


def parse_noise(noise: Any) -> Noise:
    """How losses scatter around their means: "bernoulli" (0 or 1), or how far at most, uniformly, from 0 to 0.5."""
    if isinstance(noise, str) and noise == "bernoulli":
        return noise
    if isinstance(noise, bool) or not isinstance(noise, Real) or not 0.0 <= float(noise) <= 0.5:
        raise OptionError(
            f"noise is {noise!r}; accepted are 'bernoulli' (losses 0 or 1) and numbers from 0 (losses are their means) "
            "to 0.5 (losses lie within that distance of their means)"
        )
    return float(noise)


def parse_played(name: str, arms: ArrayLike, n_arms: int, horizon: int) -> Ints:
    """A sequence of arms, one a round from the first on, as compiled code reads it."""
    try:
        played = np.asarray(arms)
    except (ValueError, TypeError, OverflowError):  # ragged, for one
        played = np.empty((0, 0))
    fits = played.ndim == 1 and played.size <= horizon and (played.dtype.kind in "iu" or not played.size)
    if not fits or np.any((played < 0) | (played >= n_arms)):
        raise OptionError(
            f"{name} is {reprlib.repr(arms)}; accepted are at most {horizon} whole numbers from 0 to {n_arms - 1}"
        )
    return played.astype(np.int64)


def seed_text(words: Words) -> str:
    """The random words that a seed stands for, as text."""
    return "-".join(f"{word:016x}" for word in words.tolist())
