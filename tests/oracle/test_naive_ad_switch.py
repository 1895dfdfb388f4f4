"""The slow AdSwitch on cases worked by hand."""

from __future__ import annotations

import math

from tests.cases import compiles_nothing
from tests.naive.ad_switch import AdSwitch, Interval, Obligation, alarm_by_bounds, alarm_by_pairs, apart

pytestmark = compiles_nothing

T = round(math.e**4)  # 55: L = 4.007
THEORY = {"confidence": 2.0, "elimination": 16.1, "precision": 16.0, "exploration": 1.0}


def made(K: int = 2, draws: tuple[float, ...] = (), **words: float) -> AdSwitch:
    return AdSwitch(K, T, iter(draws).__next__, **{**THEORY, **words})  # type: ignore[arg-type]


def test_intervals_disagree_if_they_have_no_point_in_common() -> None:
    # widths sqrt(1/4) = 0.5 and sqrt(1/16) = 0.25
    assert not apart(Interval(4, 0.1), Interval(16, 0.85), 1.0)
    assert apart(Interval(4, 0.1), Interval(16, 0.86), 1.0)


def test_an_alarm() -> None:
    # Zeros, then ones: with c = 0.9 four of each have widths sqrt(0.225) = 0.474, and 2 · 0.474 < 1; three have 0.548.
    # Four zeros and three ones: 0.474 + 0.548 > 1.
    for alarm in (alarm_by_bounds, alarm_by_pairs):
        assert alarm([0.0] * 4 + [1.0] * 4, 0.9) == 8
        assert alarm([0.0] * 4 + [1.0] * 3, 0.9) == 0
        assert alarm([0.0] * 12 + [1.0] * 3, 0.9) == 14  # 0.274 + 0.671, with two ones; one alone has 0.949


def test_which_starts_are_kept() -> None:
    oracle = made(1)
    oracle.episode = [(0, 0.5)] * 13
    # Before round 13: the latest of 1, 3, 5, …: 11; of 2, 6, 10: 10; of 4, 12: 12; of 8: 8.
    assert oracle.candidates() == [0, 11, 10, 12, 8]
    oracle.starts = "all"
    assert oracle.candidates() == list(range(13))


def test_arms_are_played_in_turn_and_the_worse_one_goes() -> None:
    # elimination L = 2.5: gap 1 is enough if n - 1 > 2.5, with the fourth sample of arm 1.
    oracle = made(draws=(0.0,) * 10, elimination=2.5 / math.log(T))
    for t in range(1, 9):
        arm = oracle.ask()
        assert arm == (t - 1) % 2 and oracle.good() == [0, 1]
        oracle.tell(arm, float(arm))
    assert oracle.good() == [0] and oracle.bad[1] == Interval(4, 0.0) and oracle.gaps[1] == 1.0
    assert oracle.sizes(1) == [1, 2, 3, 4]  # 1/16 is a sixteenth of the gap
    # u = 0 is a wait of one round, for every size: 2 · 4^4 · 4.007 = 2051.7 samples are owed at most
    assert oracle.obligations[1] == [Obligation(n, 8) for n in (32, 128, 512, 2051)]
    assert oracle.owed(1) == 2051 and oracle.turn() == 0
    oracle.ask()
    assert oracle.turn() == 1


def test_a_wait_is_geometric() -> None:
    # K T L = 2 · 55 · 4.007 = 440.8: p = 0.5/sqrt(440.8) = 0.0238 for i = 1. ln(1 - u)/ln(1 - p) = 28.7 for u = 0.5.
    oracle = made(draws=(0.5, 0.5))
    assert oracle.wait(1) == 29
    oracle.episode_number = 4  # twice the probability: 14.2
    assert oracle.wait(1) == 15


def test_a_bad_arm_that_becomes_better_ends_the_episode() -> None:
    # L = 4.007, confidence 0.05: widths sqrt(0.2/n). The gap is 1: one sample of 1 is enough, 1 > 0.25 + 0.448.
    oracle = made(draws=(0.0,) * 40, elimination=0.1, confidence=0.05)
    while oracle.good() == [0, 1]:
        arm = oracle.ask()
        oracle.tell(arm, float(arm))
    assert oracle.causes == []
    oracle.tell(1, 0.0)
    assert oracle.causes == ["bad"] and oracle.episode_number == 2 and oracle.good() == [0, 1]
