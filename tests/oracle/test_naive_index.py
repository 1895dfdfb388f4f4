"""The oracles of the index rules on cases worked by hand."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import pytest

from tests.naive.index import KLUCB, UCB1, IndexRule, kl_upper


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
