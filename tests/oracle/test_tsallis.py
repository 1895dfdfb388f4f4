"""1/2-Tsallis weights and steps against 60-digit arithmetic: every coordinate to a relative 1e-12, floors counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.naive.projections import one_hot, relative_error, tsallis_step, tsallis_weights
from tests.oracle.instances import Instance, instance, twins
from turncoat.learners import TsallisINF
from turncoat.mirror import tsallis
from turncoat.types import Vector

CLOSE = 1e-12


def weights(estimates: Vector, eta: float) -> Vector:
    w = np.empty(estimates.size)
    tsallis.weights(estimates, eta, w)
    return w


def step(case: Instance) -> Vector:
    q = case.p.copy()
    tsallis.step_one_hot(q, case.a, case.loss, case.eta[0], case.floor)
    return q


def test_weights_agree_with_60_digits() -> None:
    rng = np.random.default_rng(30)
    for _ in range(1_000):
        case = instance(rng)
        estimates = case.losses * rng.choice([1.0, 1e3])
        w = weights(estimates, case.eta[0])
        assert relative_error(w, tsallis_weights(estimates, case.eta[0])) <= CLOSE, case


def test_steps_agree_with_60_digits() -> None:
    rng = np.random.default_rng(31)
    n_floored = 0
    for _ in range(1_000):
        case = instance(rng)
        q = step(case)
        exact = tsallis_step(case.p, one_hot(case.p.size, case.a, case.loss), case.eta[0], case.floor)
        assert relative_error(q, exact) <= CLOSE, case
        assert np.all(q >= case.floor), case
        assert np.all(np.delete(q, case.a) >= np.delete(case.p, case.a) * (1.0 - 1e-15)), "the others only rise"
        n_floored += bool(q[case.a] == case.floor < case.p[case.a])
    assert n_floored >= 100


def test_twins_that_take_over() -> None:
    rng = np.random.default_rng(35)
    for _ in range(200):
        case = twins(rng)
        assert relative_error(step(case), tsallis_step(case.p, one_hot(3, 0, case.loss), case.eta[0], 0.0)) <= CLOSE, (
            case
        )


@pytest.mark.jit_off
def test_a_few_of_each_agree_with_60_digits() -> None:
    rng = np.random.default_rng(32)
    for _ in range(60):
        case = instance(rng, largest=12)
        assert relative_error(weights(case.losses, case.eta[0]), tsallis_weights(case.losses, case.eta[0])) <= CLOSE
        charged = one_hot(case.p.size, case.a, case.loss)
        assert relative_error(step(case), tsallis_step(case.p, charged, case.eta[0], case.floor)) <= CLOSE


@pytest.mark.jit_off
def test_leader_and_descent_are_the_same_in_the_same_scaling() -> None:
    """Without a floor, one-hot steps from the uniform distribution give the weights of the summed losses."""
    rng = np.random.default_rng(33)
    for K in (1, 2, 5, 30):
        p = np.full(K, 1.0 / K)
        estimates = np.zeros(K)
        for _ in range(50):
            a, loss = int(rng.integers(K)), float(10.0 ** rng.uniform(-2, 2))
            tsallis.step_one_hot(p, a, loss, 0.3, 0.0)
            estimates[a] += loss
            np.testing.assert_allclose(p, weights(estimates, 0.3), rtol=1e-12)


@pytest.mark.parametrize("estimator", ["iw", "rv"])
def test_what_the_learner_serves_agrees_with_60_digits(estimator: Any) -> None:
    """SMPyBandits solves (1) to a wrong sum: its probabilities are off by up to 0.96."""
    for K, rounds in ((2, 700), (3, 700), (30, 700)):
        learner = TsallisINF(K, seed=K, estimator=estimator)
        losses = np.random.default_rng(K).random((rounds, K)) ** np.linspace(0.2, 4.0, K)
        for stop in range(100, rounds + 1, 100):
            tc.play(learner, losses[stop - 100 : stop])
            view = learner.view()
            eta = {"iw": 2.0, "rv": 4.0}[estimator] / np.sqrt(stop + 1.0)
            exact = tsallis_weights(view.scores[:K] + view.scores[K:], eta)
            assert relative_error(learner.probabilities(), exact) <= CLOSE


def test_newton_stays_far_below_its_cap() -> None:
    """At most 8 rounds on 40,000 such problems; the cap is 100."""
    rng = np.random.default_rng(34)
    n_steps = []
    for _ in range(4_000):
        case = instance(rng)
        n_steps.append(tsallis.settle(0.5 * case.eta[0] * (case.losses - case.losses.min()), 0.0))
    assert max(n_steps) <= 10


@pytest.mark.jit_off
def test_estimates_of_any_size() -> None:
    for K in (1, 2, 10):
        np.testing.assert_allclose(weights(np.full(K, 1e15), 1e-3), 1.0 / K, rtol=1e-15)
    w = weights(np.array([0.0, 1e300, 1e5]), 10.0)
    assert np.all(w > 0.0)
    assert w[0] == pytest.approx(1.0)
