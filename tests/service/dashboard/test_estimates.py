"""Estimates from sums against the same from raw rows, and what must hold of them whatever the rows are."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import gains
from tests.naive.gains import Row
from turncoat.service.experiments.estimates import (
    ComparedSums,
    Estimate,
    Sums,
    add,
    clustering,
    gain_over_arm,
    gain_over_stream,
    mean_reward,
    sample_ratio,
    worth,
)
from turncoat.service.messages import RewardRule

LOW, HIGH = -1.0, 3.0
REWARDS = RewardRule(min=LOW, max=HIGH)


def sums(rows: Iterable[Row]) -> Sums:
    """What the service keeps of rows."""
    each = (Sums(1.0, r, r * r, 1.0 / p, p**-2, r / p, r * r / p, r / p**2, (r / p) ** 2) for _, p, r in rows)
    return add(each)


def of(arm: str, rows: list[Row]) -> Sums:
    return sums(row for row in rows if row[0] == arm)


def is_close(found: Estimate | None, truth: tuple[float, float, float]) -> bool:
    assert found is not None
    return (found.value, found.low, found.high) == pytest.approx(truth, rel=1e-9, abs=1e-9)


row = st.tuples(st.sampled_from("ab"), st.floats(0.05, 1.0), st.floats(LOW, HIGH))
rows = st.lists(row, min_size=1, max_size=30).map(lambda some: [("a", 0.5, 1.0), *some])


@given(rows)
def test_a_mean_is_that_of_the_raw_rows(some: list[Row]) -> None:
    own = [row for row in some if row[0] == "a"]
    assert is_close(mean_reward(sums(own), REWARDS), gains.mean_reward(own, LOW, HIGH))


rewards = st.lists(st.floats(LOW, HIGH), min_size=1, max_size=20)
strata = st.lists(st.tuples(rewards, rewards), min_size=1, max_size=3)


def compared(rows: list[Row]) -> tuple[ComparedSums, list[float]]:
    """Rows in which arm a had a chance: its own propensity, or what the others left. The sums, and its chances."""
    chances = [p if arm == "a" else 1.0 - p / 2.0 for arm, p, _ in rows]
    total = math.fsum(r for _, _, r in rows)
    return ComparedSums(len(rows), total, of("a", rows), math.fsum(1.0 / p for p in chances)), chances


def evenly(ours: list[float], theirs: list[float]) -> ComparedSums:
    return ComparedSums(len(ours), math.fsum(ours), sums(("a", 1.0, r) for r in theirs))


@given(strata)
def test_a_gain_over_a_stream_is_that_of_the_raw_rewards(some: list[tuple[list[float], list[float]]]) -> None:
    found = gain_over_stream([evenly(*one) for one in some], REWARDS)
    assert is_close(found, gains.gain_over_stream(some, LOW, HIGH))


@given(rows)
def test_a_gain_over_an_arm_is_that_of_the_raw_rows(some: list[Row]) -> None:
    one, chances = compared(some)
    assert is_close(gain_over_arm(one, REWARDS), gains.gain_over_arm("a", some, chances, LOW, HIGH))


decisions = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.sampled_from([0.0, 1.0, 3.0])), max_size=40)


@given(decisions, st.integers(1, 50), st.integers(1, 50))
def test_what_units_have_in_common_is_that_of_the_raw_decisions(
    more: list[tuple[int, int, float]], first: int, second: int
) -> None:
    some = [(0, 0, 0.0), (0, 1, 1.0), (1, 0, 1.0), (1, 2, 0.0), *more]
    found = []
    for stratum, n in enumerate((first, second)):
        own = [(group, r) for i, group, r in some if i == stratum]
        members = {group: [r for one, r in own if one == group] for group, _ in own}
        groups = {group: (float(len(rs)), sum(rs), sum(r * r for r in rs)) for group, rs in members.items()}
        found.append(evenly([0.0] * n, [r for _, r in own])._replace(groups=groups))
    assert clustering(found) == pytest.approx(gains.clustering(some, [first, second]))


def test_units_that_decide_often_widen_the_interval() -> None:
    """64 groups, in each ten decisions of the same reward: the variance is ten times as large, up to 64 / 63."""
    rewards = [float(group % 2) for group in range(64) for _ in range(10)]
    groups = {group: (10.0, 10.0 * (group % 2), 10.0 * (group % 2)) for group in range(64)}
    one = evenly([1.0] * 100, rewards)
    assert clustering([one]) == 1.0
    assert clustering([one._replace(groups=groups)]) == pytest.approx(10.0 * 64 / 63)


def test_strata_are_compared_within_themselves() -> None:
    """Control is served when rewards are low, the learner when they are high: no gain, and no 80."""
    low, high = ([0.0] * 10, [0.0] * 90), ([1.0] * 90, [1.0] * 10)
    assert gain_over_stream([evenly(*low), evenly(*high)], RewardRule()).value == 0.0
    assert gain_over_stream([evenly(low[0] + high[0], low[1] + high[1])], RewardRule()).value == 80.0


@given(rows, rows, st.floats(1.0, 1e4))
def test_what_an_arm_is_worth_is_that_of_the_raw_rows(to: list[Row], left: list[Row], n: float) -> None:
    assert is_close(worth(n, sums(to), sums(left), REWARDS), gains.worth(n, to, left, LOW, HIGH))


def test_by_hand() -> None:
    """Two decisions at ½, rewards 0 and 1, two of another arm: each stands for two, so it would bring 2 of 4."""
    some = [("a", 0.5, 0.0), ("a", 0.5, 1.0), ("b", 0.5, 1.0), ("b", 0.5, 1.0)]
    mean = mean_reward(of("a", some), RewardRule())
    assert mean is not None and mean.value == 0.5 and mean.effective == 2.0
    # plus four: six rewards, half of them 1, so V = 6·4·¼ / 12²
    assert mean.high - mean.value == pytest.approx(min(0.5, 1.96 * math.sqrt(6 / 144)), rel=1e-4)
    gain = gain_over_arm(ComparedSums(4.0, 3.0, of("a", some), 8.0), RewardRule())
    # √(3 · 1): Σw(w − 1)(r − m)² = 6 · 2 · ¼, and a variance of ¼ for Σ(1 / p − 1) = 4
    assert gain is not None and gain.value == 1.0
    assert gain.high - gain.value == pytest.approx(1.96 * 3.0**0.25, rel=1e-4)


def test_an_arm_that_was_always_served_is_known() -> None:
    some = [("a", 1.0, r) for r in (0.0, 1.0, 1.0)]
    assert gain_over_arm(ComparedSums(3.0, 2.0, sums(some), 3.0), RewardRule()) == Estimate(0.0, 0.0, 0.0, 3.0)


def test_nothing_is_claimed_of_what_was_never_seen() -> None:
    some = sums([("a", 0.5, 1.0)])
    assert mean_reward(Sums(), RewardRule()) is None
    assert gain_over_arm(ComparedSums(1.0, 1.0, Sums()), RewardRule()) is None
    assert worth(1.0, some, Sums(), RewardRule()) is None


def test_rewards_that_never_varied_still_leave_doubt() -> None:
    """Five zeros of five: the interval was of width 0 once, which says that the arm can never pay."""
    mean = mean_reward(sums([("a", 0.5, 0.0)] * 5), RewardRule())
    assert mean is not None and mean.value == mean.low == 0.0 and mean.high > 0.2


@given(rows, st.floats(-5.0, 5.0), st.floats(0.1, 10.0))
def test_another_unit_of_reward_changes_only_the_unit(some: list[Row], shift: float, scale: float) -> None:
    moved = [(arm, p, shift + scale * r) for arm, p, r in some]
    there = RewardRule(min=shift + scale * LOW, max=shift + scale * HIGH)
    here = gain_over_arm(compared(some)[0], REWARDS)
    other = gain_over_arm(compared(moved)[0], there)
    assert here is not None and other is not None
    assert other.value == pytest.approx(scale * here.value, rel=1e-6, abs=1e-6)
    assert other.high == pytest.approx(scale * here.high, rel=1e-6, abs=1e-4)


def test_sums_add_up() -> None:
    parts = [sums([("a", 0.5, 1.0)]), sums([("a", 0.1, 3.0), ("a", 1.0, -1.0)])]
    whole = sums([("a", 0.5, 1.0), ("a", 0.1, 3.0), ("a", 1.0, -1.0)])
    assert add(parts) == whole
    assert add([]) == Sums()


def test_the_sample_ratio_sees_an_arm_that_should_not_be_served() -> None:
    assert sample_ratio(2, {"a": 1, "b": 1}, {"a": (2.0, 0.0)}).odd == ("b",)
    assert sample_ratio(0, {}, {}).is_fine
