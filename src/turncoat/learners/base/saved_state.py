"""Checks of saved states: compiled code reads a buffer without bounds checks, so it is validated first."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from turncoat.errors import StateError
from turncoat.mirror.tree import rebuild
from turncoat.types import Vector
from turncoat.validation.numbers import is_whole

KEYS = (
    "format",
    "turncoat",
    "learner",
    "arms",
    "horizon",
    "loss_range",
    "options",
    "token",
    "next_id",
    "outstanding",
    "buffer",
)
Checks: TypeAlias = Iterator[tuple[Any, str]]  # (is this wrong?, the text that says so)
MOST_TOLD = 2**53  # what a clock can have counted
MOST_COUNTED = 2.0**60  # rounds that never come, and a little after them, among it


def packed(array: Any) -> str:
    """The bytes of an array as base64 text."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def unpacked(text: Any, dtype: str) -> Any:
    """The array that was packed."""
    if not isinstance(text, str):
        raise StateError(f"{text!r} is not base64 text")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)


def check_fields(state: dict[str, Any], options: tuple[str, ...]) -> None:
    """Are all parts there, and of the types that `state()` writes?"""
    missing = [key for key in KEYS if key not in state]
    if missing:
        raise StateError(f"the state has no {missing[0]!r}")
    if not isinstance(state["arms"], list):
        raise StateError(f"the state's arms are {state['arms']!r}; accepted is a list of labels")
    if not isinstance(state["options"], dict) or set(state["options"]) != set(options):
        wanted = ", ".join(options) or "no words at all"
        raise StateError(f"the state's options are {state['options']!r}; accepted is a dict with exactly {wanted}")
    if not isinstance(state["token"], str) or not state["token"]:
        raise StateError(f"the state's token is {state['token']!r}; accepted is a str that is not empty")
    if not is_whole(state["next_id"]) or state["next_id"] < 0:
        raise StateError(f"the state's next_id is {state['next_id']!r}; accepted are whole numbers of at least 0")


def outstanding_ids(state: dict[str, Any]) -> set[int]:
    """The ids of the decisions that wait to be told: distinct, and each below the next one."""
    listed = unpacked(state["outstanding"], "<i8").tolist()
    ids = set(listed)
    if len(ids) < len(listed) or (ids and not (min(ids) >= 0 and max(ids) < state["next_id"])):
        raise StateError(f"the state's outstanding ids are not distinct numbers from 0 to {state['next_id'] - 1}")
    return ids


def problem(view: Any, K: int, signed: tuple[str, ...]) -> str:
    """What no learner can have written into its buffer; empty if there is nothing."""
    if not view.rng.any():
        return "the random words are all zero"
    if not 0 <= view.clock[0] <= MOST_TOLD:
        return f"the clock stands at {view.clock[0]}"
    for name, values in _numbers(view):
        if not np.isfinite(values).all():
            return f"{name} holds a value that is not finite"
        if name not in signed and np.any(values < 0):
            return f"{name} holds a negative value"
        if name in ("tree", "trees") and not all(_is_sum_tree(row, K) for row in np.atleast_2d(values)):
            return f"{name} holds sums that are not those of its leaves"
    return ""


def are_counts(*counts: Vector) -> bool:
    """Are all of these whole numbers that compiled code can hold, as whatever was counted is?"""
    return all(np.all((n == np.floor(n)) & (n <= MOST_COUNTED)) for n in counts)


def _numbers(view: Any) -> Iterator[tuple[str, Any]]:
    """Every named number of a view, random words and clock aside."""
    for name, value in view.items():
        if name not in ("rng", "clock"):
            yield name, np.asarray(value, dtype=np.float64)


def _is_sum_tree(tree: Vector, K: int) -> bool:
    """Kernels add up children, always in one order; so a sound tree is, to the bit, what its K leaves give."""
    again = np.zeros_like(tree)
    again[:K] = tree[:K]
    rebuild(again, K)
    return bool(np.array_equal(again, tree))
