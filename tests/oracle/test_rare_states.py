"""States that play hardly ever reaches, each of which once went wrong."""

from __future__ import annotations

import numpy as np
import pytest

import turncoat as tc
from turncoat.mirror.entropy import step_one_hot


@pytest.mark.jit_off
def test_a_draw_of_exactly_0_that_meets_a_vanished_arm() -> None:
    # The arm's weight is 5e-324 and its share of the total 0: it was served with propensity 0, and 0/0 made NaN.
    learner = tc.Exp3(3, 100, seed=1)
    view = learner.view()
    learner.observe(0, loss=1.0, propensity=float(view.eta / 744.3))
    view.rng[:] = [0, 1, 2, 0]  # the next number drawn is 0.0
    state = learner.state()
    by_hand = tc.restore(state)
    decision = by_hand.ask()
    assert decision.index == 0 and decision.propensity is not None and decision.propensity > 0.0
    by_hand.tell(decision, loss=0.0)
    tc.play(learner, np.zeros((1, 3)))
    for probabilities in (by_hand.probabilities(), learner.probabilities()):
        assert np.isfinite(probabilities).all() and probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("propensity", [1e-12, 1e-20])
def test_a_charge_that_all_bases_share_freezes_nothing(propensity: float) -> None:
    # All bases are uniform, so an absurd estimate charges them alike and says nothing about them; but it filled the
    # master's sums so that later charges were lost in rounding, and its probabilities stayed at 1/H for ever.
    charged, plain = (tc.MasterBase(3, 10_000, seed=1, feedback="shared", projection="mixing") for _ in range(2))
    charged.observe(0, loss=1.0, propensity=propensity)
    before = charged.master_probabilities
    assert before == pytest.approx(np.full_like(before, before[0]), rel=1e-12)
    for learner in (charged, plain):
        tc.play(learner, np.tile([0.0, 1.0, 1.0], (5_000, 1)))
        assert np.ptp(learner.master_probabilities) > 1e-3


def test_charging_what_is_on_the_floor_moves_nobody() -> None:
    # Rescaling the others by 1 ± rounding, twenty thousand times, took some of them below the floor.
    chance = np.random.default_rng(43)
    H = int(chance.integers(3, 40))
    floor = 10 ** chance.uniform(-6, -1) / H
    w = 10 ** chance.uniform(-8, 0, H)
    w[: H // 2] = 0.0
    p = floor + (1.0 - H * floor) * w / w.sum()
    p[: H // 2] = floor
    before = p.copy()
    for _ in range(20_000):
        step_one_hot(p, 0, 1e6, floor)
    assert np.array_equal(p, before)
