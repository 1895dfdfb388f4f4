"""EXP3.R draws at the tell whether a round was explored. Arms and marks must be as if it had been marked at the ask.

The ask draws an arm uniformly with probability gamma, else by the weights: (arm, explored) has probability gamma/K, and
(arm, not explored) has p(arm) - gamma/K. Null: the pairs of arm and mark have these frequencies. n = 200,000 asks and
tells from one and the same state, 8 cells, chi-squared with 7 degrees of freedom, false-alarm level 1e-6. Caught with
power 0.99 is a cell of probability 0.05 that is off by 10 % (noncentrality n 0.05 0.1² = 100).
A rule that takes every reward for explored, as SMPyBandits does, or one of a constant gamma, is off by more than 50 %.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, ncx2

import turncoat as tc
from turncoat.random import uniform

K, N = 4, 200_000
LEVEL, POWER = 1e-6, 0.99


def lopsided() -> tc.Exp3R:
    """An EXP3.R with gamma = 0.2 whose arms are served with quite different probabilities, and no test in sight."""
    learner = tc.Exp3R(K, 1000, delta=1e-300, exploration=0.2 / tc.Exp3R(K, 1000).view().gamma, seed=5)
    for arm, times in ((0, 60), (1, 40), (2, 20)):
        for _ in range(times):
            learner.observe(arm, 0.0, 0.5)
    return learner


def test_arms_and_marks_are_as_if_marked_at_the_ask() -> None:
    threshold = chi2.isf(LEVEL, 2 * K - 1)
    assert ncx2.sf(threshold, 2 * K - 1, N * 0.05 * 0.1**2) > POWER
    learner = lopsided()
    p, gamma = learner.probabilities(), float(learner.view().gamma)
    assert p.max() > 0.5 and p.min() < 0.1 and abs(gamma - 0.2) < 1e-12
    start = learner._buffer.copy()
    counts, seen = learner.view().counts, np.zeros((K, 2))
    for _ in range(N):
        arm, served, *_ = learner._ask(learner._buffer)
        before = counts[arm]
        learner._tell(learner._buffer, arm, 1.0, served)
        seen[arm, int(counts[arm] > before)] += 1
        learner._buffer[4:] = start[4:]  # all but the random words
    expected = N * np.column_stack([p - gamma / K, np.full(K, gamma / K)])
    assert ((seen - expected) ** 2 / expected).sum() < threshold


def test_the_coin_is_gamma_over_k_times_what_was_served_however_late() -> None:
    # No chance here: the number that the coin is made of is drawn beforehand, from a copy of the random words.
    learner = lopsided()
    gamma = float(learner.view().gamma)
    for served in (0.05, 0.06, 0.2, 0.5, 1.0):
        for _ in range(150):
            u = uniform(learner.view().rng.copy())
            before = learner.view().counts[1]
            learner.observe(1, 1.0, served)
            assert (learner.view().counts[1] > before) == (u < gamma / (K * served))
