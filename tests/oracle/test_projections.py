"""The slow oracle on problems worked by hand; the compiled steps against a convex solver and the KKT conditions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.naive import projections as naive
from tests.oracle.instances import Instance
from turncoat.mirror import entropy, log_barrier
from turncoat.types import Vector

cp: Any = import_module("cvxpy")  # its annotations are incomplete

LN3 = 1.0986122886681098


@pytest.mark.parametrize(
    ("p", "x", "floor", "q"),
    [
        ([0.5, 0.5], [LN3, 0.0], 0.0, [1 / 4, 3 / 4]),
        ([0.5, 0.5], [LN3, 0.0], 0.3, [0.3, 0.7]),
        ([0.5, 0.3, 0.2], [1e6, 0.0, 0.0], 0.1, [0.1, 0.54, 0.36]),
        ([0.5, 0.25, 0.25], [0.0, LN3, 1e6], 0.2, [0.6, 0.2, 0.2]),  # raising one coordinate pushes another down
        ([1.0], [7.0], 1.0, [1.0]),
    ],
)
def test_naive_entropy_by_hand(p: list[float], x: list[float], floor: float, q: list[float]) -> None:
    np.testing.assert_allclose([float(v) for v in naive.entropy_step(p, x, floor)], q, rtol=4e-16)


@pytest.mark.parametrize(
    ("p", "losses", "eta", "floor", "q"),
    [
        ([0.5, 0.5], [1.5, 0.0], [1.0, 1.0], 0.0, [1 / 3, 2 / 3]),  # 1/q_2 = (2 - L + sqrt(L² + 4)) / 2 = 1.5
        ([0.5, 0.5], [-1.5, -3.0], [1.0, 1.0], 0.0, [1 / 3, 2 / 3]),  # a common shift changes nothing
        ([0.5, 0.5], [1.5, 0.0], [1.0, 1.0], 0.375, [0.375, 0.625]),
        ([0.5, 0.25, 0.25], [2.5, 0.5, 0.0], [1.0, 2.0, 4.0], 0.0, [0.25, 0.25, 0.5]),  # lam = 1/2
        ([0.5, 0.25, 0.25], [1e6, 0.5, 0.0], [1.0, 2.0, 4.0], 0.25, [0.25, 0.25, 0.5]),  # the same lam, one floored
        ([1.0], [7.0], [1.0], 0.0, [1.0]),
    ],
)
def test_naive_log_barrier_by_hand(
    p: list[float], losses: list[float], eta: list[float], floor: float, q: list[float]
) -> None:
    np.testing.assert_allclose([float(v) for v in naive.log_barrier_step(p, losses, eta, floor)], q, rtol=4e-16)


def test_naive_tsallis_by_hand() -> None:
    p = [4 / 9, 4 / 9, 1 / 9]
    np.testing.assert_allclose([float(v) for v in naive.tsallis_weights([5.0, 5.0, 6.5], 2.0)], p, rtol=4e-16)
    np.testing.assert_allclose([float(v) for v in naive.tsallis_weights([3.0] * 4, 0.1)], 0.25, rtol=4e-16)


def moderate(rng: np.random.Generator) -> Instance:
    """A problem that a general solver can finish: nothing below 1e-4, charges of order 1."""
    H = int(rng.integers(2, 13))
    floor = float(rng.choice([1e-4, 0.1, 0.5, 0.9])) / H
    p = floor + (1.0 - H * floor) * rng.dirichlet(np.full(H, rng.choice([0.7, 5.0])))
    p = np.maximum(p, 1e-4)
    p /= p.sum()
    eta = rng.uniform(0.1, 3.0) * rng.uniform(1.0, 4.0, H)
    return Instance(p, int(rng.integers(H)), float(10.0 ** rng.uniform(-1, 1.3)), rng.normal(0.0, 3.0, H), eta, floor)


def charged(case: Instance) -> Vector:
    return np.array(naive.one_hot(case.p.size, case.a, case.loss))


def after(case: Instance, step: Callable[[Vector, Instance], None]) -> Vector:
    q = case.p.copy()
    step(q, case)
    return q


def feasible(found: Vector, floor: float) -> Vector:
    """A solver's answer moved by its residuals, so that it competes inside the clipped simplex and not beside it."""
    above = np.maximum(found - floor, 1e-15)
    moved: Vector = floor + (1.0 - found.size * floor) * above / above.sum()
    return moved


# A family: the compiled step, the losses it is charged with, the divergence for floats and for the solver, and the
# gradient of the divergence with a factor that puts every coordinate on the scale of relative changes.
Family = tuple[
    Callable[[Vector, Instance], None],
    Callable[[Instance], Vector],
    Callable[[Any, Instance, Any], Any],
    Callable[[Vector, Instance], Vector],
    Callable[[Vector, Instance], Vector],
]


def entropy_divergence(q: Any, case: Instance, m: Any) -> Any:
    return m.sum(m.rel_entr(q, case.p)) if m is cp else float(np.sum(q * np.log(q / case.p)))


