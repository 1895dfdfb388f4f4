"""What is served: the learner's probabilities, after floors and caps.

    p_i = f_i + (1 - sum of f) w_i                                                                       (1)
    what is above a cap goes to the others, in proportion to what they have                              (2)
A floor is a share of its own, on top of which the learner divides the rest: every arm keeps at least its floor, and the
order of arms without floors stays the learner's. (Raising small shares and dividing by the sum would push them below
their floors again.) Where the caps of the arms at hand sum to less than 1 they cannot hold: shares then are in
proportion to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def served(weights: Sequence[float], floors: Sequence[float], caps: Sequence[float]) -> list[float]:
    """The probabilities that arms are drawn with. `weights` sum to 1; floors to at most 1; each at most its cap."""
    total = math.fsum(weights)
    rest = max(1.0 - math.fsum(floors), 0.0)
    shares = [floor + rest * weight / total for weight, floor in zip(weights, floors, strict=True)]  # (1)
    room = math.fsum(caps)
    if room <= 1.0:
        return [cap / room for cap in caps] if room > 0.0 else [1.0 / len(caps)] * len(caps)
    return _capped(shares, caps)


def _capped(shares: list[float], caps: Sequence[float]) -> list[float]:
    """(2), until no share is above its cap: each turn fixes one arm at least, so it ends."""
    fixed: set[int] = set()
    while True:
        above = [i for i, share in enumerate(shares) if i not in fixed and share > caps[i]]
        if not above:
            return shares
        excess = math.fsum(shares[i] - caps[i] for i in above)
        fixed.update(above)
        for i in above:
            shares[i] = caps[i]
        others = [i for i in range(len(shares)) if i not in fixed]
        have = [shares[i] for i in others]
        if not any(have):
            have = [caps[i] for i in others]
        total = math.fsum(have)
        if total == 0.0:  # all others are at cap 0: the excess is a rounding error
            return shares
        for i, own in zip(others, have, strict=True):
            shares[i] += excess * (own / total)
