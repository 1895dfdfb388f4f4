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