def barrier_divergence(q: Any, case: Instance, m: Any) -> Any:
    ratio = cp.multiply(q, 1.0 / case.p) if m is cp else q / case.p
    terms = ratio - 1.0 - m.log(ratio)
    return m.sum(cp.multiply(terms, 1.0 / case.eta)) if m is cp else float(np.sum(terms / case.eta))


FAMILIES: dict[str, Family] = {
    "entropy, one-hot": (
        lambda q, case: entropy.step_one_hot(q, case.a, case.loss, case.floor),
        charged,
        entropy_divergence,
        lambda q, case: np.log(q / case.p),
        lambda q, case: np.ones(q.size),
    ),
    "entropy, dense": (
        lambda q, case: entropy.step_dense(q, case.losses, case.floor),
        lambda case: case.losses,
        entropy_divergence,
        lambda q, case: np.log(q / case.p),
        lambda q, case: np.ones(q.size),
    ),
    "log-barrier, one-hot": (
        lambda q, case: log_barrier.step_one_hot(q, case.a, case.loss, case.eta, case.floor),
        charged,
        barrier_divergence,
        lambda q, case: (1.0 / case.p - 1.0 / q) / case.eta,
        lambda q, case: case.eta * q,
    ),
    "log-barrier, dense": (
        lambda q, case: log_barrier.step_dense(q, case.losses, case.eta, case.floor),
        lambda case: case.losses,
        barrier_divergence,
        lambda q, case: (1.0 / case.p - 1.0 / q) / case.eta,
        lambda q, case: case.eta * q,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_no_convex_solver_does_better(name: str) -> None:
    step, losses_of, divergence, _, _ = FAMILIES[name]
    rng = np.random.default_rng(40)
    n_floored = 0
    for _ in range(60):
        case = moderate(rng)
        losses = losses_of(case)
        q = after(case, step)
        variable = cp.Variable(case.p.size)
        objective = losses @ variable + divergence(variable, case, cp)
        problem = cp.Problem(cp.Minimize(objective), [cp.sum(variable) == 1, variable >= case.floor])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        assert problem.status == cp.OPTIMAL
        theirs = feasible(variable.value, case.floor)
        np.testing.assert_allclose(theirs, variable.value, atol=1e-8)
        ours = float(losses @ q) + divergence(q, case, np)
        assert ours <= float(losses @ theirs) + divergence(theirs, case, np) + 1e-9 * (1.0 + abs(ours))
        np.testing.assert_allclose(q, theirs, atol=2e-4)  # a gap of 1e-9 at curvature 1/12 leaves the solver 1.5e-4
        assert abs(q.sum() - 1.0) <= 1e-14
        assert np.all(q >= case.floor * (1.0 - 1e-15))
        n_floored += bool(np.any((q <= case.floor * (1.0 + 1e-14)) & (case.p > case.floor * 1.01)))
    assert n_floored >= 10


def test_no_convex_solver_does_better_with_a_floor_for_each() -> None:
    rng = np.random.default_rng(42)
    n_mixed = 0
    for _ in range(60):
        case = moderate(rng)
        H = case.p.size
        floors = rng.dirichlet(np.full(H, 0.5)) * rng.choice([0.05, 0.5, 0.9])
        q = case.p.copy()
        entropy.step_dense_floors(q, case.losses, floors)
        variable = cp.Variable(H)
        objective = case.losses @ variable + entropy_divergence(variable, case, cp)
        problem = cp.Problem(cp.Minimize(objective), [cp.sum(variable) == 1, variable >= floors])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        assert problem.status == cp.OPTIMAL
        above = np.maximum(variable.value - floors, 1e-15)
        theirs = floors + (1.0 - floors.sum()) * above / above.sum()
        np.testing.assert_allclose(theirs, variable.value, atol=1e-8)
        ours = float(case.losses @ q) + entropy_divergence(q, case, np)
        assert ours <= float(case.losses @ theirs) + entropy_divergence(theirs, case, np) + 1e-9 * (1.0 + abs(ours))
        np.testing.assert_allclose(q, theirs, atol=2e-4)
        assert abs(q.sum() - 1.0) <= 1e-14
        assert np.all(q >= floors)
        n_mixed += np.unique(floors[q <= floors]).size > 1
    assert n_mixed >= 10


@pytest.mark.parametrize("name", FAMILIES)
def test_kkt_conditions_hold(name: str) -> None:
    """Free coordinates share one multiplier; on the floor the gradient points down or nowhere."""
    step, losses_of, _, gradient, scale = FAMILIES[name]
    rng = np.random.default_rng(41)
    n_floored = 0
    for _ in range(1_000):
        case = moderate(rng)
        q = after(case, step)
        pull = losses_of(case) + gradient(q, case)
        unit = scale(q, case)
        free = q > case.floor * (1.0 + 1e-12)
        lam = np.average(pull[free], weights=unit[free])
        size = 1.0 + np.abs(unit * lam)
        assert np.all(np.abs(unit * (pull - lam))[free] <= 1e-12 * size[free])
        assert np.all((unit * (pull - lam))[~free] >= -1e-12 * size[~free])
        n_floored += bool(np.any(~free & (case.p > case.floor * 1.01)))
    assert n_floored >= 100
