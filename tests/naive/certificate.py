"""Turncoat's certificate, term by term from a game that was written down: docs/guarantee.md, section 5.

The band is the one that ships, given as numbers: how many clipped bases, which base is a detector, the prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Band:
    K: int
    n_clipped: int
    detectors: tuple[int, ...]
    prior: tuple[float, ...]
    eta_factor: float
    most_eta: float
    floor_factor: float
    few: int  # up to so many arms all have a baseline, of more the leaders
    first: int = 16

    def eta(self, N: float) -> float:
        return min(self.eta_factor / math.sqrt(N), self.most_eta)

    def floors(self, N: float) -> list[float]:
        H = len(self.prior)
        high, low = self.floor_factor / math.sqrt(N), min(1 / (N * H), 0.5 / H)
        return [high if h in self.detectors else low for h in range(H)]

    def xi(self, j: int, N: float) -> float:
        return math.sqrt(N ** (j / 4) / (self.K * N))


@dataclass(frozen=True)
class Round:
    """What the round was served from, and what happened in it."""

    p: Sequence[float]
    P: Sequence[Sequence[float]]  # of each base, over arms
    leaders: Sequence[int]
    arm: int
    loss: float


def guess(band: Band, t: int) -> int:
    """N in round t = 1, 2, …"""
    N = band.first
    while t > N:
        N *= 2
    return N


def baselines(losses: Sequence[float]) -> list[float]:
    """b of every round, from the losses before it."""
    found, fast, total = [], 0.5, 0.5
    for t, loss in enumerate(losses):
        found.append(fast - max(-0.2, min(0.2, fast - total / (1 + t))))
        total += loss
        fast += (loss - fast) / min(64, t + 2)
    return found


def terms(band: Band, rounds: Sequence[Round], S: int, j: int) -> dict[str, float]:
    """The certificate of clipped base j."""
    T, K = len(rounds), band.K
    N, H = guess(band, T), len(band.prior)
    M = V = W = A = shares = 0.0
    for t, (one, b) in enumerate(zip(rounds, baselines([r.loss for r in rounds]), strict=True), 1):
        N_t = guess(band, t)
        eta, xi, floors = band.eta(N_t), band.xi(j, N_t), math.fsum(band.floors(N_t))
        q = [math.fsum(one.p[h] * one.P[h][k] for h in range(H)) for k in range(K)]
        covered = range(K) if band.few >= K else one.leaders
        g = [min(b, q[k] / eta) if k in covered else 0.0 for k in range(K)]
        a = one.arm
        d = [row[a] * (one.loss - g[a]) / q[a] + math.fsum(x * y for x, y in zip(row, g, strict=True)) for row in one.P]
        mean = math.fsum(x * y for x, y in zip(one.p, d, strict=True))
        M += eta * math.fsum(x * (y - mean) ** 2 for x, y in zip(one.p, d, strict=True))
        V += xi / 2 * one.P[j][a] * (one.loss / q[a]) ** 2
        W += one.P[j][a] * one.loss / q[a] - (1 - floors) * d[j]
        A += floors
        shares += 1 / N_t
    far_below = 1 + band.eta(band.first)  # no centred exponent is further below 0
    first, before, far = band.first, max(band.first, N // 2), math.log(K * N)
    B = math.fsum(x * math.log(1 / y) for x, y in zip(band.floors(first), band.prior, strict=True)) / band.eta(first)
    uniform = ((1 - 1 / first) * far - math.log(K)) / band.xi(j, first)
    return {
        "start": math.log(1 / band.floors(before)[j]) / band.eta(N) + B,
        "floors": A,
        "variance": (math.exp(far_below) - 1 - far_below) / far_below**2 * M,
        "base_floors": (1 - 1 / K) * shares,
        "switches": (S + 1) * (1 - 1 / N) * far / band.xi(j, N) - uniform,
        "base_variance": V,
        "correction": -W,
    }
