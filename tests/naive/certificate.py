"""Turncoat's certificate, term by term from a game that was written down: docs/guarantee.md, section 5.

The band is the one that ships, as numbers: which base is a detector, the prior, the rates. Base 0 is the slow one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Band:
    K: int
    detectors: tuple[int, ...]
    prior: tuple[float, ...]
    eta_factor: float
    most_eta: float
    floor_factor: float
    few: int  # up to so many arms all have a baseline, of more the leaders
    slow: float  # the slow base's rate is this over sqrt(KN),
    cap: float  # and at most this over K
    first: int = 16

    def eta(self, N: float) -> float:
        return min(self.eta_factor / math.sqrt(N), self.most_eta)

    def floors(self, N: float) -> list[float]:
        H = len(self.prior)
        high, low = self.floor_factor / math.sqrt(N), min(1 / (N * H), 0.5 / H)
        return [high if h in self.detectors else low for h in range(H)]

    def slow_rate(self, N: float) -> float:
        return min(self.slow / math.sqrt(self.K * N), self.cap / self.K)

    def slow_floor(self, N: float) -> float:
        return min(1 / math.sqrt(self.K * N), 1 / (2 * self.K))


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


def mix_loss(P: float, e: float, xi: float) -> float:
    """What the slow base is charged where its arm of probability P has the estimate e."""
    return -math.log((1 - P) + P * math.exp(-xi * e)) / xi


def terms(band: Band, rounds: Sequence[Round], S: int) -> dict[str, float]:
    """The certificate."""
    T, K = len(rounds), band.K
    N, H = guess(band, T), len(band.prior)
    gaps = refunds = floors = betas = 0.0
    for t, (one, b) in enumerate(zip(rounds, baselines([r.loss for r in rounds]), strict=True), 1):
        N_t = guess(band, t)
        eta, xi = band.eta(N_t), band.slow_rate(N_t)
        q = [math.fsum(one.p[h] * one.P[h][k] for h in range(H)) for k in range(K)]
        covered = range(K) if band.few >= K else one.leaders
        g = [min(b, q[k] / eta) if k in covered else 0.0 for k in range(K)]
        a = one.arm
        x = [row[a] * (one.loss - g[a]) / q[a] + math.fsum(u * v for u, v in zip(row, g, strict=True)) for row in one.P]
        mean = one.P[0][a] * one.loss / q[a]
        refund = mean - mix_loss(one.P[0][a], one.loss / q[a], xi)
        x[0] -= refund
        centre = math.fsum(u * v for u, v in zip(one.p, x, strict=True))
        gaps += math.log1p(math.fsum(u * math.expm1(eta * (centre - v)) for u, v in zip(one.p, x, strict=True))) / eta
        refunds += one.p[0] * refund
        floors += math.fsum(band.floors(N_t)[1:])
        betas += band.slow_floor(N_t)
    first, before, far = band.first, max(band.first, N // 2), math.log(1 / band.slow_floor(N))
    B = math.fsum(x * math.log(1 / y) for x, y in zip(band.floors(first), band.prior, strict=True)) / band.eta(first)
    uniform = ((1 - K * band.slow_floor(first)) * far - math.log(K)) / band.slow_rate(first)
    return {
        "start": math.log(1 / band.floors(before)[0]) / band.eta(N) + B,
        "floors": floors,
        "base_floors": (K - 1) * betas,
        "switches": (S + 1) * (1 - K * band.slow_floor(N)) * far / band.slow_rate(N) - uniform,
        "gaps": gaps,
        "refunds": refunds,
    }
