"""Slow, obvious rounds of Turncoat's master and mirror-descent bases in which only some arms are there.

Bases are plain distributions over all arms, in long doubles: first the clipped ones, then the signed ones. Bases that
propose a single arm are given as rows of indices, the largest of which leads. What depends on time alone (rates,
floors, baselines, the guess N) is handed in. A is the set of arms that are there, m of them:

    P_h(k|A) = P_h(k)/P_h(A);   of the others, 1 for the arm of the largest index in A, the first of equals
    where several pulls are planned, what these others propose is given instead: rows of shares, zero outside A
    served: q(a|A) = sum_h p_h P_h(a|A)
    master: C all of A, or if these are many the leaders in A; b(k) = min(b, q(k|A)/eta) for k in C, with the served q
            for the arm told, and 0 for others
            d_h = P_h(a|A) (l - b(a))/q + sum over k in C of b(k) P_h(k|A)
            the first clipped base, the slow one: -ln(1 - P(a|A) + P(a|A) exp(-rate l/q))/rate for P(a|A) l/q in it
            p <- argmin <eta d, x> + KL(x || p) over {x_h >= floor_h, sum 1}
    clipped base: x(a) times exp(-rate l/q), normalised; where x(a) is then below 1/(m N), it becomes that, and the
            others share what is left in proportion. (In sets arms may lie below without being told; they stay there.)
            For the slow one it is the lesser of 1/sqrt(m N) and 1/(2 m).
    signed base: x(a) times exp(min(1, -rate (l - b)/q)), normalised, then (1 - 1/N) x + 1/(N m)
            both: x = P_h(·|A) at first, and P_h(A) x, A's old mass, at the end
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tests.naive.solve import REAL, Reals, reals

BISECTIONS = 200


class Tuning(NamedTuple):
    """What the time of a round fixes."""

    eta: float
    rates: Sequence[float]
    floors: Sequence[float]
    guess: float
    baseline: float
    few: int  # arms, all of which have a baseline


def project(w: Reals, floors: Reals) -> Reals:
    """max(floor_h, c w_h) with the sum 1: c by bisection."""
    low, high = REAL(0), 1 / w.max()
    while np.maximum(floors, high * w).sum() < 1:
        high *= 2
    for _ in range(BISECTIONS):
        c = (low + high) / 2
        low, high = (low, c) if np.maximum(floors, c * w).sum() > 1 else (c, high)
    x: Reals = np.maximum(floors, high * w)
    return x


def leaders(indices: Sequence[Sequence[float]], A: Sequence[int]) -> list[int]:
    """The arm of the largest index in A under every base that has indices."""
    return [max(A, key=lambda k: (row[k], -k)) for row in indices]


class Sleeping:
    """The trust p in all bases, and the distributions of the mirror-descent ones."""

    def __init__(self, K: int, prior: Sequence[float], n_clipped: int, n_signed: int) -> None:
        self.p = reals(list(prior)) / reals(list(prior)).sum()
        self.n_clipped = n_clipped
        self.rows: Reals = np.full((n_clipped + n_signed, K), 1 / REAL(K))

    def inside(self, indices: Sequence[Sequence[float]], A: Sequence[int], planned: Reals | None = None) -> Reals:
        """P_h(k|A) of every base, zero outside A."""
        K, among = self.rows.shape[1], list(A)
        inside = np.zeros((len(self.p), K), dtype=REAL)
        M = len(self.rows)
        inside[:M, among] = self.rows[:, among] / self.rows[:, among].sum(axis=1, keepdims=True)
        for i, leader in enumerate(leaders(indices, A)):
            inside[M + i, leader] = 1
        if planned is not None:
            inside[M:] = planned
        return inside

    def served(self, indices: Sequence[Sequence[float]], A: Sequence[int]) -> Reals:
        """q(·|A)."""
        q: Reals = self.p @ self.inside(indices, A)
        return q

    def charges(
        self,
        indices: Sequence[Sequence[float]],
        A: Sequence[int],
        a: int,
        q: float,
        loss: float,
        tuning: Tuning,
        planned: Reals | None = None,
    ) -> Reals:
        """d_h of every base."""
        inside, b = self.inside(indices, A, planned), REAL(tuning.baseline)
        now = self.p @ inside
        now[a] = q
        candidates = A if len(A) <= tuning.few else set(leaders(indices, A))
        own = {k: min(b, now[k] / REAL(tuning.eta)) for k in candidates}
        d: Reals = inside[:, a] * (REAL(loss) - own.get(a, 0)) / REAL(q)
        for k, baseline in own.items():
            d = d + baseline * inside[:, k]
        if self.n_clipped:
            P, e, xi = inside[0, a], REAL(loss) / REAL(q), REAL(tuning.rates[0])
            d[0] -= P * e + np.log(1 - P + P * np.exp(-xi * e)) / xi
        return d

    def tell(
        self,
        indices: Sequence[Sequence[float]],
        A: Sequence[int],
        a: int,
        q: float,
        loss: float,
        tuning: Tuning,
        planned: Reals | None = None,
    ) -> None:
        """One round. With a single arm there nothing can be learned."""
        if len(A) == 1:
            return
        d = self.charges(indices, A, a, q, loss, tuning, planned)
        self.p = project(self.p * np.exp(-REAL(tuning.eta) * (d - d.min())), reals(list(tuning.floors)))
        among, place = list(A), list(A).index(a)
        m, N = len(among), REAL(tuning.guess)
        for i, row in enumerate(self.rows):
            mass = row[among].sum()
            x, rate = row[among] / mass, REAL(tuning.rates[i])
            if i < self.n_clipped:
                x[place] *= np.exp(-rate * REAL(loss) / REAL(q))
                floor = min(1 / np.sqrt(m * N), 1 / REAL(2 * m)) if i == 0 else 1 / (m * N)
                x /= x.sum()
                if x[place] < floor:
                    x[place] = 0
                    x *= (1 - floor) / x.sum()
                    x[place] = floor
            else:
                x[place] *= np.exp(min(REAL(1), -rate * (REAL(loss) - REAL(tuning.baseline)) / REAL(q)))
                x = (1 - 1 / N) * x / x.sum() + 1 / (N * m)
            row[among] = mass * x
