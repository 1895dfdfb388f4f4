"""Sums over closed decisions against sums over the raw rows."""

from __future__ import annotations

import math
import random

import pytest

from tests.naive.buckets import recomputed
from tests.service.experiments.lab import NOON, WINDOW, Lab
from turncoat.service import messages

ROWS = "SELECT experiment, decided_at, arm, stream, outcome, reward, propensity FROM decision WHERE outcome IS NOT NULL"
STORED = "SELECT * FROM bucket"


def check(lab: Lab) -> None:
    stored = {tuple(row[:5]): row[5:] for row in lab.rows(STORED)}
    expected = recomputed(lab.rows(ROWS))
    assert stored.keys() == expected.keys() and stored
    for key, sums in stored.items():
        assert all(math.isfinite(one) for one in sums)
        assert sums == pytest.approx(expected[key], rel=1e-12, abs=1e-300)


def test_a_busy_hour(labs: Lab) -> None:
    chosen = random.Random(3)
    labs.open(
        arms=["a", "b", "c"], control=messages.Control(arm="a", share=0.2), holdout_share=0.2, default_reward=0.125
    )
    open_ones: list[str] = []
    for turn in range(150):
        labs.clock.move(chosen.random() * 30.0)
        open_ones.append(str(labs.engine.decide("x").decision_id))
        if chosen.random() < 0.7:
            labs.engine.reward(open_ones.pop(chosen.randrange(len(open_ones))), chosen.random())
        if turn % 10 == 0:
            labs.engine.work()
        if turn == 100:
            labs.engine.change("x", messages.ExperimentChange(default_reward=None))
    labs.work(WINDOW)
    labs.work(WINDOW)
    check(labs)
    outcomes = {row[0] for row in labs.rows("SELECT outcome FROM decision")}
    assert outcomes == {"rewarded", "defaulted", "expired"}
    assert labs.rows("SELECT SUM(n) FROM bucket WHERE width = 10800") == [(150,)]


def test_rewards_and_propensities_as_large_and_small_as_can_be(labs: Lab) -> None:
    """Ranges up to 1e308 were accepted, and a square of such a reward is infinite."""
    labs.open(reward=messages.RewardRule(min=-1e100, max=1e100), caps={"a": 1e-12})
    for value in (1e100, -1e100, 0.0):
        labs.engine.reward(str(labs.engine.decide("x").decision_id), value)
    one = str(labs.engine.decide("x").decision_id)
    with labs.store.transaction() as session:
        session.run("UPDATE decision SET propensity = 1e-12 WHERE id = :id", id=one)
    labs.engine.reward(one, 1e100)
    labs.work()
    check(labs)


def test_fine_ones_are_tidied_away(labs: Lab) -> None:
    labs.open()
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 1.0)
    labs.work()
    assert [row[0] for row in labs.rows("SELECT width FROM bucket ORDER BY width")] == [10, 300, 10_800]
    labs.work(7_300.0)
    assert [row[0] for row in labs.rows("SELECT width FROM bucket ORDER BY width")] == [300, 10_800]
    labs.work(700_000.0)
    assert [row[0] for row in labs.rows("SELECT width FROM bucket")] == [10_800]


def test_they_are_counted_when_the_decision_was_made(labs: Lab) -> None:
    labs.open(reward_window_s=50_000.0)
    one = str(labs.engine.decide("x").decision_id)
    labs.clock.move(20_000.0)
    labs.engine.reward(one, 1.0)
    labs.engine.work()
    starts = labs.rows("SELECT start FROM bucket WHERE width = 300")
    assert starts == [(int(NOON // 300) * 300,)]
