"""Slow, obvious bands: a master over bases that all learn from every round. From the formulas alone."""

from __future__ import annotations


class Baseline:
    """The slow mean of all losses, and the fast one, which counts where it is more than 0.2 away."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.fast = 0.5

    def slow(self) -> float:
        return (0.5 + sum(self.losses)) / (1 + len(self.losses))

    def value(self) -> float:
        slow = self.slow()
        if self.fast > slow + 0.2:
            return self.fast - 0.2
        if self.fast < slow - 0.2:
            return self.fast + 0.2
        return slow

    def see(self, loss: float) -> None:
        rounds = min(64, len(self.losses) + 2)
        self.fast = (1 - 1 / rounds) * self.fast + loss / rounds
        self.losses.append(loss)
