"""Printing to the terminal with rich: the console, plain tables, number formats, and a fallback for its encoding.

Light to import: rich is imported when something is printed.
"""

from __future__ import annotations

import codecs
import math
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

PLAIN = {"±": "+-", "–": "-", "−": "-", "…": "...", "√": "sqrt ", "·": "*", "⅓": "(1/3)", "⅔": "(2/3)", "≤": "<="}
DIGITS = 5  # significant digits of the largest number
LARGEST, LEAST = 1e9, 1e-3  # outside this range, numbers are written with an exponent
WHOLE = 1e12  # whole numbers below this are written in full


def screen(*, stderr: bool = False) -> Console:
    """A rich console without markup: brackets and colons in the names of learners and files are printed as they are."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def plain_table(*columns: str | Column, gap: int = 2) -> Table:
    """A table with a line below its header, and `gap` blanks between its columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(*columns, box=SIMPLE_HEAD, padding=(0, gap, 0, 0), show_edge=False, pad_edge=False)


def right(*heads: str) -> list[Column]:
    """Columns of numbers."""
    from rich.table import Column

    return [Column(head, justify="right") for head in heads]


def text(head: str) -> Column:
    """A column of text, which is folded where there is too little room."""
    from rich.table import Column

    return Column(head, overflow="fold")


def writer(numbers: Iterable[float]) -> Callable[[float], str]:
    """A format for all these numbers: the same number of decimals, chosen for the largest."""
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
    """A number and its noun, pluralised: `1 arm`, `2 arms`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def show_what_can_be_shown() -> None:
    """Make stdout and stderr replace characters that their encoding lacks, instead of raising UnicodeEncodeError."""
    codecs.register_error("turncoat-plain", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="turncoat-plain")


def _plainly(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeEncodeError)
    signs = problem.object[problem.start : problem.end]
    return "".join(PLAIN.get(sign, "?") for sign in signs), problem.end
