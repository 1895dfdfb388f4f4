"""Other EXP3s, each played through its own public calls: two written here the obvious way, pymab's and river's.

All four are the gain form with exploration gamma (Auer et al. 2002, figure 1), in the same game. A player is a function
that plays one round for each coin: the chosen arm gains unless the coin is below the arm's mean loss. The loops are
written out for each peer, so that no peer is charged for a wrapper.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Player = Callable[[Sequence[float]], None]  # coins -> plays one round each
Maker = Callable[[Sequence[float], float], Player]  # mean losses, gamma -> player

_LARGEST_TOTAL = 1e100


class PlainExp3:
    """EXP3 in plain Python."""

    def __init__(self, n_arms: int, gamma: float) -> None:
        self.gamma, self.weights, self.random = gamma, [1.0] * n_arms, random.Random(0)

    def choose(self) -> tuple[int, float]:
        """An arm, and the probability it was drawn with."""
        K, total = len(self.weights), sum(self.weights)
        if self.random.random() < self.gamma:
            arm = self.random.randrange(K)
        else:
            height, arm = self.random.random() * total, 0
            while arm < K - 1 and height >= self.weights[arm]:
                height -= self.weights[arm]
                arm += 1
        return arm, (1.0 - self.gamma) * self.weights[arm] / total + self.gamma / K

    def learn(self, arm: int, reward: float, p: float) -> None:
        """Multiply the arm's weight, and divide all of them before they overflow."""
        self.weights[arm] *= math.exp(self.gamma / len(self.weights) * reward / p)
        if self.weights[arm] > _LARGEST_TOTAL:
            largest = self.weights[arm]
            self.weights = [weight / largest for weight in self.weights]


class NumpyExp3:
    """EXP3 in NumPy."""

    def __init__(self, n_arms: int, gamma: float) -> None:
        self.gamma, self.weights, self.random = gamma, np.ones(n_arms), np.random.default_rng(0)

    def choose(self) -> tuple[int, float]:
        """An arm, and the probability it was drawn with."""
        K = self.weights.size
        p = (1.0 - self.gamma) * self.weights / self.weights.sum() + self.gamma / K
        arm = min(int(np.searchsorted(np.cumsum(p), self.random.random(), side="right")), K - 1)
        return arm, float(p[arm])

    def learn(self, arm: int, reward: float, p: float) -> None:
        """Multiply the arm's weight, and divide all of them before they overflow."""
        self.weights[arm] *= math.exp(self.gamma / self.weights.size * reward / p)
        if self.weights[arm] > _LARGEST_TOTAL:
            self.weights /= self.weights[arm]


def _ours(exp3: Callable[[int, float], PlainExp3 | NumpyExp3]) -> Maker:
    def maker(means: Sequence[float], gamma: float) -> Player:
        policy = exp3(len(means), gamma)

        def play(coins: Sequence[float]) -> None:
            for coin in coins:
                arm, p = policy.choose()
                policy.learn(arm, 0.0 if coin < means[arm] else 1.0, p)

        return play

    return maker


def _pymab(means: Sequence[float], gamma: float) -> Player:
    from pymab.policies import EXP3Policy

    policy, rng = EXP3Policy(n_arms=len(means), gamma=gamma), np.random.default_rng(0)
    if getattr(policy, "backend", "python") != "rust":
        raise RuntimeError("it was installed without its Rust core")

    def play(coins: Sequence[float]) -> None:
        for coin in coins:
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=0.0 if coin < means[arm] else 1.0)

    return play


def _river(means: Sequence[float], gamma: float) -> Player:
    from river import bandit

    policy: Any = bandit.Exp3(gamma=gamma, seed=0)
    arms = list(range(len(means)))

    def play(coins: Sequence[float]) -> None:
        for coin in coins:
            arm = policy.pull(arms)
            policy.update(arm, 0.0 if coin < means[arm] else 1.0)

    return play


PEERS: dict[str, Maker] = {
    "plain Python EXP3": _ours(PlainExp3),
    "NumPy EXP3": _ours(NumpyExp3),
    "pymab EXP3": _pymab,
    "river Exp3": _river,
}
