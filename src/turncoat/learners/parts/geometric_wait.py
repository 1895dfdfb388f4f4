"""How long to wait for an event that comes with the same probability in every round: one draw instead of many coins."""

from __future__ import annotations

import math

from turncoat._compile.jit import jit
from turncoat.random import uniform
from turncoat.types import Words

NEVER = 2.0**54  # a round that does not come


@jit
def wait(rng: Words, p: float) -> float:
    """Rounds until an event of probability p a round, 1 if it is the next one: geometric, at most NEVER."""
    if p <= 0.0:
        return NEVER
    if p >= 1.0:
        return 1.0
    failures = min(math.log1p(-uniform(rng)) / math.log1p(-p), NEVER)  # a floor is an integer, and may be too large
    return min(1.0 + math.floor(failures), NEVER)
