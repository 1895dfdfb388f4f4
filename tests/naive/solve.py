"""Slow, obvious mirror-descent steps on the clipped simplex {q : sum q = 1, q >= floor}.

Both steps are solved for any non-negative loss vector, all coordinates alike: nothing here knows that bandit
estimates have a single non-zero entry. Arithmetic is numpy's long double, so that the rounding noise of the oracle lies
below that of whatever is compared with it (where a long double is a double, it still works, with a few digits less).

Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025: the two argmins of Algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

REAL = np.longdouble
Reals = NDArray[np.longdouble]

HALVINGS = 64
NEWTON_STEPS = 3


def reals(values: Sequence[float | REAL] | Reals) -> Reals:
    """The values as an array of long doubles."""
    return np.array(values, dtype=REAL)


def zeros(n: int) -> Reals:
    """So many zeros."""
    return np.zeros(n, dtype=REAL)


def floats(values: Reals) -> list[float]:
    """The values as a list of floats."""
    numbers: list[float] = values.astype(np.float64).tolist()
    return numbers


def entropy_projection(w: Reals, floor: REAL) -> Reals:
    """The distribution q >= floor nearest to the weights w in relative entropy: q_i = max(floor, c w_i), sum q = 1.

    Try every number n of coordinates left free, the heaviest first: then c = (1 - (K - n) floor) / (their sum). The
    answer is the largest n whose lightest free coordinate still reaches the floor.
    """
    K = len(w)
    n = np.arange(1, K + 1)
    heaviest_first = np.sort(w)[::-1]
    c = (1 - (K - n) * floor) / np.cumsum(heaviest_first)
    n_free = int(n[c * heaviest_first >= floor].max(initial=1))
    c_free = (1 - (K - n_free) * floor) / heaviest_first[:n_free].sum()
    q: Reals = np.maximum(floor, c_free * w)
    return q


def entropy_step(p: Reals, loss: Reals, rate: REAL, floor: REAL) -> Reals:
    """argmin over q of <q, loss> + (1/rate) sum_i (q_i ln(q_i/p_i) - q_i + p_i), over the clipped simplex."""
    return entropy_projection(p * np.exp(-rate * (loss - loss.min())), floor)


def log_barrier_step(p: Reals, loss: Reals, rates: Reals, floor: REAL) -> Reals:
    """argmin over q of <q, loss> + the Bregman divergence of -sum_i ln(q_i)/rates_i, over the clipped simplex.

    Where q_i is above the floor, 1/q_i = 1/p_i + rates_i (loss_i - z); z makes the sum 1. Taking the smallest loss off
    all of them changes nothing but z. At z = 0 no coordinate has grown, so the sum is at most 1; at the upper end one
    coordinate is 1 by itself. Bisection in floats, then a few Newton steps in long doubles for the last digits.
    """
    if np.all(loss == loss[0]):
        return p.copy()  # a constant loss moves nothing
    c = 1 / p + rates * (loss - loss.min())
    z = REAL(bisect_barrier(floats(c), floats(rates), float(floor)))
    for _ in range(NEWTON_STEPS):
        free = 1 / (c - rates * z)
        slope = np.where(free >= floor, rates * free * free, 0).sum()
        z -= (np.maximum(floor, free).sum() - 1) / slope
    q: Reals = np.maximum(floor, 1 / (c - rates * z))
    return q


def bisect_barrier(c: list[float], rates: list[float], floor: float) -> float:
    """The z at which sum_i max(floor, 1/(c_i - rates_i z)) crosses 1."""
    low, high = 0.0, min((value - 1) / rate for value, rate in zip(c, rates, strict=True))
    pairs = list(zip(c, rates, strict=True))
    for _ in range(HALVINGS):
        z = (low + high) / 2
        if not low < z < high:
            break  # nothing is left to halve
        total = 0.0
        for value, rate in pairs:
            q = 1 / (value - rate * z)
            total += q if q > floor else floor
        if total < 1:
            low = z
        else:
            high = z
    return (low + high) / 2


class Sums:
    """Running sums that lose no digits: each keeps beside it what rounding took away (Knuth's two-sum)."""

    def __init__(self, n: int) -> None:
        self.total = np.zeros(n, dtype=REAL)
        self.lost = np.zeros(n, dtype=REAL)

    def add(self, i: int | slice, x: REAL | Reals) -> None:
        """Add to one of the sums, or to a slice of them."""
        old = self.total[i]
        new = old + x
        kept = new - old
        self.lost[i] += (old - (new - kept)) + (x - kept)
        self.total[i] = new

    def above_least(self) -> Reals:
        """Each sum minus the smallest of them."""
        least = int(np.argmin(self.total + self.lost))
        above: Reals = (self.total - self.total[least]) + (self.lost - self.lost[least])
        return above

    def below_greatest(self) -> Reals:
        """The greatest of the sums minus each."""
        greatest = int(np.argmax(self.total + self.lost))
        below: Reals = (self.total[greatest] - self.total) + (self.lost[greatest] - self.lost)
        return below


def falling_softmax(x: Reals) -> Reals:
    """exp(-x) divided by its sum, for x >= 0 with a zero somewhere."""
    w: Reals = np.exp(-x.astype(np.float64)).astype(
        REAL
    )  # 5e-14 at worst where the weight is 1e-200, 3e-15 above 1e-10
    p: Reals = w / w.sum()
    return p
