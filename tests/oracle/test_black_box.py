"""MASTER and META against slow oracles, teacher-forced: the same copies, sets, restarts, numbers within 1e-12.

The learner plays, in order or late; the oracle is told the same rounds, and handed the numbers that the learner draws
at its tells, which are hashes of its key, the round and the order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.naive import black_box as naive
from tests.naive.driver import PATTERNS, Row
from tests.oracle.pairs import draw, feed
from tests.oracle.test_changes import changing, error
from turncoat.learners import UCB1, Learner, MasterUCB, Meta, Uniform
from turncoat.learners.stochastic.meta import proven_eviction
from turncoat.random import uniform_at

CLOSE = 1e-12

GAMES = ("changing", "real_valued", "one_then_another")


def rows(name: str, T: int, K: int, seed: int = 0) -> Iterator[Row]:
    return changing(T, K, seed) if name == "changing" else PATTERNS[name](T, K, seed)


def by_position(learner: Learner) -> naive.Chance:
    """What the learner draws for an order at its latest tell."""
    return lambda m: float(uniform_at(np.uint64(learner.view().key[0]), learner.n_told, m))


def told(learner: Learner, oracle: Any, losses: Iterable[Row], delay: int = 0) -> Iterator[int]:
    """Tell both the rounds that the learner plays; up to `delay` are outstanding. The arm of each."""
    chance = random.Random(1)
    waiting = []
    for row in losses:
        one = draw(learner)
        waiting.append(one._replace(loss=float(row[one.a])))
        if len(waiting) > delay:
            one = waiting.pop(chance.randrange(len(waiting)))
            feed(learner, one)
            oracle.tell(one.a, one.loss, *([one.q] if learner.uses_propensity else []))
            yield one.a


# -- MASTER ---------------------------------------------------------------------------------------------------------

MASTERS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "touchy": {"scale": 0.0003},
    "practical": {"scale": 0.0005, "replays": 0.03, "exploration": 0.5},
    "trusting": {"scale": 0.0001, "replays": 0.02, "exploration": 1e-6},
}


def assert_master(
    words: dict[str, Any], K: int, T: int, losses: Iterable[Row], *, delay: int = 0
) -> tuple[MasterUCB, naive.MasterUCB]:
    learner = MasterUCB(K, T, seed=1, **words)
    oracle = naive.MasterUCB(K, T, by_position(learner), **words)
    for _ in told(learner, oracle, losses, delay):
        state, acting = learner.view(), oracle.acting()
        assert (learner.n_restarts, state.block[0], state.elapsed[0]) == (oracle.n_restarts, oracle.n, len(oracle.R))
        assert state.acting[0] == acting.order and state.told[acting.order] == len(acting.samples)
        assert error(learner.indices, oracle.indices()) <= CLOSE
        if oracle.R:
            excess = sum(g - r for g, r in zip(oracle.g, oracle.R, strict=True))
            assert state.excess[0] == pytest.approx(excess, rel=CLOSE, abs=1e-11)
            assert state.lowest[0] == pytest.approx(min(oracle.g), rel=CLOSE)
    return learner, oracle


@pytest.mark.jit_off
@pytest.mark.parametrize("name", MASTERS)
def test_a_game_of_master(name: str) -> None:
    fired = set()
    for game in GAMES:
        _, oracle = assert_master(MASTERS[name], 3, 300, rows(game, 300, 3, 2))
        fired |= set(oracle.fired)
    assert fired == (set() if name == "as in the paper" else {"test 2"})


@pytest.mark.jit_off
def test_arms_that_all_become_better_fire_test_1() -> None:
    """Rewards of 0.7, with g hardly above them, rise to 1: no copy is disappointed, so test 2 has nothing to see."""
    for K, replays in ((1, 0.02), (2, 0.0)):
        words = {**MASTERS["trusting"], "replays": replays}
        _, oracle = assert_master(words, K, 256, ([0.3 * (t < 100)] * K for t in range(256)))
        assert "test 1" in oracle.fired


@pytest.mark.parametrize("name", MASTERS)
@pytest.mark.parametrize("K", [1, 5])
def test_master_with_late_and_shuffled_tells(name: str, K: int) -> None:
    for game in GAMES:
        assert_master(MASTERS[name], K, 400, rows(game, 400, K, 3), delay=25)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_master_at_the_smallest_horizons_and_beyond_them(T: int) -> None:
    for K in (1, 3):
        for words in MASTERS.values():
            assert_master(words, K, T, rows("real_valued", 3 * T + 6, K, 1))


@pytest.mark.jit_off
def test_master_of_one_order_is_ucb1_begun_anew_after_1_2_4_rounds() -> None:
    """To the bit, with UCB1's random words carried on: no test fires with scale 1."""
    learner = MasterUCB(4, 10**6, seed=1, replays=0.0)
    losses = np.random.default_rng(5).random((255, 4))
    words = learner.view().rng.copy()
    for n in range(8):
        plain = UCB1(4, seed=1)
        plain.view().rng[:] = words
        for row in losses[2**n - 1 : 2 ** (n + 1) - 1]:
            assert np.array_equal(learner.indices, plain.indices)
            assert np.array_equal(learner.probabilities(), plain.probabilities())
            one, other = draw(learner), draw(plain)
            assert one[:5] == other[:5]
            feed(learner, one._replace(loss=float(row[one.a])))
            feed(plain, one._replace(loss=float(row[one.a])))
        words = plain.view().rng.copy()
    assert learner.n_restarts == 0 and learner.view().block[0] == 8


