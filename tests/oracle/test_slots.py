"""Slots beside their oracle: of more than 1,024 arms, which have chains and pages, and what is on them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import contents
from tests.naive.slots import Slots
from turncoat.learners.turncoat.slots import MOST_CREDIT, SPREAD, slot_of
from turncoat.learners.turncoat.state import SLOTS

RIVALS = [5, SLOTS + (5 - SPREAD) % SLOTS, 9]  # the first two share slot 5


def told_arms(K: int, n: int, seed: int) -> list[int]:
    """Mostly the rivals, each for a while; now and then any arm."""
    chance = np.random.default_rng(seed)
    arms = [RIVALS[(t // 100) % 3] if chance.random() < 0.8 else int(chance.integers(K)) for t in range(n)]
    return [arm for arm in arms if arm < K]


@pytest.mark.jit_off
def test_up_to_1024_arms_each_has_its_own() -> None:
    assert [slot_of(arm) for arm in range(SLOTS)] == list(range(SLOTS))
    assert len({slot_of(7 + SLOTS * i) for i in range(SLOTS)}) == SLOTS  # and arms 1,024 apart share none
    assert slot_of(RIVALS[0]) == slot_of(RIVALS[1]) == RIVALS[0]


@pytest.mark.parametrize("K", [SLOTS, SLOTS + 1, 1500, 5000])
def test_the_vote_and_what_is_kept_are_the_oracles(K: int) -> None:
    learner = tc.Turncoat(K, seed=1)
    told = told_arms(K, 1000, seed=K)
    for t, arm in enumerate(told):
        learner.observe(arm, float(t % 3 == 0), 0.5)
    state, oracle = learner.view(), Slots(SLOTS, SPREAD, int(MOST_CREDIT), told)
    assert state.owners.tolist() == oracle.owner
    assert K == SLOTS or state.credit.tolist() == oracle.credit
    assert state.plays.sum(axis=1).tolist() == [oracle.plays(slot, told) for slot in range(SLOTS)]
    for slot in range(SLOTS):
        arm, size = int(state.owners[slot]), int(state.sizes[0, slot, 0])
        n = state.counts[0, arm]
        assert state.at[0, slot, 0, size - 1] == n and state.split_sums[0, slot, 0, size - 1] == state.sums[0, arm]
        splits = state.at[0, slot, 0, 1 : size - 1]
        assert (splits >= n - oracle.plays(slot, told)).all()  # none is from before it owns the slot
    assert contents(tc.restore(json.loads(json.dumps(learner.state())))) == contents(learner)


@pytest.mark.parametrize("arm", RIVALS)
def test_an_arm_that_took_a_slot_over_is_tested_for_changes(arm: int) -> None:
    learner = tc.Turncoat(3000, seed=1)
    for _ in range(100):
        learner.observe(RIVALS[0], 0.0, 0.9)
        learner.observe(RIVALS[2], 0.0, 0.9)
    for _ in range(100):
        learner.observe(arm, 0.0, 0.9)
    assert learner.view().owners[slot_of(arm)] == arm and learner.view().n_restarts[0] == 0
    for _ in range(60):
        learner.observe(arm, 1.0, 0.9)
    assert learner.view().n_restarts[0] == 1


def test_arms_that_come_keep_the_slots_of_others() -> None:
    learner = tc.Turncoat(SLOTS - 1, seed=1)
    for t in range(300):
        learner.observe((3, 900, SLOTS - 2)[t % 3], float(t % 2), 0.5)
    plays = learner.view().plays.copy()
    for _ in range(3):
        arm = learner.add_arm()
        state = learner.view()
        assert np.array_equal(state.plays[: SLOTS - 1], plays) and arm == learner.n_arms - 1
        assert state.owners.tolist() == list(range(min(learner.n_arms, SLOTS)))
    learner.observe(SLOTS + 1, 0.5, 0.5)
    assert SLOTS + 1 in learner.view().owners
    assert contents(tc.restore(learner.state())) == contents(learner)
