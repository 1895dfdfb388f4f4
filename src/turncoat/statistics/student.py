"""Student's t: how many standard errors an interval reaches to either side of a mean.

The distribution function has a closed form for whole degrees of freedom (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4);
it is turned around by bisection. So no further package is needed.

Reference: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", National Bureau of Standards (1964).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


def within(angle: float, n_free: int) -> float:
    """P(|t| <= sqrt(n_free) tan(angle)) for Student's t with n_free degrees of freedom."""
    k = np.arange(1, (n_free + 1) // 2 if n_free % 2 == 0 else (n_free - 1) // 2, dtype=np.float64)
    square = math.cos(angle) ** 2
    if n_free % 2 == 0:
        terms = np.cumprod((2 * k - 1) / (2 * k) * square)
        return math.sin(angle) * (1.0 + float(terms.sum()))  # 26.7.4
    if n_free == 1:
        return 2 * angle / math.pi
    terms = np.cumprod(2 * k / (2 * k + 1) * square)
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * (1.0 + float(terms.sum())))  # 26.7.3


@lru_cache(maxsize=1024)
def t_quantile(level: float, n_free: int) -> float:
    """The q with P(|t| <= q) = level; infinite without a degree of freedom."""
    if n_free < 1:
        return math.inf
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if within(middle, n_free) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(n_free) * math.tan(high)
