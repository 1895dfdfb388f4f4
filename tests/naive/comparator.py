"""The best sequence of arms with few switches, in plain Python, twice: by trying all of them, and by recursion.

Totals are added up round by round, from the first. `losses` is a list of rounds, each a list of one number an arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product


def count_switches(arms: Sequence[int]) -> int:
    """How often the arm differs from the one before it."""
    return sum(before != after for before, after in pairwise(arms))


def total_loss(losses: Sequence[Sequence[float]], arms: Sequence[int]) -> float:
    """The loss of a sequence of arms, one a round."""
    total = 0.0
    for row, arm in zip(losses, arms, strict=True):
        total += row[arm]
    return total


def brute_force(losses: Sequence[Sequence[float]], max_switches: int) -> list[float]:
    """L*(0), …, L*(max_switches) by trying every one of the K**T sequences."""
    least = [math.inf] * (max_switches + 1)
    for arms in product(range(len(losses[0])), repeat=len(losses)):
        total = total_loss(losses, arms)
        for s in range(count_switches(arms), max_switches + 1):
            least[s] = min(least[s], total)
    return least


def recursion(losses: Sequence[Sequence[float]], max_switches: int) -> list[float]:
    """The same by recursion over (round, arm, *exact* number of switches); a switch goes to another arm, j != k."""
    arms = range(len(losses[0]))
    exact = [[loss] + [math.inf] * max_switches for loss in losses[0]]  # exact[k][s]: ends in k after s switches
    for row in losses[1:]:
        exact = [
            [
                row[k] + min([exact[k][s]] + [exact[j][s - 1] for j in arms if j != k and s > 0])
                for s in range(max_switches + 1)
            ]
            for k in arms
        ]
    return [min(exact[k][r] for k in arms for r in range(s + 1)) for s in range(max_switches + 1)]
