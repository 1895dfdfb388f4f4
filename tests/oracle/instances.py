"""Random problems for the projection tests: easy ones, spiky ones, ones on the floor, and steps of every size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from turncoat.types import Vector


class Instance(NamedTuple):
    """A distribution on the clipped simplex and what it is charged with."""

    p: Vector
    a: int
    loss: float
    losses: Vector
    eta: Vector
    floor: float


def instance(rng: np.random.Generator, largest: int = 40) -> Instance:
    """One problem: H from 1, floors from 0 to 1/H, rates 1e-4 to 10, losses up to 1e6."""
    sizes = [1, 2, 3, int(rng.integers(4, 15)), int(rng.integers(4, largest + 1))]
    H = int(rng.choice(sizes, p=[0.02, 0.18, 0.1, 0.5, 0.2]))
    floor = float(rng.choice([0.0, 10.0 ** rng.uniform(-9, -1), rng.uniform(0.0, 0.999)])) / H
    p = distribution(rng, H, floor)
    a = int(rng.integers(H))
    eta = 10.0 ** rng.uniform(-4, 1) * np.ones(H)
    kind = rng.integers(3)
    if kind == 1:
        eta *= rng.uniform(1.0, 4.24, H)
    elif kind == 2:
        eta = 10.0 ** rng.uniform(-4, 1, H)
    loss = float(10.0 ** rng.uniform(-6, 6))
    if rng.random() < 0.4:
        loss = rng.uniform() / float(p[a])  # a bandit's estimate
    losses = rng.choice([1.0, -1.0], H) * 10.0 ** rng.uniform(-6, rng.choice([0.0, 2.0, 6.0]), H)
    if H > 1 and rng.random() < 0.15:
        p, a, floor = _turnover(rng, H)
        eta = np.maximum(eta, 0.03)
        loss = float(10.0 ** rng.uniform(4, 6))
        losses[a] = loss
    return Instance(p, a, loss, losses, eta, floor)


def _turnover(rng: np.random.Generator, H: int) -> tuple[Vector, int, float]:
    """Nearly all mass on one coordinate, which is about to be charged: the others must grow by orders of magnitude."""
    a = int(rng.integers(H))
    floor = float(rng.choice([0.0, 1e-9]))
    p = np.maximum(floor, 10.0 ** rng.uniform(-9, -4, H))
    p[a] = 1.0 - np.delete(p, a).sum()
    return p, a, floor


def twins(rng: np.random.Generator) -> Instance:
    """Two all but equal tiny coordinates, about to share the mass of a third: it hangs on the last digits of p."""
    tiny = float(10.0 ** rng.uniform(-14, -6))
    p = np.array([0.0, tiny, tiny * (1.0 + 10.0 ** rng.uniform(-9, -5))])
    p[0] = 1.0 - p[1] - p[2]
    loss = float(10.0 ** rng.uniform(6, 18))
    eta = np.full(3, 10.0 ** rng.uniform(-2, 1)) * rng.choice([1.0, 1.0 + 2.0**-20], 3)
    return Instance(p, 0, loss, np.array([loss, 0.0, rng.uniform(-1.0, 1.0)]), eta, 0.0)


def distribution(rng: np.random.Generator, H: int, floor: float) -> Vector:
    """A distribution with p ≥ floor; often spiky, sometimes with many coordinates on the floor."""
    shape = rng.dirichlet(np.full(H, rng.choice([0.05, 0.3, 1.0, 10.0])))
    shape = np.maximum(shape, 10.0 ** rng.uniform(-12, -3))
    if floor > 0.0 and H > 1 and rng.random() < 0.3:
        shape[rng.permutation(H)[: rng.integers(1, H)]] = 0.0
    p: Vector = np.maximum(floor, floor + (1.0 - H * floor) * shape / shape.sum())
    return p
