"""The oracles of `tests/naive/blocks.py` on cases worked by hand."""

from __future__ import annotations

from math import e, exp, log, sqrt

import pytest

from tests.naive.blocks import BanditOverBandit, Exp3R


def near(expected: object) -> object:
    return pytest.approx(expected, rel=4e-15, abs=0)


def test_bandit_over_bandit() -> None:
    # K = 2, T = 45: B = ceil(sqrt 90) = 10, 5 blocks, ln(KB) = ln 20. Tunings: g = sqrt(2 (ln 20 + e)/(10 (e - 1)))
    # = 0.815527 for h = 1, and for h = e it would be 1.124: 1, as for e^2 and e^3, which are left out. So two tunings,
    # and G = sqrt(2 ln 2/(5 (e - 1))) = 0.401694.
    g, G = sqrt((log(20) + e) / (5 * (e - 1))), sqrt(2 * log(2) / (5 * (e - 1)))
    learner = BanditOverBandit(2, 45)
    assert (learner.block, len(learner.switches)) == (10, 2)
    assert float(learner.exp3s.gamma) == near(g) and g == pytest.approx(0.815527, abs=1e-6)
    # Block 1, tuning 1, which plays uniformly. Ten losses of 1/4: the gain is 3/4, and tuning 1 was drawn with 1/2.
    learner.begin(1)
    for t in range(10):
        assert learner.probabilities() == [0.5, 0.5]
        learner.tell(t % 2, 0.25, 0.5)
    w = exp(G / 2 * 0.75 / 0.5)
    p1 = (1 - G) * w / (1 + w) + G / 2
    assert learner.top.probabilities() == near([1 - p1, p1])
    assert p1 == pytest.approx(0.544725, abs=1e-6)
    # Block 2, tuning 0. One loss of 1/4 at arm 0, served 1/2, with share 1/10:
    # w = (exp(g/2 x 1.5) + e/10, 1 + e/10).
    learner.begin(0)
    learner.tell(0, 0.25, 0.5)
    first, second = exp(0.75 * g) + e / 10, 1 + e / 10
    assert learner.probabilities()[0] == near((1 - g) * first / (first + second) + g / 2)
    # A block of no gain leaves the tunings as they are.
    learner.begin(0)
    for _ in range(10):
        learner.tell(0, 1.0, 0.5)
    assert learner.top.probabilities() == near([1 - p1, p1])


def test_bandit_over_bandit_in_the_smallest_games() -> None:
    one = BanditOverBandit(5, 3)  # sqrt 15 is above 3
    assert (one.block, len(one.switches), one.top.probabilities()) == (3, 1, [1.0])
    assert BanditOverBandit(1, 1).probabilities() == [1.0]


def test_exp3_r() -> None:
    # K = 2, T = 100: g = sqrt(2 ln 2 ln 100/100) = 0.252670. gap 1/2, delta 1/2: m = ceil(8 ln 2) = ceil(5.55) = 6.
    g = sqrt(2 * log(2) * log(100) / 100)
    learner = Exp3R(2, 100, gap=0.5, delta=0.5)
    assert learner.m == 6
    learner.tell(0, 0.25, 0.5)
    p0 = (1 - g) / (1 + exp(-g / 2 * 1.5)) + g / 2
    assert learner.probabilities() == near([p0, 1 - p0])
    # Arm 0 leads. Its explored rewards are 1/4 each, those of arm 1 are 3/4, but for one: 5/8 in the mean, and 5/8 -
    # 1/4 < 1/2. Eight of arm 0 do no harm; the sixth of arm 1 makes the test.
    for _ in range(8):
        learner.explore(0, 0.75)
    for _ in range(5):
        learner.explore(1, 0.25)
    assert learner.n_tests == 0
    learner.explore(1, 1.0)
    assert (learner.n_tests, learner.n_restarts) == (1, 0)
    assert learner.probabilities() == near([p0, 1 - p0])
    # Now six of each, exactly 1/2 apart: it starts again.
    for _ in range(6):
        learner.explore(1, 0.25)
    for _ in range(5):
        learner.explore(0, 0.75)
    assert learner.n_tests == 1
    learner.explore(0, 0.75)
    assert (learner.n_tests, learner.n_restarts) == (2, 1)
    assert learner.probabilities() == [0.5, 0.5]
    # That the leader's mean is the larger one is no reason.
    learner.tell(0, 0.25, 0.5)
    for _ in range(6):
        learner.explore(0, 0.0)
        learner.explore(1, 1.0)
    assert (learner.n_tests, learner.n_restarts) == (3, 1)


def test_exp3_r_in_the_smallest_games() -> None:
    assert Exp3R(1, 1).probabilities() == [1.0]
    assert float(Exp3R(2, 1).gamma) == near(log(2))  # sqrt(2 ln 2 ln 2/2): T = 1 is taken as 2
    assert float(Exp3R(2, 100, exploration=0.5).gamma) == near(0.5 * sqrt(2 * log(2) * log(100) / 100))
