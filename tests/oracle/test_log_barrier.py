"""Log-barrier steps against 60-digit arithmetic: every coordinate to a relative 1e-12, floors counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import some
from tests.naive.projections import log_barrier_step, one_hot, relative_error
from tests.oracle.instances import Instance, instance, twins
from turncoat.mirror import log_barrier
from turncoat.types import Vector

CLOSE = 1e-12


def step_one_hot(case: Instance) -> Vector:
    q = case.p.copy()
    log_barrier.step_one_hot(q, case.a, case.loss, case.eta, case.floor)
    return q


def step_dense(case: Instance) -> Vector:
    q = case.p.copy()
    log_barrier.step_dense(q, case.losses, case.eta, case.floor)
    return q


def fell(case: Instance, q: Vector) -> bool:
    """Whether some coordinate came down to the floor."""
    return bool(np.any((q <= case.floor) & (case.p > case.floor)))


def grew(case: Instance, q: Vector) -> bool:
    """Whether some coordinate grew a hundredfold: where a plain 1/p - eta lam would lose digits."""
    return bool(np.max(q / case.p) > 100.0)


@pytest.mark.parametrize("n", some([1_000, 2_000], 1))
def test_one_hot_steps_agree_with_60_digits(n: int) -> None:
    rng = np.random.default_rng(20)
    n_floored = n_grown = 0
    for _ in range(n):
        case = instance(rng)
        q = step_one_hot(case)
        exact = log_barrier_step(case.p, one_hot(case.p.size, case.a, case.loss), case.eta, case.floor)
        assert relative_error(q, exact) <= CLOSE, case
        assert np.all(q >= case.floor), case
        n_floored += fell(case, q)
        n_grown += grew(case, q)
    assert n_floored >= 0.075 * n
    assert n_grown >= 0.05 * n


@pytest.mark.parametrize("n", some([750, 1_500], 1))
def test_dense_steps_agree_with_60_digits(n: int) -> None:
    rng = np.random.default_rng(21)
    n_floored = n_grown = 0
    for _ in range(n):
        case = instance(rng)
        q = step_dense(case)
        assert relative_error(q, log_barrier_step(case.p, case.losses, case.eta, case.floor)) <= CLOSE, case
        assert np.all(q >= case.floor), case
        n_floored += fell(case, q)
        n_grown += grew(case, q)
    assert n_floored >= 2 / 15 * n
    assert n_grown >= 1 / 15 * n


@pytest.mark.jit_off
def test_a_few_steps_of_each_kind_agree_with_60_digits() -> None:
    rng = np.random.default_rng(22)
    for _ in range(60):
        case = instance(rng, largest=12)
        charged = one_hot(case.p.size, case.a, case.loss)
        assert relative_error(step_one_hot(case), log_barrier_step(case.p, charged, case.eta, case.floor)) <= CLOSE
        assert relative_error(step_dense(case), log_barrier_step(case.p, case.losses, case.eta, case.floor)) <= CLOSE


@pytest.mark.parametrize("tiny", [1e-3, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("loss", [1.0, 1e6, 1e12, 1e18])
@pytest.mark.parametrize("floor", [0.0, 1e-16])
def test_losses_of_any_size_on_a_lopsided_pair(tiny: float, loss: float, floor: float) -> None:
    """Mass flows to a coordinate that had next to none: there 1/p - eta lam in plain floats loses most digits."""
    p = np.array([1.0 - tiny, tiny])
    for eta in ([1.0, 1.0], [10.0, 1e-4], [1e-4, 10.0]):
        q = p.copy()
        log_barrier.step_one_hot(q, 0, loss, np.array(eta), floor)
        assert relative_error(q, log_barrier_step(p, [loss, 0.0], eta, floor)) <= CLOSE


def test_twins_that_take_over() -> None:
    rng = np.random.default_rng(25)
    n_grown = 0
    for _ in range(200):
        case = twins(rng)
        charged = one_hot(3, 0, case.loss)
        q = step_one_hot(case)
        assert relative_error(q, log_barrier_step(case.p, charged, case.eta, 0.0)) <= CLOSE, case
        assert relative_error(step_dense(case), log_barrier_step(case.p, case.losses, case.eta, 0.0)) <= CLOSE, case
        n_grown += grew(case, q)
    assert n_grown >= 100


def test_a_small_charge_can_still_be_a_long_way() -> None:
    """Rates far apart: the charged coordinate hardly moves, and a tiny one with a high rate is driven to its pole."""
    rng = np.random.default_rng(26)
    n_grown = 0
    for _ in range(200):
        tiny = float(10.0 ** rng.uniform(-6, -4.5))
        case = Instance(np.array([1.0 - tiny, tiny]), 0, 0.0, np.zeros(2), np.array([1e-4, 10.0]), 0.0)
        case = case._replace(loss=float(rng.uniform(0.8, 1.5)) / (10.0 * tiny))
        q = step_one_hot(case)
        assert relative_error(q, log_barrier_step(case.p, [case.loss, 0.0], case.eta, 0.0)) <= CLOSE, case
        n_grown += grew(case, q)
    assert n_grown >= 50


def test_newton_stays_far_below_its_cap() -> None:
    """Near steps took at most 3 rounds and far ones at most 12 on 40,000 such problems; the cap is 100."""
    rng = np.random.default_rng(23)
    near = []
    far = []
    for _ in range(4_000):
        case = instance(rng)
        if case.p.size == 1:
            continue
        charged = case.p.copy()
        charged[case.a] /= 1.0 + min(case.eta[case.a] * charged[case.a] * case.loss, 1.0)
        near.append(log_barrier._balance(charged, case.eta, 0.0, False))
        poles = [log_barrier._pole(*each) for each in zip(case.p, case.eta, case.losses, strict=True)]
        lowest, tail = min(poles)
        gaps = np.array([(high - lowest) + (low - tail) for high, low in poles])
        far.append(log_barrier._settle(gaps, case.eta, case.floor))
    assert np.mean(np.array(near) >= 0) > 0.9  # else the near way was hardly tried
    assert max(near) <= 5
    assert max(far) <= 16
    assert np.mean(far) <= 6.0


@pytest.mark.jit_off
def test_hardly_any_room_above_the_floor() -> None:
    for H in (1, 2, 3, 7, 10, 40):
        for floor in (1.0 / H, np.nextafter(1.0 / H, 0.0), 0.999999 / H):
            p = np.full(H, 1.0 / H)
            rates = np.full(H, 0.7)
            log_barrier.step_one_hot(p, 0, 1e6, rates, floor)
            np.testing.assert_allclose(p, 1.0 / H, rtol=2e-6 * H)
            log_barrier.step_dense(p, np.linspace(-3.0, 1e4, H), rates, floor)
            np.testing.assert_allclose(p, 1.0 / H, rtol=2e-6 * H)
            assert np.all(p >= floor)


@pytest.mark.jit_off
def test_rounding_dust_does_no_harm() -> None:
    """Sums a few ulp off 1, entries a hair under the floor, entries of 0: what comes out is clean."""
    rng = np.random.default_rng(24)
    for _ in range(300):
        case = instance(rng, largest=12)
        dusty = case.p * (1.0 + rng.uniform(-4e-16, 4e-16, case.p.size))
        if case.floor == 0.0 and case.p.size > 2:
            dusty[(case.a + 1) % case.p.size] = 0.0
            dusty /= dusty.sum()
        for q in (step_one_hot(case._replace(p=dusty)), step_dense(case._replace(p=dusty))):
            assert np.all(np.isfinite(q))
            assert np.all(q >= case.floor * (1.0 - 1e-15))
            assert abs(q.sum() - 1.0) <= 1e-14
