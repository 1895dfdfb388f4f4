"""How far a learner plans ahead, beside its oracle: every m it chooses, and the record of delays behind it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.cases import JIT_OFF, some
from tests.naive.delays import Delays, Waiting
from turncoat.decision import Decision
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.delays import BINS, ENDLESS, REACH, blank_delays, count_delay, count_prompt
from turncoat.types import Ints

# One regime after another: how many decisions are told late by at most how much, and which part is never told.
REGIMES = [
    (0, 0.0),
    (40, 0.0),
    (0, 0.0),
    (3, 0.3),
    (300, 0.0),
    (0, 0.05),
    (0, 0.3),
]


def assert_same(record: Ints, oracle: Delays) -> None:
    assert record[BINS:].tolist() == oracle.counts
    assert record[REACH] == (ENDLESS if oracle.reach is None else oracle.reach)


@pytest.mark.jit_off
def test_the_record_is_the_oracles() -> None:
    rng = np.random.default_rng(1)
    record, oracle = blank_delays(), Delays()
    assert_same(record, oracle)
    for longest, part in ((1, 0.0), (2, 0.5), (1000, 0.03), (1, 0.0), (10**9, 0.02), (50, 1.0), (3, 0.1)):
        for _ in range(1500):
            delay = int(rng.integers(1, longest + 1)) if rng.random() < part else 1
            before = oracle.reach
            oracle.add(delay)
            assert count_delay(record, delay) == (oracle.reach != before)
            assert_same(record, oracle)
    assert oracle.reach is not None


@pytest.mark.jit_off
@pytest.mark.parametrize("longer", some([3, 0, 30], 1, when=JIT_OFF))
def test_delays_of_one_are_counted_together_as_they_are_one_by_one(longer: int) -> None:
    for n in (0, 1, 5, 511, 512, 513, 1023, 1024, 1025, 1535, 1536, 5000):
        record, oracle = blank_delays(), Delays()
        for delay in [7] * longer + [1] * (400 if longer else 1):
            count_delay(record, delay)
            oracle.add(delay)
        count_prompt(record, n)
        for _ in range(n):
            oracle.add(1)
        assert_same(record, oracle)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_ask_plans_as_many_pulls_as_the_oracle_waits_for(seed: int) -> None:
    """Through several regimes of delays and losses, with decisions forgotten, and saved and restored in between."""
    rng = np.random.default_rng(seed)
    learner, oracle = Turncoat(3, seed=seed), Waiting()
    waiting: dict[int, Decision] = {}
    chosen = set()
    for late, lost in REGIMES:
        told: list[int] = []
        for t in range(700):
            decision = learner.ask(allowed=[0, 2]) if t % 7 == 0 else learner.ask()
            assert decision.m == oracle.m()
            chosen.add(decision.m)
            waiting[oracle.ask()] = decision
            if rng.random() >= lost:
                told.append(decision.id)
            while len(told) > late or (told and rng.random() < 0.02):
                number = told.pop(int(rng.integers(len(told))))
                if rng.random() < 0.02:
                    learner.forget(waiting.pop(number))
                    oracle.forget(number)
                else:
                    learner.tell(waiting.pop(number), float(rng.random()))
                    oracle.tell(number)
            if t % 150 == 100:
                learner = Turncoat._from_state(json.loads(json.dumps(learner.state())))
    assert {1, 2, 4, 16, 256} <= chosen
