"""Slow, obvious linear learners: the whole history is kept, and everything is solved from it anew by numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

REAL = np.float64  # numpy.linalg has no longer one


class DLinUCB:
    """Russac, Vernade & Cappé (2019): discounted least squares as the weighted sums they stand for.

    With the terms (1 - gamma) lambda I of the recursion, the regulariser stays lambda I whatever fades. So
    V = lambda I + sum of gamma^(n - s) x_s x_s^T, and V~ the same with gamma squared.
    """

    def __init__(
        self,
        d: int,
        T: int,
        *,
        n_switches: int | None = None,
        discount: float | None = None,
        feature_norm: float = 1.0,
        parameter_norm: float = 1.0,
        regularisation: float = 1.0,
        exploration: float = 1.0,
    ) -> None:
        S = 1 if n_switches is None else n_switches
        self.gamma = 1 - (S / (d * T)) ** (2 / 3) if discount is None else discount
        self.d, self.T, self.L, self.B = d, T, feature_norm, parameter_norm
        self.lam, self.exploration = regularisation, exploration
        self.rounds: list[tuple[Any, float]] = []

    def tell(self, x: Any, loss: float) -> None:
        self.rounds.append((np.array(x, dtype=REAL), 1.0 - loss))

    def matrix(self, gamma: float) -> Any:
        n = len(self.rounds)
        V = self.lam * np.eye(self.d)
        for s, (x, _) in enumerate(self.rounds, 1):
            V += gamma ** (n - s) * np.outer(x, x)
        return V

    def theta(self) -> Any:
        n = len(self.rounds)
        b = np.zeros(self.d)
        for s, (x, r) in enumerate(self.rounds, 1):
            b += self.gamma ** (n - s) * r * x
        return np.linalg.solve(self.matrix(self.gamma), b)

    def beta(self) -> float:
        weight = sum(self.gamma ** (2 * s) for s in range(len(self.rounds)))
        growth = self.d * math.log(1 + self.L**2 * weight / (self.lam * self.d))
        return math.sqrt(self.lam) * self.B + 0.5 * math.sqrt(2 * math.log(self.T) + growth)

    def indices(self, features: Any) -> Any:
        V, Vt, theta, beta = self.matrix(self.gamma), self.matrix(self.gamma**2), self.theta(), self.beta()
        shown = []
        for x in np.array(features, dtype=REAL):
            w = np.linalg.solve(V, x)
            shown.append(x @ theta + self.exploration * beta * math.sqrt(w @ Vt @ w))
        return np.array(shown)


class SwitchingLinear:
    """Bases on the unit ball under a fixed-share master, as in the header of the learner, written densely.

    `law()` lists every point the next round may play with its probability; `tell` takes the point, its loss in [-1, 1]
    and M as it was when the point was drawn.
    """

    def __init__(self, d: int, T: int, *, n_switches: int | None = None) -> None:
        segments = 2 if n_switches is None else n_switches + 1
        self.d, self.T, self.n_told = d, T, 0
        self.eta = min(math.sqrt(segments * math.log(max(T, 2)) / (d * T)), 1 / (4 * d))
        self.beta = 2 * d * self.eta
        longest = next(k for k in range(99) if 2**k >= T)
        self.powers = [k for k in range(longest + 1) if 2**k >= 2 * d] or [longest]
        self.theta = [np.zeros(d) for _ in self.powers]
        self.p = np.full(len(self.powers), 1 / len(self.powers))

    def points(self) -> Any:
        return np.array([theta / (1 + np.linalg.norm(theta)) for theta in self.theta])

    def law(self) -> list[tuple[float, Any]]:
        law = []
        explore = self.beta
        for p, a in zip(self.p, self.points(), strict=True):
            size = float(np.linalg.norm(a))
            explore += (1 - self.beta) * p * (1 - size)
            if size > 0:
                law.append(((1 - self.beta) * p * size, a / size))
        for j in range(self.d):
            for sign in (1.0, -1.0):
                law.append((explore / (2 * self.d), sign * np.eye(self.d)[j]))
        return law

    def second_moment(self) -> Any:
        return sum(chance * np.outer(x, x) for chance, x in self.law())

    def bonuses(self) -> Any:
        """eta d (1 - |a_i|)/q: dear to bases that have not made up their mind, and 2 eta d in the mean at most."""
        sizes = np.linalg.norm(self.points(), axis=1)
        q = self.beta + (1 - self.beta) * float(self.p @ (1 - sizes))
        return self.eta * self.d * (1 - sizes) / q

    def tell(self, x: Any, loss: float, M: Any) -> None:
        self.n_told += 1
        lhat = np.linalg.solve(M, np.array(x)) * loss
        w = self.p * np.exp(-self.eta * (self.points() @ lhat - self.bonuses()))
        self.p = (1 - 1 / self.T) * w / w.sum() + 1 / (self.T * len(w))
        for i, k in enumerate(self.powers):
            moved = self.theta[i] - self.eta * lhat
            a = moved / (1 + np.linalg.norm(moved))
            most = 1 - 1 / max(self.T, 2)
            if np.linalg.norm(a) > most:
                a = a * most / np.linalg.norm(a)
            self.theta[i] = np.zeros(self.d) if self.n_told % 2**k == 0 else a / (1 - np.linalg.norm(a))
