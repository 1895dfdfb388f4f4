"""GLR-klUCB and M-UCB against their whole histories, teacher-forced: same restarts, numbers within a relative 1e-12.

Compared are indices, statistics and restarts; in rounds of forced exploration also the arm. The learner plays, in order
or late, and the oracle is told the same rounds. Losses change, so that there is something to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import changes as naive
from tests.naive.driver import PATTERNS, Row
from tests.oracle.pairs import feed, record
from turncoat.errors import TuningWarning
from turncoat.learners import KLUCB, UCB1, GLRklUCB, MonitoredUCB
from turncoat.learners.parts.glr import LOWER, UPPER, evidence, extend

CLOSE = 1e-12

WORDS: dict[str, dict[str, Any]] = {
    "global": {},
    "local": {"restart": "local"},
    "touchy": {"restart": "local", "threshold": "experiments", "delta": 0.3},
    "proven": {"threshold": "proven", "delta": 0.5},
    "every seventh pull": {"every": 7},
    "told": {"n_switches": 5},
    "unexploring": {"exploration": 0.0, "restart": "local"},
}


def changing(T: int, K: int, seed: int = 0) -> Iterator[Row]:
    """0/1 losses whose means all change three times, between about 0.1 and about 0.9."""
    rng = np.random.default_rng(seed)
    for segment in range(4):
        means = 0.2 * rng.random(K) + 0.8 * ((np.arange(K) + segment) % 2)
        for _ in range(-(-T // 4)):
            yield (rng.random(K) < means).astype(float)


def error(found: Any, exact: list[float]) -> float:
    """The largest error, relative where the number is above 1e-3; infinite ones must stand in the same places."""
    numbers = np.array(exact)
    assert np.array_equal(np.isinf(found), np.isinf(numbers))
    finite = np.isfinite(numbers)
    return float(np.max(np.abs(found[finite] - numbers[finite]) / np.maximum(numbers[finite], 1e-3), initial=0.0))


def assert_close(
    words: dict[str, Any], K: int, T: int, rows: Iterator[Row], *, delay: int = 0, every: int = 1
) -> GLRklUCB:
    learner, oracle = GLRklUCB(K, T, seed=1, **words), naive.GLRklUCB(K, T, **words)
    for n, one in enumerate(record(learner, rows, delay, seed=1), 1):
        oracle.tell(one.a, one.loss)
        assert learner.n_restarts == oracle.n_restarts, f"after {n} rounds"
        if n % every == 0:
            assert error(learner.indices, oracle.indices()) <= CLOSE
            assert error(learner.evidence, oracle.evidence()) <= CLOSE
        if (turn := oracle.forced()) is not None:
            assert learner.probabilities().tolist() == [float(arm == turn) for arm in range(K)]
    return learner


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("name", WORDS)
def test_a_whole_game(name: str, K: int) -> None:
    learner = assert_close(WORDS[name], K, 1000, changing(1000, K, 3), every=100)
    assert learner.n_restarts > 0  # or there was nothing to compare


@pytest.mark.parametrize("name", WORDS)
def test_late_and_shuffled_tells(name: str) -> None:
    for pattern in (changing, PATTERNS["real_valued"], PATTERNS["one_then_another"]):
        assert_close(WORDS[name], 4, 400, pattern(400, 4, 2), delay=40, every=80)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", WORDS)
def test_every_pattern_of_losses(name: str) -> None:
    for pattern in PATTERNS.values():
        assert_close({**WORDS[name], "delta": 1.0, "n_switches": None}, 3, 40, pattern(40, 3, 1), delay=2, every=10)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_smallest_horizons_and_rounds_beyond_them(T: int) -> None:
    for K in (1, 2, 4):
        for words in ({}, {"restart": "local", "threshold": "proven"}):
            assert_close(words, K, T, PATTERNS["real_valued"](3 * T + 4, K, 1))


@pytest.mark.parametrize("K", [1, 3])
def test_never_firing_and_never_exploring_it_is_kl_ucb(K: int) -> None:
    """To the bit: indices, probabilities, and with one seed the arms of a whole game."""
    T = 500
    for restart in ("global", "local"):
        learner = GLRklUCB(K, T, seed=1, restart=restart, exploration=0.0, every=2**53)
        again = KLUCB(K, T, seed=1)
        for one, other in zip(record(learner, changing(T, K)), record(again, changing(T, K)), strict=True):
            assert one == other
            assert np.array_equal(learner.indices, again.indices)
            assert np.array_equal(learner.probabilities(), again.probabilities())
        assert learner.n_restarts == 0


@pytest.mark.jit_off
def test_arms_have_no_order() -> None:
    order = np.array([3, 0, 4, 1, 2])
    learner, turned = (GLRklUCB(5, 100, seed=s, exploration=0.0, delta=1.0, restart="local") for s in (1, 2))
    for one in record(learner, changing(100, 5, 1), delay=3):
        feed(turned, one._replace(a=int(order[one.a])))
        assert np.array_equal(turned.indices[order], learner.indices)
        assert np.array_equal(turned.evidence[order], learner.evidence)
        assert turned.n_restarts == learner.n_restarts
    assert learner.n_restarts > 0


# -- M-UCB ----------------------------------------------------------------------------------------------------------

MONITORED: dict[str, dict[str, Any]] = {
    "as in the paper": {"window": 60},
    "touchy": {"window": 8, "tolerance": 0.4, "exploration": 0.3},
    "kl, told": {"window": 20, "tolerance": 0.4, "index": "kl", "n_switches": 3},
}


def assert_monitored(
    words: dict[str, Any], K: int, T: int, rows: Iterator[Row], *, delay: int = 0, every: int = 1
) -> MonitoredUCB:
    learner, oracle = MonitoredUCB(K, T, seed=1, **words), naive.MonitoredUCB(K, T, **words)
    for n, one in enumerate(record(learner, rows, delay, seed=1), 1):
        oracle.tell(one.a, one.loss)
        assert learner.n_restarts == oracle.n_restarts, f"after {n} rounds"
        state = learner.view()
        for arm in range(K):
            if state.counts[arm] >= state.w:
                assert abs(state.newer[arm] - state.older[arm]) == pytest.approx(oracle.halves(arm), abs=1e-11)
        if n % every == 0:
            assert error(learner.indices, oracle.indices()) <= CLOSE
        if (turn := oracle.forced()) is not None:
            assert learner.probabilities().tolist() == [float(arm == turn) for arm in range(K)]
    return learner


@pytest.mark.jit_off
@pytest.mark.parametrize("name", MONITORED)
def test_a_monitored_game(name: str) -> None:
    learner = assert_monitored(MONITORED[name], 3, 600, changing(600, 3, 3), every=60)
    assert learner.n_restarts > 0
    for pattern in (changing, PATTERNS["real_valued"], PATTERNS["one_then_another"]):
        assert_monitored(MONITORED[name], 2, 300, pattern(300, 2, 2), delay=30, every=60)


def test_a_long_stationary_arm_raises_no_alarm() -> None:
    """SMPyBandits' M-UCB compares the first w/2 rewards with *all* later ones, so it restarts for ever.

    Two sums of 100 rewards of one mean differ by more than b = 43.7 with probability below 1e-8."""
    learner = MonitoredUCB(1, 10_000, seed=1)
    for _ in record(learner, PATTERNS["bernoulli"](10_000, 1, 1)):
        pass
    assert learner.n_restarts == 0 and learner.view().b == pytest.approx(43.7, abs=0.05)


@pytest.mark.jit_off
def test_unfired_and_unexploring_it_is_ucb1_or_kl_ucb() -> None:
    """To the bit, with one seed: arms, indices, probabilities."""
    for index, plain in (("ucb", UCB1), ("kl", KLUCB)):
        learner = MonitoredUCB(3, 200, seed=1, exploration=0.0, index=index)  # type: ignore[arg-type]
        again = plain(3, 200, seed=1)
        for one, other in zip(record(learner, changing(200, 3)), record(again, changing(200, 3)), strict=True):
            assert one == other
            assert np.array_equal(learner.indices, again.indices)
            assert np.array_equal(learner.probabilities(), again.probabilities())
        assert learner.n_restarts == 0


def test_a_threshold_that_cannot_be_passed_is_said() -> None:
    with pytest.warns(TuningWarning, match="no alarm can be raised: half a window of 20 rewards sums to 10 at most"):
        MonitoredUCB(2, 1000, window=20)


# -- the candidate splits -------------------------------------------------------------------------------------------


class Chains:
    """Both chains of one arm, with room for so many splits each."""

    def __init__(self, n_splits: int) -> None:
        self.at, self.sums = np.zeros((2, 2, n_splits + 3))
        self.sizes = [1, 1]
        self.n, self.total = 0, 0.0

    def add(self, reward: float) -> None:
        self.n += 1
        self.total += reward
        for i, side in enumerate((LOWER, UPPER)):
            self.at[i, self.sizes[i]], self.sums[i, self.sizes[i]] = self.n, self.total
            self.sizes[i] = extend(self.at[i], self.sums[i], self.sizes[i], side)

    def evidence(self, least: float = 0.0) -> float:
        for i in range(2):
            least = evidence(self.at[i], self.sums[i], self.sizes[i], least)
        return least

    def splits(self) -> set[int]:
        return {int(s) for i in range(2) for s in self.at[i, 1 : self.sizes[i] - 1]}


rewards = st.lists(st.sampled_from([0.0, 1.0]) | st.sampled_from([k / 8 for k in range(9)]), min_size=1, max_size=60)


@pytest.mark.jit_off
@settings(max_examples=60)
@given(rewards)
def test_with_room_for_all_corners_the_statistic_is_that_of_all_splits(values: list[float]) -> None:
    chains = Chains(60)
    for n, reward in enumerate(values, 1):
        chains.add(reward)
        exact = naive.glr(values[:n])
        assert chains.evidence() == pytest.approx(exact, rel=CLOSE, abs=1e-13)
        for least in (0.5 * exact, 2.0 * exact + 1e-9):  # it need not be computed where it is not larger
            assert chains.evidence(least) == pytest.approx(max(exact, least), rel=CLOSE, abs=1e-13)


@pytest.mark.jit_off
@settings(max_examples=60)
@given(rewards, st.integers(1, 5))
def test_with_less_room_it_is_never_larger(values: list[float], n_splits: int) -> None:
    chains = Chains(n_splits)
    for n, reward in enumerate(values, 1):
        chains.add(reward)
        assert max(chains.sizes) <= n_splits + 2 and len(chains.splits()) <= 2 * n_splits
        assert all(0 < s < n for s in chains.splits())
        assert chains.evidence() <= naive.glr(values[:n]) * (1 + CLOSE) + 1e-13


@pytest.mark.jit_off
def test_splits_that_stay_are_spread_over_old_and_new() -> None:
    """Under a steady drift every point is a corner: of 1000 splits 16 are kept, close together at both ends."""
    chains = Chains(16)
    for t in range(1000):
        chains.add(t / 1000)
    splits = sorted(chains.splits())
    assert len(splits) == 16
    assert splits[0] <= 4 and splits[-1] >= 996
    ratios = [b / a for a, b in pairwise(splits) if b <= 500]
    ratios += [(1000 - a) / (1000 - b) for a, b in pairwise(splits) if a >= 500]
    assert max(ratios) < 4
    assert chains.evidence() > 0.9 * naive.glr([t / 1000 for t in range(1000)])
