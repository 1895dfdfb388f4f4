"""1/2-Tsallis weights against 60-digit arithmetic: every coordinate to a relative 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.naive.projections import relative_error, tsallis_weights
from tests.oracle.instances import instance
from turncoat.learners import TsallisINF
from turncoat.learners.adversarial.tsallis_inf import settle
from turncoat.types import Vector

CLOSE = 1e-12


def weights(estimates: Vector, eta: float) -> Vector:
    w: Vector = np.minimum(0.5 * eta * (estimates - estimates.min()), 1e140)
    settle(w)
    return w


def test_weights_agree_with_60_digits() -> None:
    rng = np.random.default_rng(30)
    for _ in range(1_000):
        case = instance(rng)
        estimates = case.losses * rng.choice([1.0, 1e3])
        w = weights(estimates, case.eta[0])
        assert relative_error(w, tsallis_weights(estimates, case.eta[0])) <= CLOSE, case


@pytest.mark.jit_off
def test_a_few_agree_with_60_digits() -> None:
    rng = np.random.default_rng(32)
    for _ in range(60):
        case = instance(rng, largest=12)
        assert relative_error(weights(case.losses, case.eta[0]), tsallis_weights(case.losses, case.eta[0])) <= CLOSE


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
        n_steps.append(settle(0.5 * case.eta[0] * (case.losses - case.losses.min())))
    assert max(n_steps) <= 10


@pytest.mark.jit_off
def test_estimates_of_any_size() -> None:
    for K in (1, 2, 10):
        np.testing.assert_allclose(weights(np.full(K, 1e15), 1e-3), 1.0 / K, rtol=1e-15)
    w = weights(np.array([0.0, 1e300, 1e5]), 10.0)
    assert np.all(w > 0.0)
    assert w[0] == pytest.approx(1.0)
