"""Negative-entropy steps (loop, tree, dense) against 60-digit arithmetic: a relative 1e-12, floors counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.naive.projections import entropy_step, one_hot, relative_error
from tests.oracle.instances import Instance, instance
from turncoat.mirror import entropy
from turncoat.mirror.tree import rebuild, tree_size
from turncoat.types import Vector

CLOSE = 1e-12


def step_loop(case: Instance, x: float) -> Vector:
    q = case.p.copy()
    entropy.step_one_hot(q, case.a, x, case.floor)
    return q


def step_tree(case: Instance, x: float, scale: float) -> Vector:
    K = case.p.size
    tree = np.zeros(tree_size(K))
    tree[:K] = scale * case.p
    rebuild(tree, K)
    entropy.step_one_hot_tree(tree, K, case.a, x, case.floor)
    q: Vector = tree[:K] / tree[:K].sum()
    return q


def exponent(rng: np.random.Generator, case: Instance) -> float:
    """A charge that leaves a weight a float can hold, at any scale of a tree; larger only where a floor is."""
    return min(case.loss, float(rng.uniform(200.0, 300.0))) if case.floor == 0.0 else case.loss


def test_one_hot_steps_agree_with_60_digits() -> None:
    rng = np.random.default_rng(10)
    n_floored = 0
    for _ in range(3_000):
        case = instance(rng)
        x = exponent(rng, case)
        exact = entropy_step(case.p, one_hot(case.p.size, case.a, x), case.floor)
        q = step_loop(case, x)
        assert relative_error(q, exact) <= CLOSE, case
        assert relative_error(step_tree(case, x, float(10.0 ** rng.uniform(-100, 100))), exact) <= CLOSE, case
        n_floored += bool(q[case.a] == case.floor < case.p[case.a])
    assert n_floored >= 500


def test_steps_on_large_trees_agree_with_60_digits() -> None:
    rng = np.random.default_rng(11)
    n_floored = 0
    for K in (63, 64, 65, 511, 513, 1000):
        for _ in range(8):
            floor = float(10.0 ** rng.uniform(-6, 0) * 0.9 / K)
            p = floor + (1.0 - K * floor) * rng.dirichlet(np.full(K, 0.5))
            case = Instance(p, int(rng.integers(K)), float(10.0 ** rng.uniform(-2, 2)), p, p, floor)
            q = step_tree(case, case.loss, 1.0)
            assert relative_error(q, entropy_step(p, one_hot(K, case.a, case.loss), floor)) <= CLOSE
            n_floored += bool(q[case.a] <= floor * (1.0 + 1e-12) < p[case.a])
    assert n_floored >= 10


def test_dense_steps_agree_with_60_digits() -> None:
    rng = np.random.default_rng(12)
    n_floored = 0
    for _ in range(2_000):
        case = instance(rng)
        x = np.clip(case.losses, -300.0, 300.0) if case.floor == 0.0 else case.losses
        q = case.p.copy()
        entropy.step_dense(q, x, case.floor)
        assert relative_error(q, entropy_step(case.p, x, case.floor)) <= CLOSE, case
        n_floored += bool(np.any((q <= case.floor) & (case.p > case.floor)))
    assert n_floored >= 500


@pytest.mark.jit_off
def test_a_few_of_each_agree_with_60_digits() -> None:
    rng = np.random.default_rng(13)
    for _ in range(60):
        case = instance(rng, largest=12)
        x = min(case.loss, 50.0)
        exact = entropy_step(case.p, one_hot(case.p.size, case.a, x), case.floor)
        assert relative_error(step_loop(case, x), exact) <= CLOSE
        assert relative_error(step_tree(case, x, 3.0), exact) <= CLOSE
        q = case.p.copy()
        dense = np.clip(case.losses, -50.0, 50.0)
        entropy.step_dense(q, dense, case.floor)
        assert relative_error(q, entropy_step(case.p, dense, case.floor)) <= CLOSE


@pytest.mark.jit_off
def test_no_room_above_the_floor() -> None:
    for K in (1, 2, 3, 7, 10, 40):
        for floor in (1.0 / K, np.nextafter(1.0 / K, 0.0)):
            p = np.full(K, 1.0 / K)
            entropy.step_one_hot(p, 0, 5.0, floor)
            np.testing.assert_allclose(p, 1.0 / K, rtol=1e-14)
            entropy.step_dense(p, np.linspace(-1.0, 1.0, K), floor)
            np.testing.assert_allclose(p, 1.0 / K, rtol=1e-14)
