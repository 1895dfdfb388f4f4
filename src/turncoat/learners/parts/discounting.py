"""Discounted sums: in every round all of them shrink by a factor gamma, and one of them grows.

    X(a) <- gamma X(a) for every a, then X(a_t) += x                                    (1)

Lazy discounting: what is stored is X(a) w, with w = gamma^-age and `age` the number of rounds
since the last rescaling, so (1) is a single addition of x w. Before w can overflow all sums are divided by it and the
age starts again. Both w and 1/w come from one power of gamma, not from a product of many, so rounding
errors do not accumulate: sums are as precise after a million rounds as after a hundred. A sum that nothing is added to
falls to 0 in the end.
"""

from __future__ import annotations

import math
from typing import Any

from turncoat._compile.jit import jit
from turncoat.mirror.entropy import LARGEST_TOTAL
from turncoat.types import Vector
from turncoat.validation.numbers import parse_between

SMALLEST_DISCOUNT = 1e-6


def discount_for(T: int, S: int | None) -> float:
    """gamma = 1 - sqrt(S/T)/4, of the guarantee of Garivier & Moulines (2011) for D-UCB; without S as for S = 1.

    With no switch at all nothing is forgotten: gamma = 1.
    """
    return 1.0 - 0.25 * math.sqrt((1 if S is None else S) / T)


def parse_discount(discount: Any, tuned: float) -> float:
    """The discount that a user gave, or else the one tuned to the game."""
    return tuned if discount is None else parse_between("discount", discount, SMALLEST_DISCOUNT, 1.0)


@jit
def weight(gamma: float, age: float) -> float:
    """w, the factor by which stored sums are too large."""
    return math.pow(gamma, -age)


@jit
def grow_older(gamma: float, age: Vector, first: Vector, second: Vector) -> float:
    """Discount all sums of both vectors by gamma; returns w, by which a number is multiplied before it is added."""
    age[0] += 1.0
    w = weight(gamma, age[0])
    if w > LARGEST_TOTAL:
        for a in range(first.size):
            first[a] /= w
            second[a] /= w
        age[0] = 0.0
        w = 1.0
    return w
