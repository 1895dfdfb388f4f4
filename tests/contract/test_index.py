"""Rules that play the largest index: ties, late tells, and what other libraries got wrong."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import INDEXED, Maker, each, play_by_hand
from turncoat.learners.index import IndexLearner


def as_indexed(learner: tc.Learner) -> IndexLearner:
    assert isinstance(learner, IndexLearner)
    return learner


@pytest.mark.jit_off
@each(INDEXED)
def test_the_largest_index_is_played_and_ties_share(make: Maker) -> None:
    learner = as_indexed(make(4, 1000, seed=3))
    n_tied = 0
    for _ in range(60):
        on_top = learner.indices == learner.indices.max()
        assert np.array_equal(learner.probabilities(), on_top / on_top.sum())
        decision = learner.ask()
        assert on_top[decision.index] and decision.propensity == 1 / on_top.sum()
        learner.tell(decision, loss=float(decision.index != 1))
        n_tied += on_top.sum() > 1
    assert 3 <= n_tied < 60


@pytest.mark.jit_off
@each(INDEXED)
def test_every_arm_is_tried_first_in_an_order_that_the_seed_decides(make: Maker) -> None:
    orders = set()
    for seed in range(6):
        first = [decision.index for decision in play_by_hand(make(5, 1000, seed=seed), 5)]
        assert sorted(first) == [0, 1, 2, 3, 4]
        orders.add(tuple(first))
    assert len(orders) > 1


@each(INDEXED)
def test_a_batch_of_asks_is_spread_over_untried_arms(make: Maker) -> None:
    """With the lowest index winning ties, a thousand asks before the first tell would all play arm 0.

    Null: each of 4 arms with chance 1/4, n = 4000. |count - 1000| > 164 is 6 deviations: false alarm below 1e-8; an arm
    of chance 0.21 or 0.29 is caught in 99 cases of 100."""
    learner = make(4, 1000, seed=3)
    decisions = [learner.ask() for _ in range(4000)]
    counts = Counter(decision.index for decision in decisions)
    assert all(abs(counts[arm] - 1000) <= 164 for arm in range(4))
    assert {decision.propensity for decision in decisions} == {0.25}


@pytest.mark.jit_off
@each(INDEXED)
def test_asks_between_tells_repeat_until_something_is_told(make: Maker) -> None:
    """The rule acts on what it was told: a delayed arm is played again and again, and the tells that come lift it."""
    learner = as_indexed(make(3, 1000, seed=3))
    play_by_hand(learner, 30)
    learner.observe(0, 1.0)  # breaks any tie
    before = learner.indices
    waiting = [learner.ask() for _ in range(20)]
    assert np.array_equal(learner.indices, before)
    assert np.sum(before == before.max()) == 1
    assert {decision.index for decision in waiting} == {int(before.argmax())}
    for decision in waiting:
        learner.tell(decision, loss=1.0)
    assert learner.indices[waiting[0].index] < before[waiting[0].index]
    assert {learner.ask().index for _ in range(50)} != {waiting[0].index}


# -- what other libraries got wrong --------------------------------------------------------------------------------


@pytest.mark.jit_off
@each(INDEXED)
def test_the_first_reward_of_an_arm_counts(make: Maker) -> None:
    """coba's UCB forgets it, and its tests feed constant rewards."""
    ends = []
    for first in (0.0, 1.0):
        learner = as_indexed(make(2, 1000, seed=1))
        for loss in (first, 0.5, 0.5):
            learner.observe(0, loss)
        ends.append(learner.indices[0])
    assert ends[0] > ends[1] + 0.05


@pytest.mark.jit_off
@each(INDEXED)
def test_an_arm_missing_from_the_first_observations_is_played(make: Maker) -> None:
    """MABWiser's UCB1 never plays one."""
    learner = make(3, 1000, seed=1)
    for t in range(20):
        learner.observe(t % 2, 0.0)
    assert learner.probabilities().tolist() == [0.0, 0.0, 1.0]
    assert learner.ask().index == 2


@each(INDEXED)
def test_two_learners_without_a_seed_are_two_streams(make: Maker) -> None:
    """coba's learners all had the seed 1. The chance that 20 untold asks over 9 arms agree is 9^-20."""
    assert [make(9, 1000).ask().index for _ in range(20)] != [make(9, 1000).ask().index for _ in range(20)]
