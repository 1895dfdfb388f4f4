"""Estimates from sums against the same from raw rows, and what must hold of them whatever the rows are."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import gains
from tests.naive.gains import Row
from turncoat.service.dashboard.data.estimates import (
    Estimate,
    Sums,
    add,
    gain_over_arm,
    gain_over_control,
    gain_over_path,
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


@given(rows, rows)
def test_a_gain_over_control_is_that_of_the_raw_rows(learn: list[Row], control: list[Row]) -> None:
    found = gain_over_control(sums(learn), sums(control), REWARDS)
    assert is_close(found, gains.gain_over_control(learn, control, LOW, HIGH))


@given(rows, rows)
def test_a_gain_over_a_path_is_that_of_the_raw_rows(first: list[Row], second: list[Row]) -> None:
    segments = [(sums(first), of("a", first)), (sums(second), of("a", second))]
    assert is_close(gain_over_path(segments, REWARDS), gains.gain_over_path([("a", first), ("a", second)], LOW, HIGH))


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
    gain = gain_over_arm(sums(some), of("a", some), RewardRule())
    # Σw(w − 1)(r − m)² = 6 · 2 · ¼
    assert gain is not None and gain.value == 1.0
    assert gain.high - gain.value == pytest.approx(1.96 * math.sqrt(3.0), rel=1e-4)


def test_an_arm_that_was_always_served_is_known() -> None:
    some = [("a", 1.0, r) for r in (0.0, 1.0, 1.0)]
    assert gain_over_arm(sums(some), sums(some), RewardRule()) == Estimate(0.0, 0.0, 0.0, 3.0)


def test_nothing_is_claimed_of_what_was_never_seen() -> None:
    some = sums([("a", 0.5, 1.0)])
    assert mean_reward(Sums(), RewardRule()) is None
    assert (
        gain_over_control(some, Sums(), RewardRule()) is None and gain_over_control(Sums(), some, RewardRule()) is None
    )
    assert gain_over_arm(some, Sums(), RewardRule()) is None and worth(1.0, some, Sums(), RewardRule()) is None
    assert gain_over_path([(some, some), (some, Sums())], RewardRule()) == gain_over_arm(some, some, RewardRule())


def test_rewards_that_never_varied_still_leave_doubt() -> None:
    """Five zeros of five: the interval was of width 0 once, which says that the arm can never pay."""
    mean = mean_reward(sums([("a", 0.5, 0.0)] * 5), RewardRule())
    assert mean is not None and mean.value == mean.low == 0.0 and mean.high > 0.2


@given(rows, st.floats(-5.0, 5.0), st.floats(0.1, 10.0))
def test_another_unit_of_reward_changes_only_the_unit(some: list[Row], shift: float, scale: float) -> None:
    moved = [(arm, p, shift + scale * r) for arm, p, r in some]
    there = RewardRule(min=shift + scale * LOW, max=shift + scale * HIGH)
    here = gain_over_arm(sums(some), of("a", some), REWARDS)
    other = gain_over_arm(sums(moved), of("a", moved), there)
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
