"""Numbers as people type them, and as they read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import click

DIGITS = 5  # that count, of the largest number
LARGEST, LEAST = 1e9, 1e-3  # beyond these the largest number is written with a power of ten
WHOLE = 1e12  # whole numbers are written out below this


def whole_number(context: click.Context, option: click.Parameter, typed: str | None) -> int | None:
    """A whole number of at least 1; 1e6 is one. Nothing, if nothing was typed."""
    return None if typed is None else _whole(typed)


def whole_numbers(context: click.Context, option: click.Parameter, typed: str) -> list[int]:
    """One whole number or several, with commas between them."""
    return [_whole(part.strip()) for part in typed.split(",")]


def _whole(typed: str) -> int:
    try:
        number = float(typed) if "e" in typed.lower() else int(typed)
        if number >= 1 and number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise click.BadParameter(f"{typed!r} is not a whole number of at least 1 (1000, 1_000 or 1e3)")


def writer(numbers: Iterable[float]) -> Callable[[float], str]:
    """A way to write all of these, with the same decimals for all and enough of them for the largest."""
    known = [abs(float(number)) for number in numbers]
    largest = max(known, default=0.0)
    if largest < WHOLE and all(number.is_integer() for number in known):
        decimals = 0
    elif LEAST <= largest < LARGEST:
        decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest)))
    else:
        return lambda number: f"{number:.{DIGITS - 1}e}"
    return lambda number: f"{round(number, decimals) + 0.0:,.{decimals}f}"  # + 0.0: no -0


def counted(number: int, noun: str, nouns: str = "") -> str:
    """1 arm, 2 arms."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