def test_copies_start_as_often_as_the_paper_says() -> None:
    """Null: in a block of order 7 a copy of order m starts every 2^m rounds with chance rho(2^7)/rho(2^m).

    2,000 blocks of 128 rounds; for each m the number of starts is binomial. |z| > 5 for one of 7: false alarm below
    5e-6; an order whose chance is off by a tenth has |z| above 7.3, so it is caught in 99 cases of 100."""
    K, n, n_blocks = 2, 7, 2000
    learner = MasterUCB(K, 2**n, seed=4)
    kernel, state = learner._tell, learner.view()
    state.block[0] = n
    state.live[:] = 0.0
    state.live[n], state.acting[0] = 1.0, n
    starts = np.zeros(n)
    for _ in range(n_blocks * 2**n):
        kernel(learner._buffer, 0, 0.0, 1.0)
        tau = int(state.elapsed[0])
        top = n if tau == 0 else min((tau & -tau).bit_length(), n)  # orders whose time has come
        starts[:top] += state.live[:top]
    for m in range(n):
        rho_n, rho_m = (np.sqrt(K / 2.0**i) + K / 2.0**i for i in (n, m))
        p, trials = rho_n / rho_m, n_blocks * 2 ** (n - m)
        z = (starts[m] - trials * p) / np.sqrt(trials * p * (1 - p))
        assert abs(z) <= 5, f"order {m}: {starts[m]} of {trials}, expected {trials * p:.0f}"
        assert 0.1 * p * trials / np.sqrt(trials * p * (1 - p)) > 7.3
    assert learner.n_restarts == 0


# -- META -----------------------------------------------------------------------------------------------------------

METAS: dict[str, dict[str, Any]] = {
    "practical": {},
    "touchy": {"eviction": 0.15, "replays": 1.0},
    "nervous": {"eviction": 0.05, "replays": 0.3},
}


def assert_meta(words: dict[str, Any], K: int, T: int, losses: Iterable[Row], *, delay: int = 0) -> naive.Meta:
    learner = Meta(K, T, seed=1, **words)
    oracle = naive.Meta(K, T, by_position(learner), eviction=learner.eviction, replays=learner.replays)
    for _ in told(learner, oracle, losses, delay):
        state = learner.view()
        assert (learner.n_restarts, state.elapsed[0]) == (oracle.n_restarts, len(oracle.rounds))
        assert learner.probabilities().tolist() == oracle.probabilities()
        assert {a for a in range(K) if state.out[a] == 0.0} == oracle.master == oracle.stack[0].A
        for j, s1 in enumerate(oracle.starts()):
            exact = [sum(x for arm, x, _ in oracle.rounds[s1:] if arm == a) for a in range(K)]
            assert state.sums[j] == pytest.approx(exact, rel=CLOSE, abs=CLOSE)
    return oracle


@pytest.mark.jit_off
@pytest.mark.parametrize("name", METAS)
def test_a_game_of_meta(name: str) -> None:
    """The oracle keeps a set for every base ever begun, and d(a', a) for every pair: the learner's K numbers do."""
    oracles = [assert_meta(METAS[name], 3, 200, rows(game, 200, 3, 2)) for game in GAMES]
    assert any(oracle.n_replays > 0 for oracle in oracles)
    if name != "practical":
        assert any(oracle.n_restarts > 0 for oracle in oracles)  # or there was nothing to compare


@pytest.mark.parametrize("name", METAS)
@pytest.mark.parametrize("K", [1, 4])
def test_meta_with_late_and_shuffled_tells(name: str, K: int) -> None:
    assert_meta(METAS[name], K, 150, rows("changing", 150, K, 3), delay=12)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_meta_at_the_smallest_horizons_and_beyond_them(T: int) -> None:
    for K in (1, 3):
        for words in METAS.values():
            assert_meta(words, K, T, rows("real_valued", 3 * T + 20, K, 1))


@pytest.mark.jit_off
def test_meta_that_never_drops_an_arm_is_uniform() -> None:
    """To the bit, with one seed, whatever it replays."""
    learner, plain = Meta(4, 500, seed=1, eviction=1000.0, replays=1.0), Uniform(4, seed=1)
    for row in rows("real_valued", 300, 4):
        one, other = draw(learner), draw(plain)
        assert one[:5] == other[:5]
        assert np.array_equal(learner.probabilities(), plain.probabilities())
        feed(learner, one._replace(loss=float(row[one.a])))
        feed(plain, other._replace(loss=float(row[one.a])))
    assert learner.view().ends.any()  # there were replays


def test_what_dyadic_intervals_lose() -> None:
    """Every interval that ends now contains one that is tried, with more than a quarter of its rounds."""
    oracle = naive.Meta(2, 1000, lambda m: 1.0, eviction=1e6)
    for t in range(1, 200):
        oracle.rounds.append((0, 0.0, {0, 1}))
        tried = [t - s1 for s1 in oracle.starts()]
        assert t in tried  # the whole episode
        for n in range(1, t + 1):
            assert max(length for length in tried if length <= n) > n / 4


def test_the_constant_that_freedman_asks_for() -> None:
    # (e - 1) (sqrt(10/ln 1e5) + 5 (1 + 1/10)) = 1.71828 (0.93197 + 5.5)
    assert proven_eviction(10**5, 10) == pytest.approx(11.052, abs=1e-3)
