"""What a benchmark returns: a table to print, and the targets it was measured for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

Key = TypeVar("Key")


class Target(NamedTuple):
    """A figure that was promised. `at_most` says which side of the limit is good."""

    promise: str
    measured: float
    limit: float
    at_most: bool
    unit: str = "×"

    @property
    def reached(self) -> bool:
        """Is the measured figure on the good side? NaN, for what could not be measured, is not."""
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit


class Table(NamedTuple):
    """One table: the first column holds words, the others numbers or words."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[Any]]


class Result(NamedTuple):
    """What one benchmark found."""

    tables: list[Table]
    targets: list[Target]


def best_of(repeats: int, timings: Mapping[Key, Callable[[], float]], enough: float = 4.0) -> dict[Key, float]:
    """The smallest of several timings of each contestant: on a shared machine noise only adds.

    Everybody has a turn before anybody has a second, so that a slow spell of the machine hits all alike. Who has used
    up `enough` seconds is not asked again.
    """
    best: dict[Key, float] = {}
    used = dict.fromkeys(timings, 0.0)
    for _ in range(repeats):
        for key, once in timings.items():
            if used[key] < enough:
                took = once()
                best[key], used[key] = min(took, best.get(key, took)), used[key] + took
    return best


def seconds(call: Callable[[], Any]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def short(value: Any) -> str:
    """A cell as text: three or four digits that matter."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value != 0.0 and not 0.001 <= abs(value) < 1e7:
        return f"{value:.2e}"
    return f"{value:,.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"


def show(table: Table) -> str:
    """The table as aligned text."""
    cells = [table.columns, *([short(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(pairs)).rstrip()
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join([table.title, *lines, f"({table.note})"])


def show_targets(targets: list[Target]) -> str:
    """One line a target: reached or not, the figure, the limit, and how the two compare."""
    rows = [
        [
            target.promise,
            f"{short(target.measured)} {target.unit}",
            f"{'≤' if target.at_most else '≥'} {short(target.limit)} {target.unit}",
            target.measured / target.limit if target.limit else "",
            "not measured" if math.isnan(target.measured) else "reached" if target.reached else "NOT reached",
        ]
        for target in targets
    ]
    note = "ratio: measured / limit"
    return show(Table("Targets", note, ["promise", "measured", "limit", "ratio", ""], rows))
