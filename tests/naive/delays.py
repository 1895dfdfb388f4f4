"""How many decisions a learner waits for, slow and obvious, from exact integers.

A delay, next_id - id at the tell, is counted in the first of 160 classes whose end it does not exceed; class j ends at
the fourth root of 2^j, the last one nowhere. Counts are halved when they sum to 1024, down but for those of delays of
1, which are halved up after one is added. The reach is the end of the first class with which at least 49 of 50 counts
are reached, without end if that is the last one, or nothing was counted. It is found anew when the counts are halved,
when more than 1 of 50 lie above it, and at each count while it is without end: so it rises at once, and falls slowly.
"""

from __future__ import annotations

import math

N_CLASSES, MEMORY = 160, 1024


def class_of(delay: int) -> int:
    return next((j for j in range(N_CLASSES) if delay**4 <= 2**j), N_CLASSES - 1)


def end_of(j: int) -> int | None:
    """The longest delay in a class."""
    return None if j == N_CLASSES - 1 else math.isqrt(math.isqrt(2**j))


class Delays:
    """The counts, and the reach: None if it is without end."""

    def __init__(self) -> None:
        self.counts = [0] * N_CLASSES
        self.reach: int | None = None

    def add(self, delay: int) -> None:
        self.counts[class_of(delay)] += 1
        full = sum(self.counts) == MEMORY
        if full:
            self.counts = [(n + (j == 0)) // 2 for j, n in enumerate(self.counts)]
        if full or self.reach is None or 50 * self.above() > sum(self.counts):
            self.reach = self.found()

    def above(self) -> int:
        """How many are longer than the reach."""
        return sum(n for j, n in enumerate(self.counts) if (end_of(j) or math.inf) > (self.reach or math.inf))

    def found(self) -> int | None:
        total = sum(self.counts)
        j = next(j for j in range(N_CLASSES) if 50 * sum(self.counts[: j + 1]) >= 49 * total)
        return end_of(j) if total else None


class Waiting:
    """The ids that are outstanding, and the delays of those that were told."""

    def __init__(self) -> None:
        self.delays = Delays()
        self.ids: list[int] = []
        self.next_id = 0

    def m(self) -> int:
        """How many pulls the next ask plans: itself and all that may be told after it, rounded to a power of two."""
        reach = self.delays.reach
        n = 1 + sum(reach is None or self.next_id - number < reach for number in self.ids)
        return max(1 << j for j in range(21) if 1 << j <= n)

    def ask(self) -> int:
        self.ids.append(self.next_id)
        self.next_id += 1
        return self.next_id - 1

    def tell(self, number: int) -> None:
        self.ids.remove(number)
        self.delays.add(self.next_id - number)

    def forget(self, number: int) -> None:
        self.ids.remove(number)
