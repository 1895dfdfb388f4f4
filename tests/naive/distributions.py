"""The distributions that masters and bases keep: a mirror-descent step, and what is served.

*Clipped* is the paper's update, an exact step on the simplex with a floor. *Mixed* is the paper's remark on
implementation: a step without floor on an inner distribution, of which (1 - n floor) inner + floor is served.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tests.naive.solve import REAL, Reals, Sums, entropy_step, falling_softmax, log_barrier_step


class Distribution(Protocol):
    """Something that serves probabilities and takes steps."""

    def served(self) -> Reals: ...

    def step(self, loss: Reals, rate: Any) -> None: ...


def uniform(n: int) -> Reals:
    return np.full(n, 1 / REAL(n), dtype=REAL)


class ClippedEntropy:
    """Negative entropy on the clipped simplex."""

    def __init__(self, n: int, floor: REAL) -> None:
        self.floor = floor
        self.p = uniform(n)

    def served(self) -> Reals:
        return self.p

    def step(self, loss: Reals, rate: Any) -> None:
        self.p = entropy_step(self.p, loss, REAL(rate), self.floor)


class MixedEntropy:
    """Negative entropy without floor, mixed with uniform when served.

    Steps without floor multiply, so the inner distribution is the softmax of minus the sum of rate x loss; kept as that
    sum, a weight far below the smallest float can still come back.
    """

    def __init__(self, n: int, floor: REAL) -> None:
        self.floor = floor
        self.exponents = Sums(n)
        self.p = uniform(n)

    def served(self) -> Reals:
        return self.p

    def step(self, loss: Reals, rate: Any) -> None:
        for i in np.flatnonzero(loss):
            self.exponents.add(int(i), REAL(rate) * loss[i])
        inner = falling_softmax(self.exponents.above_least())
        self.p = (1 - len(inner) * self.floor) * inner + self.floor


class ClippedBarrier:
    """Log-barrier, one rate a coordinate, on the clipped simplex."""

    def __init__(self, n: int, floor: REAL) -> None:
        self.floor = floor
        self.p = uniform(n)

    def served(self) -> Reals:
        return self.p

    def step(self, loss: Reals, rate: Any) -> None:
        self.p = log_barrier_step(self.p, loss, rate, self.floor)


class MixedBarrier:
    """Log-barrier without floor, mixed with uniform when served (the master of CORRAL)."""

    def __init__(self, n: int, floor: REAL) -> None:
        self.floor = floor
        self.inner = uniform(n)

    def served(self) -> Reals:
        return (1 - len(self.inner) * self.floor) * self.inner + self.floor

    def step(self, loss: Reals, rate: Any) -> None:
        self.inner = log_barrier_step(self.inner, loss, rate, REAL(0))
