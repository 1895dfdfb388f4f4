"""Cases of a test of which `make test` tries some, and `make test-all` all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numba
import pytest
from hypothesis import settings

JIT_OFF = bool(numba.config.DISABLE_JIT)
EVERY_CASE = bool(os.environ.get("TURNCOAT_EVERY_CASE"))  # set by `make test-all`


def some(cases: Iterable[Any], wanted: int | Callable[..., Any], *, when: bool = True) -> list[Any]:
    """All cases as parameters; but for the first few, or those that are wanted, they are for `make test-all` alone.

    A case is a value, or a tuple of values, which `wanted` is then called with. Unless `when`, all are for `make test`.
    """
    found = []
    for n, one in enumerate(cases):
        values = one if isinstance(one, tuple) else (one,)
        kept = not when or (n < wanted if isinstance(wanted, int) else wanted(*values))
        found.append(one if kept else pytest.param(*values, marks=pytest.mark.exhaustive))
    return found


def where(dear: bool) -> list[pytest.MarkDecorator]:
    """The marks of a case: where it is dear, it is for `make test-all` alone."""
    return [pytest.mark.exhaustive] if dear else []


# Of what compiles nothing, and is the same in both passes: with the JIT off it is there for `make coverage`.
compiles_nothing = [pytest.mark.jit_off, *where(JIT_OFF)]


def examples(few: int, many: int) -> settings:
    """How many examples of a law `make test` tries, and `make test-all`."""
    return settings(max_examples=many if EVERY_CASE else few)
