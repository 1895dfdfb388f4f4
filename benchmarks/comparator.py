"""Speed of the exact comparator, in cells per second: one cell is one arm at one number of switches in one round."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from turncoat.regret import best_switching_losses, best_switching_path
from turncoat.types import Matrix

SHAPES = [(100_000, 10, 50), (1_000_000, 2, 5), (5_000, 1_000, 10)]  # T, K, S
TARGET = 5e8  # cells per second, for best_switching_losses on the first shape


class Row(NamedTuple):
    """One call on one random table."""

    call: str
    T: int
    K: int
    S: int
    seconds: float
    cells_per_second: float


def _best_of(repeats: int, call: Callable[..., Any], losses: Matrix, S: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(losses, S)
        times.append(time.perf_counter() - start)
    return min(times)


def rows(repeats: int = 3) -> list[Row]:
    """Time both calls on every shape, checks of the table included; the best of a few repeats."""
    measured = []
    calls: list[Callable[..., Any]] = [best_switching_losses, best_switching_path]
    for call in calls:
        call(np.zeros((3, 2)), 1)  # compile
        for T, K, S in SHAPES:
            losses = np.random.default_rng(0).random((T, K))
            seconds = _best_of(repeats, call, losses, S)
            measured.append(Row(call.__name__, T, K, S, seconds, T * K * (S + 1) / seconds))
    return measured


def main() -> None:
    """Print one line per row."""
    print(f"{'comparator':24}{'T':>10}{'K':>7}{'S':>5}{'seconds':>10}{'cells/s':>10}   (target {TARGET:.0e})")
    for row in rows():
        print(f"{row.call:24}{row.T:10,}{row.K:7,}{row.S:5}{row.seconds:10.4f}{row.cells_per_second:10.2e}")


if __name__ == "__main__":
    main()
