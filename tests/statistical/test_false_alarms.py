"""How often the GLR test fires where nothing changes, and that it fires soon where something does."""

from __future__ import annotations

import numpy as np
import pytest

import turncoat as tc

ROUNDS = 1000
STREAMS = 400


def restarts(mean: float, delta: float, seed: int) -> int:
    """Changes seen in one arm whose losses are 0 or 1 with this mean."""
    learner = tc.GLRklUCB(1, ROUNDS, delta=delta, seed=seed)
    tc.play(learner, (np.random.default_rng([seed, 5]).random((ROUNDS, 1)) < mean).astype(float))
    return learner.n_restarts


@pytest.mark.parametrize("mean", [0.5, 0.05])
def test_a_stationary_arm_is_rarely_restarted(mean: float) -> None:
    """Null: a false alarm within 1000 pulls has at most the probability delta = 0.05; n = 400 streams.

    More than 41 have probability 6e-6 under the null (binomial); a rate of 0.145 is caught in 99 cases of 100. Measured
    over 4000 streams it was 0.011 and 0.004: the threshold is generous."""
    assert sum(restarts(mean, 0.05, seed) > 0 for seed in range(STREAMS)) <= 41


def test_a_change_is_seen_in_time() -> None:
    """Losses of mean 0.2, after 500 of 1000 pulls 0.6.

    Null: it is seen within 250 pulls, and not before it came, with probability at least 0.99 (0.995 over 1000 streams);
    n = 200. Fewer than 190 have probability 7e-6 under the null; a rate of 0.90 is caught in 99 cases of 100."""
    seen = 0
    for seed in range(200):
        chance = np.random.default_rng([seed, 6])
        learner = tc.GLRklUCB(1, ROUNDS, seed=seed)
        tc.play(learner, (chance.random((500, 1)) < 0.2).astype(float))
        early = learner.n_restarts
        tc.play(learner, (chance.random((250, 1)) < 0.6).astype(float))
        seen += early == 0 and learner.n_restarts > 0
    assert seen >= 190
