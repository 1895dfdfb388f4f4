"""Learners that begin anew against their oracles, teacher-forced: relative error at most 1e-12.

Over K in {1, 2, 3, 10, 65, 1000}, up to 20,000 rounds; late and shuffled tells, every pattern of losses, and the
smallest horizons. What the learner does at random beside drawing arms is read from it and told to the oracle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from tests.naive import blocks as naive
from tests.naive.driver import PATTERNS, Rows
from tests.oracle.pairs import feed, record, worst_error
from turncoat._compile.state import HEAD
from turncoat.learners import BanditOverBandit, Exp3, Exp3R
from turncoat.learners.adversarial.exp3 import gain_exploration
from turncoat.learners.adversarial.exp3r import uniform_share
from turncoat.learners.masters.bandit_over_bandit import block_length, tunings

CLOSE = 1e-12
GAMES = [
    (1, 2_000, 2_000, "bernoulli"),
    (2, 20_000, 20_000, "one_then_another"),
    (3, 20_000, 20_000, "alternating"),
    (10, 20_000, 20_000, "bernoulli"),
    (65, 20_000, 8_000, "real_valued"),
    (1000, 300_000, 36_000, "bernoulli"),  # with fewer rounds all its tunings are uniform play, and so one
]


def assert_bob_close(K: int, T: int, pattern: str, *, rounds: int, delay: int = 0, every: int = 1) -> set[int]:
    """Play it, follow it; the tunings that were played."""
    learner, oracle = BanditOverBandit(K, T, seed=1), naive.BanditOverBandit(K, T)
    assert learner.block == oracle.block
    oracle.begin(learner.tuning)
    seen = {learner.tuning}
    for n, one in enumerate(record(learner, PATTERNS[pattern](rounds, K, 1), delay), 1):
        oracle.tell(one.a, one.loss, one.q)
        if n % learner.block == 0:
            oracle.begin(learner.tuning)
            seen.add(learner.tuning)
        if n % every == 0 or n % learner.block in (0, 1):
            found = {"arms": learner.probabilities(), "tunings": learner.tuning_probabilities}
            exact = {"arms": np.array(oracle.probabilities()), "tunings": np.array(oracle.top.probabilities())}
            error, name = worst_error(found, exact)
            assert error <= CLOSE, f"{name}: {error:.2e} after {n} rounds"
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("K, T, rounds, pattern", GAMES)
def test_bandit_over_bandit_in_a_long_game(K: int, T: int, rounds: int, pattern: str) -> None:
    seen = assert_bob_close(K, T, pattern, rounds=rounds, every=rounds // 40)
    assert len(seen) > 1


@pytest.mark.jit_off
def test_bandit_over_bandit_told_late_in_every_pattern() -> None:
    # Below `tell`, which drops what is of an earlier block, as `observe` does: a sample of now.
    for pattern, K in product(PATTERNS, (2, 10)):
        assert_bob_close(K, 400, pattern, rounds=130, delay=15, every=9)


@pytest.mark.parametrize("T", [1, 2, 3, 8, 60])
def test_bandit_over_bandit_in_the_smallest_games_and_beyond_them(T: int) -> None:
    for K, pattern in product((1, 2, 5), ("all_ones", "real_valued")):
        assert_bob_close(K, T, pattern, rounds=3 * T + 4)


@pytest.mark.jit_off
@pytest.mark.parametrize("K, T", [(2, 10**4), (2, 10**9), (10, 10**5), (10, 10**12), (100, 10**6), (1000, 10**15)])
def test_the_short_form_of_its_bound_is_above_the_long_one(K: int, T: int) -> None:
    e, B = math.e, block_length(T, K)
    n, L, gammas = math.ceil(T / B), math.log(K * B), tunings(B, K)
    N = len(gammas)
    assert (n - 1) * B < T <= n * B and B * B >= K * T > (B - 1) ** 2
    top = 2 * math.sqrt(e - 1) * B * math.sqrt(n * N * math.log(N))
    assert gain_exploration(n, N) <= 1 and top <= 2.63 * B * math.sqrt(n * N * math.log(N))
    for S in {0, 1, n, *(int(T**x) for x in np.linspace(0.1, 0.99, 40))}:
        tracking = min(K * ((S + n) * L + n * e) / g + (e - 1) * g * T for g in gammas)
        assert min(tracking, T) <= 2.71 * math.sqrt(K * n * B * ((S + n) * L + n * e))


def assert_exp3_r_close(
    K: int, T: int, pattern: str, *, rounds: int, delay: int = 0, every: int = 1, gap: float = 0.3, delta: float = 0.5
) -> Exp3R:
    """Play it, follow it; the learner at the end."""
    learner, oracle = Exp3R(K, T, seed=1, gap=gap, delta=delta), naive.Exp3R(K, T, gap, delta)
    assert learner.n_wanted == oracle.m
    for n, explored in enumerate(explored_rounds(learner, oracle, PATTERNS[pattern](rounds, K, 1), delay), 1):
        assert (learner.n_tests, learner.n_restarts) == (oracle.n_tests, oracle.n_restarts)
        if n % every == 0 or (explored and not learner.view().counts.any()):  # or there was a test
            error, _ = worst_error({"p": learner.probabilities()}, {"p": np.array(oracle.probabilities())})
            assert error <= CLOSE, f"{error:.2e} after {n} rounds"
    return learner


def explored_rounds(learner: Exp3R, oracle: naive.Exp3R, losses: Rows, delay: int) -> Iterator[bool]:
    """Each round, told to both: was it explored?"""
    before = (0.0, 0)
    for one in record(learner, losses, delay):
        now = (float(learner.view().counts.sum()), learner.n_tests)
        oracle.tell(one.a, one.loss, one.q)
        if now != before:
            oracle.explore(one.a, one.loss)
        yield now != before
        before = now


@pytest.mark.slow
@pytest.mark.parametrize("K, T, rounds, pattern", GAMES)
def test_exp3_r_in_a_long_game(K: int, T: int, rounds: int, pattern: str) -> None:
    learner = assert_exp3_r_close(K, T, pattern, rounds=rounds, every=rounds // 40)
    if K in (2, 3, 10):
        assert learner.n_tests >= 3
    if pattern == "one_then_another":
        assert learner.n_restarts == 1


@pytest.mark.jit_off
def test_exp3_r_told_late_in_every_pattern() -> None:
    n_restarts = 0
    for pattern, K in product(PATTERNS, (2, 10)):
        learner = assert_exp3_r_close(K, 400, pattern, rounds=130, delay=15, every=9, gap=0.1, delta=0.99)
        n_restarts += learner.n_restarts
    assert n_restarts > 2  # m = 3 and a small gap: alarms, most of them false


@pytest.mark.parametrize("T", [1, 2, 3, 8])
def test_exp3_r_in_the_smallest_games_and_beyond_them(T: int) -> None:
    for K, pattern in product((1, 2, 5), ("all_ones", "real_valued")):
        assert_exp3_r_close(K, T, pattern, rounds=3 * T + 4, gap=1.0, delta=1.0)


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 7])
def test_exp3_r_that_never_detects_is_exp3_on_gains_to_the_bit(K: int) -> None:
    learner, exp3 = Exp3R(K, 300, delta=1e-300, seed=2), Exp3(K, 300, form="gain")
    exp3._buffer[HEAD + 3] = learner.view().gamma
    for one in record(learner, PATTERNS["real_valued"](200, K, 1), delay=5):
        feed(exp3, one)
        assert np.array_equal(learner.probabilities(), exp3.probabilities())
    assert learner.n_tests == 0 and (learner.view().counts.sum() > 5 or K == 1)


@pytest.mark.jit_off
def test_no_test_could_be_met_with_the_window_of_the_paper() -> None:
    # eps = sqrt(K ln(1/delta)/(2 gamma H)); the restart is at 2 eps, and means differ by 1 at most.
    for K, T in product(range(2, 51), np.logspace(2, 15, 100)):
        gamma, H = min(1.0, uniform_share(int(T), K)), math.sqrt(T * math.log(T))
        delta = math.sqrt(math.log(T) / (K * T))
        assert 2 * math.sqrt(K * math.log(1 / delta) / (2 * gamma * H)) > 1.17
