"""Learners of a user's own, in plain Python, for races."""

from __future__ import annotations

from typing import Any

import numpy as np

import turncoat as tc


class FollowTheLeader:
    """The arm with the least mean loss so far; each is tried once, ties are broken at random."""

    def __init__(self, arms: int, horizon: int | None = None, *, seed: Any = None) -> None:
        self.chance = np.random.default_rng(seed)
        self.sums, self.counts = [0.0] * arms, [0] * arms

    def ask(self) -> int:
        means = [total / count if count else -1.0 for total, count in zip(self.sums, self.counts, strict=True)]
        least = [arm for arm, mean in enumerate(means) if mean == min(means)]
        return int(least[self.chance.integers(len(least))])

    def tell(self, arm: int, loss: float) -> None:
        self.sums[arm] += loss
        self.counts[arm] += 1


class Broken(FollowTheLeader):
    """Fails in its hundredth round."""

    def tell(self, arm: int, loss: float) -> None:
        super().tell(arm, loss)
        if sum(self.counts) == 100:
            raise ZeroDivisionError("of the user's own making")


LEARNERS: dict[str, Any] = {
    "exp3": tc.Exp3,
    "exp3.s, told": tc.told(tc.Exp3S),
    "master": tc.AdaptiveMasterBase,
    "leader": FollowTheLeader,
}
