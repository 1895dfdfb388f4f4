"""Every environment there is: all scenarios, and all families with few arms and few rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cases import JIT_OFF, where
from turncoat import environments as envs
from turncoat.environments import SCENARIOS, Environment, scenario

Make = Callable[[int, int, Any], Environment]  # (arms, rounds, seed)


def _switches(most: int, K: int, T: int) -> int:
    return min(most, T - 1) if K > 1 else 0


def _given(K: int, T: int, seed: Any) -> Environment:
    means = np.random.default_rng(K + T).random((min(3, T), K))
    return envs.Piecewise.from_means(
        T, [5, 7][: min(3, T) - 1] if T > 7 else list(range(1, min(3, T))), means, seed=seed
    )


def _table(K: int, T: int, seed: Any) -> Environment:
    return envs.Table(np.random.default_rng(seed).random((T, K)))


FAMILIES: dict[str, Make] = {
    "stationary": lambda K, T, seed: envs.Stationary(K, T, seed=seed),
    "piecewise": lambda K, T, seed: envs.Piecewise(K, T, _switches(4, K, T), seed=seed),
    "piecewise-real": lambda K, T, seed: envs.Piecewise(K, T, _switches(4, K, T), noise=0.2, seed=seed),
    "piecewise-resampled": lambda K, T, seed: envs.Piecewise(K, T, _switches(4, K, T), resampled=True, seed=seed),
    "piecewise-given": _given,
    "flip": lambda K, T, seed: envs.Flip(K, T, _switches(3, K, T), seed=seed),
    "flip-all": lambda K, T, seed: envs.Flip(K, T, _switches(9, K, T), n_best=max(K, 2), gap=1, noise=0, seed=seed),
    "level-jumps": lambda K, T, seed: envs.LevelJumps(K, T, min(5, T - 1), seed=seed),
    "level-jumps-switching": lambda K, T, seed: envs.LevelJumps(
        K, T, min(5, T - 1), n_switches=_switches(3, K, T), seed=seed
    ),
    "stochastically-constrained": lambda K, T, seed: envs.StochasticallyConstrained(K, T, seed=seed),
    "drift": lambda K, T, seed: envs.Drift(K, T, seed=seed),
    "drift-real": lambda K, T, seed: envs.Drift(K, T, n_periods=0.7, amplitude=0.5, noise=0.5, seed=seed),
    "random-walk": lambda K, T, seed: envs.RandomWalk(K, T, n_steps=min(6, T), step=0.4, seed=seed),
    "burst": lambda K, T, seed: envs.Burst(K, T, _switches(4, K, T), seed=seed),
    "hidden-steps": lambda K, T, seed: envs.HiddenSteps(K, T, _switches(7, K, T), seed=seed),
    "lower-bound": lambda K, T, seed: envs.LowerBound(K, T, _switches(6, K, T), seed=seed),
    "corrupted": lambda K, T, seed: envs.Corrupted(K, T, T // 3, seed=seed),
    "corrupted-bursts": lambda K, T, seed: envs.Corrupted(K, T, T // 2, n_bursts=min(4, T), seed=seed),
    "adaptive": lambda K, T, seed: envs.Adaptive(K, T, seed=seed),
    "table": _table,
    "linear-switching": lambda K, T, seed: envs.LinearSwitching(K, T, _switches(4, K, T), dimension=3, seed=seed),
    "linear-drift": lambda K, T, seed: envs.LinearDrift(K, T, n_periods=0.7, amplitude=1.0, noise=0.2, seed=seed),
}

TWO_ARMS: dict[str, Make] = {
    "late-arm": lambda K, T, seed: envs.LateArm(K, T, seed=seed),
    "second-arm": lambda K, T, seed: envs.SecondArm(K, T, _switches(5, K, T), seed=seed),
}

SMALL = [
    pytest.param(make, K, T, id=f"{name}-{K}-{T}", marks=where(JIT_OFF and T == 60 and K != 2))
    for name, make in [*FAMILIES.items(), *TWO_ARMS.items()]
    for K in (1, 2, 5)
    for T in (1, 2, 3, 60)
    if K > 1 or name in FAMILIES
]
small_games = pytest.mark.parametrize(("make", "K", "T"), SMALL)
every_scenario = pytest.mark.parametrize("name", SCENARIOS)
OBLIVIOUS = [name for name in SCENARIOS if scenario(name, 2).oblivious]
oblivious_scenarios = pytest.mark.parametrize("name", OBLIVIOUS)
