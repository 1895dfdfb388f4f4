"""Checkpoints: the few hundred rounds after which a race writes down how things stand, and the blocks between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from turncoat.types import Ints

N_LINEAR, N_LOGARITHMIC = 100, 100


class Stopped(Exception):
    """Somebody wanted the race to end before this game did."""


def checkpoints(horizon: int) -> Ints:
    """Numbers of rounds played, in rising order and each once: evenly spaced ones, even ones on a log scale, and T."""
    linear = [horizon * i // N_LINEAR for i in range(1, N_LINEAR + 1)]
    logarithmic = np.geomspace(1, horizon, N_LOGARITHMIC).round().astype(np.int64)
    both = np.union1d(np.array(linear, dtype=np.int64), logarithmic)
    return both[(both >= 1) & (both <= horizon)]


def blocks(t: Ints, size: Callable[[], int], stopping: Callable[[], bool]) -> Iterator[tuple[int, int, int]]:
    """Go from 0 to the last checkpoint, at most size() rounds at a time and never across a checkpoint.

    Yields the row of the next checkpoint and the rounds to play before it: first … stop - 1. It is reached where stop
    is t[row]. Raises Stopped if that is wished for between two blocks.
    """
    first = 0
    for row, goal in enumerate(t.tolist()):
        while first < goal:
            if stopping():
                raise Stopped
            stop = min(first + size(), goal)
            yield row, first, stop
            first = stop
