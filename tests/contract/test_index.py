"""Rules that play the largest index: ties, late tells, and what other libraries got wrong."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import INDEXED, Maker, each, play_by_hand
from turncoat.errors import StateError
from turncoat.learners.base.index import IndexLearner
from turncoat.learners.parts.discounting import weight


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


@pytest.mark.jit_off
@each([("discounted", tc.DiscountedUCB), ("discounted, kl", partial(tc.DiscountedUCB, index="kl"))])
def test_discounted_counts_are_no_whole_numbers(make: Maker) -> None:
    """SMPyBandits keeps them as integers: gamma·1 + 1 is cut to 1, and an arm never has more than one sample."""
    learner = make(1, discount=0.9)
    for _ in range(500):
        learner.observe(0, 0.5)
    state = learner.view()
    assert state.counts[0] / weight(0.9, state.age[0]) == pytest.approx(10.0, rel=1e-12)  # 1/(1 - 0.9)


@pytest.mark.jit_off
def test_an_arm_that_is_not_played_fades_too() -> None:
    """SMPyBandits lets an arm fade only when it is played, so one that once looked bad is never looked at again."""
    learner = tc.DiscountedUCB(2, discount=0.9, seed=1)
    for arm in (0, 1):
        learner.observe(arm, 1.0)
    before = learner.indices[1]
    for _ in range(30):
        learner.observe(0, 0.0)
    state = learner.view()
    assert state.counts[1] / weight(0.9, state.age[0]) == pytest.approx(0.9**30, rel=1e-12)
    assert learner.indices[1] > before + 3.0
    assert learner.ask().index == 1


@pytest.mark.jit_off
@pytest.mark.parametrize("make", [tc.DiscountedUCB, tc.SlidingWindowUCB])
@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("n_switches", [None, 0])
@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
def test_no_switch_and_tiny_horizons(make: Maker, horizon: int, n_switches: int | None) -> None:
    """ln 1 = 0 makes the formula's window 0 at T = 1 (SMPyBandits' fails there), and S = 0 would divide by 0."""
    learner = make(3, horizon, n_switches=n_switches, seed=1)
    assert len({decision.index for decision in play_by_hand(learner, 3)}) == 3
    play_by_hand(learner, 40)
    if isinstance(learner, tc.SlidingWindowUCB):
        assert learner.window == (None if n_switches == 0 else 6)
    if isinstance(learner, tc.DiscountedUCB) and n_switches == 0:
        assert learner.discount == 1.0


def test_the_tuning_is_the_papers() -> None:
    assert tc.DiscountedUCB(10, 10_000, n_switches=4).discount == pytest.approx(1 - 0.25 * 0.02, rel=1e-15)
    assert tc.DiscountedUCB(10, 10_000, n_switches=4, discount=0.5).discount == 0.5  # what is given wins
    assert tc.SlidingWindowUCB(10, 10_000, n_switches=4).window == 304  # 2 sqrt(10,000 ln 10,000 / 4) = 303.5
    assert tc.SlidingWindowUCB(10, 10_000, n_switches=4, window=9).window == 9
    assert tc.SlidingWindowUCB(10, 10_000).window == 607
    with pytest.raises(tc.HorizonError, match="SlidingWindowUCB without window= has no anytime form"):
        tc.SlidingWindowUCB(3)


@pytest.mark.jit_off
def test_only_the_window_counts_and_an_arm_that_left_it_is_untried() -> None:
    learner = tc.SlidingWindowUCB(3, window=4, seed=1)
    for arm, loss in ((1, 0.0), (0, 1.0), (2, 0.5), (2, 0.25), (2, 1.0)):
        learner.observe(arm, loss)
    state = learner.view()
    assert state.counts.tolist() == [1.0, 0.0, 3.0]
    assert state.sums.tolist() == [0.0, 0.0, 1.25, 0.0, 0.0, 0.0]
    assert learner.indices[1] == np.inf and learner.ask().index == 1


@pytest.mark.jit_off
def test_a_restored_window_must_be_that_of_its_counts() -> None:
    for field, place, value in (("played", 2, 3), ("played", 2, 0), ("played", 0, 1), ("counts", 0, 2.0)):
        learner = tc.SlidingWindowUCB(3, window=5, seed=1)
        for arm in (0, 1, 2):
            learner.observe(arm, 0.5)
        assert tc.restore(learner.state()).state() == learner.state()
        getattr(learner.view(), field)[place] = value
        with pytest.raises(StateError, match=r"played holds an arm|counts are not those"):
            tc.restore(learner.state())


def test_an_arm_told_alone_for_long_breaks_nothing() -> None:
    """The other arm's samples fade below anything that a float can hold: it counts as untried, and nothing is NaN."""
    for index in ("ucb", "kl"):
        learner = tc.DiscountedUCB(2, discount=0.5, index=index, seed=1)
        learner.observe(1, 0.3)
        for _ in range(3000):
            learner.observe(0, 0.0)
            assert not np.isnan(learner.indices).any()
        assert learner.indices[1] == np.inf and learner.ask().index == 1
