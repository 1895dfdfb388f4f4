"""The oracles of the rules that look for changes, on cases worked by hand."""

from __future__ import annotations

from math import inf, log, sqrt

import pytest

from tests.naive.changes import GLRklUCB, MonitoredUCB, glr


def near(expected: object) -> object:
    return pytest.approx(expected, rel=4e-15, abs=0)


def test_the_statistic() -> None:
    # 0 1: m = 1/2, one split, kl(0, 1/2) + kl(1, 1/2) = 2 ln 2. 0 0 1 1: the middle split, 4 ln 2; s = 1 has
    # kl(0, 1/2) + 3 kl(2/3, 1/2) = ln 2 + 2 ln(4/3) + ln(2/3), which is less.
    assert glr([0.0, 1.0]) == near(2 * log(2))
    assert glr([0.0, 0.0, 1.0, 1.0]) == near(4 * log(2))
    # 1 0 1: m = 2/3. s = 1: kl(1, 2/3) + 2 kl(1/2, 2/3) = ln(3/2) + ln(3/4) + ln(3/2) = ln(27/16); s = 2 is the same.
    assert glr([1.0, 0.0, 1.0]) == near(log(27 / 16))
    # 1/4 3/4: kl(1/4, 1/2) twice, each (ln(1/2) + 3 ln(3/2))/4.
    assert glr([0.25, 0.75]) == near((log(1 / 2) + 3 * log(3 / 2)) / 2)
    assert glr([]) == glr([1.0]) == glr([1.0, 1.0]) == glr([0.0] * 5) == 0.0


def test_the_thresholds() -> None:
    # T = 100: delta = 1/10. n = 4: n^(3/2) = 8. "proven": ln(240)/2 = 2.74 is below 5, so h(5) = 5 + 4 ln(6 + sqrt 10).
    assert GLRklUCB(2, 100).beta(4) == near(log(240))
    assert GLRklUCB(2, 100, threshold="experiments").beta(4) == near(log(80))
    assert GLRklUCB(2, 100, delta=0.5).beta(4) == near(log(48))
    assert GLRklUCB(2, 100, threshold="proven").beta(4) == near(2 * (5 + 4 * log(6 + sqrt(10))) + 6 * log(1 + log(4)))


def test_exploration() -> None:
    # K = 2, T = 100: alpha = sqrt(2 ln 100/100) = 0.3035, period floor(2/0.3035) = 6: rounds 5 and 6, 11 and 12, …
    # After one restart alpha is 0.4292 and the period 4. Told S = 3: 0.5257 and 3, for ever.
    rule = GLRklUCB(2, 100)
    turns = []
    for _ in range(12):
        turns.append(rule.forced())
        rule.tell(0, 0.5)
    assert turns == [None] * 4 + [0, 1] + [None] * 4 + [0, 1]
    rule.n_restarts = 1
    assert [rule.forced() for rule.t in range(4)] == [None, None, 0, 1]
    rule = GLRklUCB(2, 100, n_switches=3)
    rule.n_restarts = 5
    assert [rule.forced() for rule.t in range(6)] == [None, 0, 1, None, 0, 1]
    assert GLRklUCB(2, 100, exploration=0.0).forced() is None
    assert [rule.forced() for rule in [GLRklUCB(3, 2)] for rule.t in range(4)] == [0, 1, 2, 0]  # alpha capped at 1


def test_a_change_restarts_all_or_one() -> None:
    # delta = 1, "experiments": beta(n) = 1.5 ln n. Rewards 0 0 at arm 0: 0. Then 1: m = 1/3, the split at 2 has
    # 2 kl(0, 1/3) + kl(1, 1/3) = 2 ln(3/2) + ln 3 = ln(27/4) = 1.91, above 1.5 ln 3 = 1.65: a restart after 4 tells.
    for restart, counts in (("global", [0, 0]), ("local", [0, 1])):
        rule = GLRklUCB(2, 100, restart=restart, threshold="experiments", delta=1.0)
        for a, loss in ((1, 0.0), (0, 1.0), (0, 1.0)):
            rule.tell(a, loss)
        assert rule.n_restarts == 0
        # Arm 0 has mean 0 and 2 of 3 rounds: -2 ln(1 - q) = ln 3. Arm 1 has mean 1.
        assert rule.indices() == near([1 - 1 / sqrt(3), 1.0])
        rule.tell(0, 0.0)
        assert rule.n_restarts == 1
        assert [len(rewards) for rewards in rule.rewards] == counts
        assert rule.indices() == [inf, inf if restart == "global" else 1.0]
        rule.tell(0, 1.0)  # mean 0 once, in the first round since: ln 1 = 0
        assert rule.indices()[0] == 0.0
        rule.tell(1, 0.0)
        assert rule.indices()[0] == near(0.5)  # -ln(1 - q) = ln 2


def test_every_so_many_pulls() -> None:
    rule = GLRklUCB(1, 100, threshold="experiments", delta=1.0, every=4)
    for loss in (1.0, 1.0, 0.0):
        rule.tell(0, loss)
    assert rule.n_restarts == 0
    rule.tell(0, 0.0)  # 4 ln 2 = 2.77 > 1.5 ln 4 = 2.08
    assert rule.n_restarts == 1


def test_a_window_whose_halves_disagree() -> None:
    # w = 4, b = 4.60/3 = 1.53. Rewards 1 0 0 0: |0 - 1|. Then 1: 0 0 | 0 1, 1. Then 1: 0 0 | 1 1, 2: both arms restart.
    rule = MonitoredUCB(2, 100, window=4, tolerance=1 / 3)
    rule.tell(1, 0.5)
    apart = []
    for loss in (0.0, 1.0, 1.0, 1.0, 0.0):
        rule.tell(0, loss)
        apart.append(rule.halves(0))
    assert apart == [0.0, 0.0, 0.0, 1.0, 1.0]
    # 6 tells, 5 of them arm 0 with mean 2/5, one arm 1.
    assert rule.indices() == near([0.4 + sqrt(2 * log(6) / 5), 0.5 + sqrt(2 * log(6))])
    rule.tell(0, 0.0)
    assert rule.n_restarts == 1 and rule.rewards == [[], []] and rule.since == 7
    rule.tell(0, 1.0)
    rule.tell(1, 0.0)
    assert rule.indices() == near([sqrt(2 * log(2)), 1 + sqrt(2 * log(2))])


def test_its_tuning() -> None:
    # K = 2, T = 100, w = 4: b = sqrt(2 ln 40000) = 4.6037; gamma = sqrt(2 S (2 b + 6)/200) = 0.38998 for S = 1.
    rule = MonitoredUCB(2, 100, window=4)
    assert rule.b == near(sqrt(2 * log(40_000)))
    assert rule.gamma == near(sqrt(2 * (2 * rule.b + 6) / 200))
    assert [rule.forced() for rule.t in range(6)] == [None, None, None, 0, 1, None]  # period floor(5.13) = 5
    assert MonitoredUCB(2, 100, window=4, n_switches=4).gamma == near(2 * rule.gamma)
    assert MonitoredUCB(2, 100, window=4, n_switches=0).gamma == rule.gamma
    assert MonitoredUCB(2, 100, exploration=0.0).forced() is None
