"""Stochastic Corral against its oracle, teacher-forced; and that its reservoirs hold the past uniformly."""

from __future__ import annotations

import copy
import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.cases import JIT_OFF, some
from tests.naive import corral as naive
from tests.naive import learners as naive_learners
from tests.naive.driver import PATTERNS
from tests.naive.index import UCB1
from turncoat.learners import Exp3, StochasticCorral
from turncoat.learners.base.base_stack import row_of
from turncoat.random import uniform

CLOSE = 1e-12
BASES: list[Any] = ["ucb1", Exp3, "ucb1"]


def place_of(learner: StochasticCorral, j: int) -> int:
    """Where base j's policy will go: what `remember` is about to draw."""
    state = copy.deepcopy(learner).view()
    s = int(state.counts[j]) + 1
    return s - 1 if s <= state.R else int(uniform(state.dice) * s)


def assert_close(learner: StochasticCorral, oracle: naive.StochasticCorral, n: int) -> None:
    found = {
        "master": learner.master_probabilities,
        "rates": learner.master_rates,
        "bases": learner.base_probabilities,
        "probabilities": learner.probabilities(),
    }
    for name, exact in oracle.numbers().items():
        error = np.max(np.abs(found[name] - np.array(exact)) / (np.abs(exact) + 1e-290))
        assert error <= CLOSE, f"{name}: {error:.2e} after {n} rounds"


def asked(learner: StochasticCorral) -> tuple[int, float, int, float, float]:
    """What an ask serves, before it is made a decision."""
    arm, q, j, p_j, p_arm = learner._ask(learner._buffer)
    assert q is not None and j is not None and p_j is not None and p_arm is not None
    return arm, q, j, p_j, p_arm


def oracle_of(K: int, T: int, R: int, rate: float) -> naive.StochasticCorral:
    bases = [naive.Indexed(UCB1(K)), naive_learners.Exp3(K, T), naive.Indexed(UCB1(K))]
    return naive.StochasticCorral(bases, T, R, rate)


@pytest.mark.jit_off
@pytest.mark.parametrize(("K", "delay"), some([(3, 6), (1, 0), (2, 0), (5, 0)], 2, when=JIT_OFF))
def test_a_game_against_the_oracle(K: int, delay: int) -> None:
    T, R, rate, M = 200, 4, 0.3, len(BASES)
    learner, oracle = StochasticCorral(K, T, seed=2, bases=BASES, n_snapshots=R, rate=rate), oracle_of(K, T, R, rate)
    chance, outstanding = random.Random(1), []
    for n, row in enumerate(PATTERNS["bernoulli"](T, K, 3), 1):
        arm, q, j, p_j, p_arm = asked(learner)
        assert delay or (j >= M) == (n % 2 == 0)  # told at once, steps 1 and 2 take turns
        outstanding.append((arm, float(row[arm]), q, j, p_j, p_arm))
        if len(outstanding) <= delay:
            continue
        arm, loss, q, j, p_j, p_arm = outstanding.pop(chance.randrange(len(outstanding)))
        if j < M:
            oracle.tell_first(j, loss, arm, p_arm, place_of(learner, j))
        else:
            oracle.tell_second(j - M, p_j, loss)
        learner._tell(learner._buffer, arm, loss, q, j, p_j, p_arm)
        assert_close(learner, oracle, n)
    assert max(len(past) for past in oracle.past) > 3 * R  # so reservoirs did change


@pytest.mark.jit_off
def test_the_reservoir_is_a_uniform_subset_of_the_past() -> None:
    """Null: after s = 12 updates of one base with R = 3 places, each past policy is held with probability 1/4.

    n = 1,200 runs, chi-square over the 12 policies with 11 degrees of freedom; of the 3 held none is held twice, so the
    counts vary less, by (1 - 3/12)/(1 - 1/12) = 9/11. False-alarm level 1e-4: threshold 37.4 · 9/11 = 30.6. A rule that
    always took the newest policy in would hold the last one 1,200 times, not 300: chi-square above 2,000.
    """
    held = np.zeros(12)
    for seed in range(1200):
        learner = StochasticCorral(1, 100, seed=seed, bases=["ucb1"], n_snapshots=3)
        for _ in range(12):
            assert learner._tell(learner._buffer, 0, 0.5, 1.0, 0, 1.0, 1.0) > 0  # steps 1 only
        state = learner.view()
        for snapshot in (1, 2, 3):
            held[int(row_of(state, snapshot)[4])] += 1  # the clock of a snapshot says which policy it is
    assert held.sum() == 3600
    assert float(((held - 300) ** 2 / 300).sum()) < 30.6


@pytest.mark.jit_off
def test_a_base_learns_in_its_own_steps_only_and_a_replay_changes_no_base() -> None:
    learner = StochasticCorral(3, 300, seed=1, bases=BASES, n_snapshots=2)
    n_learned = np.zeros(3)
    for t in range(60):
        before = learner.base_probabilities
        decision = learner.ask()
        assert decision.base is not None
        learner.tell(decision, loss=float(decision.index != 1))
        if decision.base < 3:
            n_learned[decision.base] += 1
        else:
            assert np.array_equal(learner.base_probabilities, before)
        assert np.array_equal(learner.view().counts, n_learned), t
    assert n_learned.sum() == 30


def test_with_room_for_all_replays_are_of_every_past_policy() -> None:
    learner = partial(StochasticCorral, 2, 40, bases=["ucb1"], n_snapshots=20)(seed=3)
    for _ in range(39):
        decision = learner.ask()
        learner.tell(decision, loss=float(decision.index))
    state = learner.view()
    assert sorted(int(row_of(state, s)[4]) for s in range(1, 21)) == list(range(20))
