"""Environments in plain Python, from the formulas in the documents: whole numbers, lists and loops."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

WORD = 2**64


def _mix(word: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014, figure 16)."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def uniform_at(seed: int, t: int, arm: int) -> float:
    """The top 53 bits of a hash of seed, round and arm, as a number in [0, 1)."""
    inner = _mix((seed + t * 0x9E3779B97F4A7C15) % WORD)
    return (_mix((inner + arm * 0xC2B2AE3D27D4EB4F) % WORD) >> 11) / 2**53


def mean_at(edges: Sequence[int], rows: Sequence[Sequence[float]], drifting: bool, t: int, arm: int) -> Fraction:
    """The mean in the segment that t lies in, found by looking at all of them; exact."""
    i = next(i for i in range(len(edges) - 1) if edges[i] <= t < edges[i + 1])
    mean = Fraction(rows[i][arm])
    if drifting:
        mean += (Fraction(rows[i + 1][arm]) - mean) * Fraction(t - edges[i], edges[i + 1] - edges[i])
    return mean


def loss_at(mean: Fraction, u: float, noise: str | float) -> Fraction:
    """The loss that a uniform number makes of a mean."""
    if noise == "bernoulli":
        return Fraction(1 if u < mean else 0)
    return mean + (2 * Fraction(u) - 1) * min(Fraction(noise), mean, 1 - mean)


def n_switches(path: Sequence[int]) -> int:
    """How often a path changes arm."""
    return sum(path[t] != path[t - 1] for t in range(1, len(path)))


class MostPlayed:
    """The adversary that makes the arm played most often the worst; the first to get there, among equals."""

    def __init__(self, n_arms: int, low: float, high: float) -> None:
        self.counts = [0] * n_arms
        self.low, self.high = low, high
        self.most: int | None = None

    def means(self) -> list[float]:
        return [self.high if arm == self.most else self.low for arm in range(len(self.counts))]

    def see(self, arm: int) -> None:
        self.counts[arm] += 1
        if self.most is None or self.counts[arm] > self.counts[self.most]:
            self.most = arm
