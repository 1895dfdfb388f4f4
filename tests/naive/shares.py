"""What is served after floors and caps, found by halving an interval instead of by pouring over.

Pouring what is above a cap onto the others, in proportion to what they have, ends where every arm has the same multiple
of what it had, or its cap: p_i = min(c_i, m s_i), with the one m for which they sum to 1. (It is also the distribution
nearest to s, in relative entropy, that keeps the caps.) Arms that had nothing get something only if all others are at
their caps: then in proportion to theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def with_floors(weights: Sequence[float], floors: Sequence[float]) -> list[float]:
    """A floor each, and the rest divided as the learner says."""
    total, rest = math.fsum(weights), 1.0 - math.fsum(floors)
    return [floor + rest * weight / total for floor, weight in zip(floors, weights, strict=True)]


def with_caps(shares: Sequence[float], caps: Sequence[float]) -> list[float]:
    """The nearest that keeps the caps; where they leave too little room, in proportion to them."""
    room = math.fsum(caps)
    if room == 0.0:
        return [1.0 / len(caps)] * len(caps)
    if room <= 1.0:
        return [cap / room for cap in caps]
    most = math.fsum(cap for share, cap in zip(shares, caps, strict=True) if share > 0.0)
    if most <= 1.0:
        others = math.fsum(cap for share, cap in zip(shares, caps, strict=True) if share == 0.0)
        return [cap if share > 0.0 else (1.0 - most) * cap / others for share, cap in zip(shares, caps, strict=True)]
    low, high = -1100.0, 1100.0  # of log2 of the multiple
    for _ in range(80):  # halves of 2200 until nothing is left of a float
        middle = (low + high) / 2.0
        if math.fsum(times(share, middle, cap) for share, cap in zip(shares, caps, strict=True)) < 1.0:
            low = middle
        else:
            high = middle
    return [times(share, high, cap) for share, cap in zip(shares, caps, strict=True)]


def limits(caps: Sequence[float], floors: Sequence[float], tried: Sequence[bool]) -> list[float]:
    """Caps, and an even share for what is new; what the others' caps leave over is divided among the new."""
    even = 1.0 / len(caps)
    new = [min(cap, even) if min(cap, even) > floor else floor for cap, floor in zip(caps, floors, strict=True)]
    most = [cap if known else share for cap, share, known in zip(caps, new, tried, strict=True)]
    short = 1.0 - math.fsum(most)
    room = math.fsum(caps) - math.fsum(most)
    if short <= 0.0 or room <= 0.0:
        return most
    return [share + min(short / room, 1.0) * (cap - share) for cap, share in zip(caps, most, strict=True)]


def times(share: float, log_multiple: float, cap: float) -> float:
    if share == 0.0:
        return 0.0
    log_share = math.log2(share) + log_multiple
    return cap if cap == 0.0 or log_share >= math.log2(cap) else 2.0**log_share


def served(weights: Sequence[float], floors: Sequence[float], caps: Sequence[float]) -> list[float]:
    return with_caps(with_floors(weights, floors), caps)
