"""The oracles of the index rules on cases worked by hand."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import pytest

from tests.naive.index import KLUCB, UCB1, DiscountedUCB, IndexRule, SlidingWindowUCB, kl_upper


def near(expected: object) -> object:
    return pytest.approx(expected, rel=4e-15, abs=0)


def told(rule: IndexRule, *rounds: tuple[int, float]) -> IndexRule:
    for a, loss in rounds:
        rule.tell(a, loss)
    return rule


def test_the_kl_root() -> None:
    # kl(0, q) = -ln(1 - q), so level ln 2 gives 1/2. kl(1/2, q) = -ln(2 sqrt(q (1 - q))): with level ln(2/sqrt 3),
    # q (1 - q) = 3/16, q = 3/4. kl(1, q) = -ln q is 0 at q = 1 alone.
    assert kl_upper(0.0, log(2)) == near(0.5)
    assert kl_upper(0.5, log(2 / sqrt(3))) == near(0.75)
    assert kl_upper(1.0, 5.0) == 1.0
    assert kl_upper(0.25, 0.0) == near(0.25)


def test_ucb1() -> None:
    # Losses 0.25 and 0.75 at arm 0, 1 at arm 1: means 0.5 and 0, t = 3.
    rule = told(UCB1(3), (0, 0.25), (1, 1.0), (0, 0.75))
    assert rule.indices() == near([0.5 + sqrt(log(3)), sqrt(2 * log(3)), inf])
    assert told(UCB1(1, exploration=0.5), (0, 1.0), (0, 1.0)).indices() == near([sqrt(log(2) / 4)])
    assert told(UCB1(2), (0, 0.5)).indices() == [0.5, inf]  # ln 1 = 0


def test_kl_ucb() -> None:
    # Arm 0 has mean reward 0 after two of three rounds: -2 ln(1 - q) = ln 3, q = 1 - 1/sqrt 3. Arm 1 has mean 1.
    rule = told(KLUCB(3), (0, 1.0), (1, 0.0), (0, 1.0))
    assert rule.indices() == near([1 - 1 / sqrt(3), 1.0, inf])
    # t = 16: ln ln 16 = ln 2.7726 = 1.0198; with c = 3 one arm of mean 0 has q = 1 - exp(-(ln 16 + 3 ln ln 16)/16).
    rule = told(KLUCB(1, extra=3.0), *[(0, 1.0)] * 16)
    assert rule.indices() == near([1 - exp(-(log(16) + 3 * log(log(16))) / 16)])
    assert told(KLUCB(1, extra=3.0), (0, 1.0), (0, 1.0)).indices() == near([1 - 1 / sqrt(2)])  # ln ln 2 < 0 counts 0


def test_discounted_ucb() -> None:
    # gamma = 1/2. Loss 0 at arm 0, loss 1 at arm 1, loss 0.5 at arm 0: N = (1/4 + 1, 1/2), X = (1/4 + 1/2, 0),
    # n = 7/4. Index of arm 0: 3/5 + 2 sqrt(0.6 ln(7/4)/(5/4)).
    rule = told(DiscountedUCB(2, discount=0.5), (0, 0.0), (1, 1.0), (0, 0.5))
    assert rule.indices() == near([0.6 + 2 * sqrt(0.6 * log(1.75) / 1.25), 2 * sqrt(1.2 * log(1.75))])
    # The kl index of arm 1, of mean 0: -ln(1 - q)/2 = ln(7/4), q = 1 - (4/7)^2.
    rule = told(DiscountedUCB(2, discount=0.5, index="kl"), (0, 0.0), (1, 1.0), (0, 0.5))
    assert rule.indices()[1] == near(1 - 16 / 49)
    assert float(DiscountedUCB(2, 100, n_switches=4).gamma) == near(0.95)  # 1 - sqrt(4/100)/4
    assert float(DiscountedUCB(2, 100).gamma) == near(0.975)
    assert DiscountedUCB(2, 100, n_switches=0).gamma == 1


def test_sliding_window_ucb() -> None:
    # A window of 2: of three rounds the first is gone, so arm 0 has one sample of reward 1/4 and arm 1 one of 0.
    rule = told(SlidingWindowUCB(3, window=2), (0, 0.0), (1, 1.0), (0, 0.75))
    assert rule.indices() == near([0.25 + sqrt(0.6 * log(2)), sqrt(0.6 * log(2)), inf])
    rule = told(SlidingWindowUCB(3, window=2, index="kl"), (0, 0.0), (1, 1.0), (0, 0.75))
    assert rule.indices()[1] == near(0.5)  # -ln(1 - q) = ln 2
    # T = 100, S = 4: 2 sqrt(100 ln 100/4) = 21.46, so 22. With 20 arms 40, twice as many as there are. T = 1: 2 K.
    assert SlidingWindowUCB(2, 100, n_switches=4).tau == 22
    assert SlidingWindowUCB(20, 100, n_switches=4).tau == 40
    assert SlidingWindowUCB(3, 1).tau == 6
    assert SlidingWindowUCB(3, 100, n_switches=0).tau == inf
