"""Negative-entropy steps (loop, tree, dense) against 60-digit arithmetic: a relative 1e-12, floors counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.naive.projections import entropy_step, entropy_step_floors, one_hot, relative_error
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


def floors_of(rng: np.random.Generator, H: int) -> Vector:
    """Floors of very different sizes, some of them 0, whose sum is below 1."""
    floors = np.where(rng.random(H) < 0.2, 0.0, 10.0 ** rng.uniform(-9, 0, H))
    floors *= float(rng.choice([10.0 ** rng.uniform(-9, 0), 0.999])) / max(floors.sum(), 1e-9)
    return floors


def step_floors(p: Vector, x: Vector, floors: Vector) -> Vector:
    q = p.copy()
    entropy.step_dense_floors(q, x, floors)
    return q


def test_steps_with_a_floor_for_each_agree_with_60_digits() -> None:
    """p above its floors or below them (the floors rose), charges up to 1e6 where there is a floor to land on."""
    rng = np.random.default_rng(14)
    n_floored = n_mixed = 0
    for _ in range(2_000):
        case = instance(rng)
        floors = floors_of(rng, case.p.size)
        x = np.where(floors > 0.0, case.losses, np.clip(case.losses, -300.0, 300.0))
        x = np.clip(x, x[floors == 0.0].max(initial=-np.inf) - 300.0, None)  # one without a floor must not underflow
        q = step_floors(case.p, x, floors)
        assert relative_error(q[q > 0.0], [v for v in entropy_step_floors(case.p, x, floors) if v > 0]) <= CLOSE, case
        on_floor = (q <= floors) & (floors > 0.0)
        n_floored += bool(np.any(on_floor & (case.p > floors)))
        n_mixed += bool(np.unique(floors[on_floor]).size > 1)
    assert n_floored >= 500
    assert n_mixed >= 300


def test_equal_floors_are_one_floor() -> None:
    rng = np.random.default_rng(15)
    for _ in range(500):
        case = instance(rng)
        one = case.p.copy()
        entropy.step_dense(one, case.losses, case.floor)
        each = step_floors(case.p, case.losses, np.full(case.p.size, case.floor))
        np.testing.assert_allclose(each, one, rtol=1e-12)


@pytest.mark.jit_off
def test_floors_by_hand_and_at_the_extremes() -> None:
    p = np.array([0.5, 0.25, 0.25])
    third = np.array([0.0, np.log(3.0), 1e307])
    # weights 1/2 and 1/12, and 0: the third's floor takes .3, and .7 is split 6 to 1, which is the second's floor
    np.testing.assert_allclose(step_floors(p, third, np.array([0.0, 0.1, 0.3])), [0.6, 0.1, 0.3], rtol=1e-15)
    np.testing.assert_allclose(step_floors(p, third, np.array([0.9, 0.01, 0.01])), [0.9, 0.09, 0.01], rtol=1e-15)
    for x in ([1e307, -1e307, 0.0], [-1e307] * 3, [0.0, 1e-320, -1e-320]):
        q = step_floors(p, np.array(x), np.array([0.2, 0.05, 1e-12]))
        assert abs(q.sum() - 1.0) <= 1e-15
        assert np.all(q >= [0.2, 0.05, 1e-12])
    np.testing.assert_allclose(step_floors(p, np.zeros(3), np.array([0.2, 0.3, 0.5])), [0.2, 0.3, 0.5])  # no room
    np.testing.assert_array_equal(step_floors(np.ones(1), np.array([-5.0]), np.array([0.5])), [1.0])


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
