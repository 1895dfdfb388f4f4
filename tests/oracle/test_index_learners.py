"""Rules that play the largest index against their oracles, teacher-forced: every index within a relative 1e-12.

Compared are the indices, not the arms they lead to; infinite ones must be infinite on both sides. The learner plays, in
order or late, and the oracle is told the same rounds. The kl index is also compared with a root of 40 digits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cases import some
from tests.naive import index as naive
from tests.naive.driver import PATTERNS
from tests.oracle.pairs import feed, record
from turncoat.learners import KLUCB, UCB1, DiscountedUCB, SlidingWindowUCB
from turncoat.learners.base.index import IndexLearner
from turncoat.learners.parts.kl import divergence, is_below, upper

CLOSE = 1e-12

Make = Callable[..., IndexLearner]

PAIRS: dict[str, tuple[Make, Callable[..., naive.IndexRule], dict[str, Any]]] = {
    "ucb1": (UCB1, naive.UCB1, {}),
    "ucb1 exploring less": (UCB1, naive.UCB1, {"exploration": 0.3}),
    "kl-ucb": (KLUCB, naive.KLUCB, {}),
    "kl-ucb as in the theorem": (KLUCB, naive.KLUCB, {"extra": 3.0}),
    "discounted-ucb": (DiscountedUCB, naive.DiscountedUCB, {}),
    "discounted-ucb told 0": (DiscountedUCB, naive.DiscountedUCB, {"n_switches": 0}),
    "discounted-ucb given": (DiscountedUCB, naive.DiscountedUCB, {"discount": 0.7, "exploration": 0.05}),
    "discounted-ucb kl": (DiscountedUCB, naive.DiscountedUCB, {"index": "kl"}),
    "discounted-ucb kl given": (DiscountedUCB, naive.DiscountedUCB, {"index": "kl", "discount": 0.9}),
    "sliding-window-ucb": (SlidingWindowUCB, naive.SlidingWindowUCB, {}),
    "sliding-window-ucb told 0": (SlidingWindowUCB, naive.SlidingWindowUCB, {"n_switches": 0}),
    "sliding-window-ucb given": (SlidingWindowUCB, naive.SlidingWindowUCB, {"window": 7, "exploration": 0.05}),
    "sliding-window-ucb kl": (SlidingWindowUCB, naive.SlidingWindowUCB, {"index": "kl"}),
    "sliding-window-ucb kl given": (SlidingWindowUCB, naive.SlidingWindowUCB, {"index": "kl", "window": 50}),
}


def error(found: Any, exact: list[float]) -> float:
    """The largest relative error; infinite ones must stand in the same places."""
    numbers = np.array(exact)
    assert np.array_equal(np.isinf(found), np.isinf(numbers))
    assert not np.isnan(found).any()
    finite = np.isfinite(numbers)
    return float(np.max(np.abs(found[finite] / numbers[finite] - 1.0), initial=0.0))


def assert_close(name: str, K: int, T: int, pattern: str, *, rounds: int, delay: int = 0, every: int = 1) -> None:
    make, oracle_of, words = PAIRS[name]
    learner, oracle = make(K, T, seed=1, **words), oracle_of(K, T, **words)
    assert error(learner.indices, oracle.indices()) <= CLOSE
    for n, one in enumerate(record(learner, PATTERNS[pattern](rounds, K, 1), delay, seed=1), 1):
        oracle.tell(one.a, one.loss)
        if n % every == 0 or n == rounds:
            assert error(learner.indices, oracle.indices()) <= CLOSE, f"after {n} rounds"


@pytest.mark.parametrize("K", [1, 2, 3, 10, 65])
@pytest.mark.parametrize("name", PAIRS)
def test_a_whole_game(name: str, K: int) -> None:
    pattern = {1: "bernoulli", 2: "one_then_another", 3: "real_valued", 10: "bernoulli", 65: "real_valued"}[K]
    assert_close(name, K, 3000, pattern, rounds=3000, every=750 if K < 65 else 3000)


@pytest.mark.parametrize("name", PAIRS)
def test_late_and_shuffled_tells(name: str) -> None:
    for pattern in ("real_valued", "one_then_another"):
        assert_close(name, 5, 300, pattern, rounds=300, delay=40, every=50)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", PAIRS)
def test_every_pattern_of_losses(name: str) -> None:
    for pattern in PATTERNS:
        assert_close(name, 3, 24, pattern, rounds=24, delay=2, every=6)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_smallest_horizons_and_rounds_beyond_them(name: str, T: int) -> None:
    for K in (1, 2, 4):
        assert_close(name, K, T, "real_valued", rounds=3 * T + 4, every=1)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", PAIRS)
def test_arms_have_no_order(name: str) -> None:
    make, _, words = PAIRS[name]
    order = np.array([3, 0, 4, 1, 2])
    learner, turned = make(5, 100, seed=1, **words), make(5, 100, seed=2, **words)
    for one in record(learner, PATTERNS["real_valued"](60, 5, 1), delay=3):
        feed(turned, one._replace(a=int(order[one.a])))
        assert error(turned.indices[order], learner.indices.tolist()) <= CLOSE
        assert np.array_equal(turned.probabilities()[order], learner.probabilities())


# -- forgetting ---------------------------------------------------------------------------------------------------

FORGET_NOTHING: dict[str, tuple[IndexLearner, IndexLearner]] = {
    "discount 1": (UCB1(4, seed=1), DiscountedUCB(4, discount=1.0, exploration=0.5)),
    "discount, no switch": (UCB1(4, seed=1), DiscountedUCB(4, 3000, n_switches=0, exploration=0.5)),
    "discount 1, kl": (KLUCB(4, seed=1), DiscountedUCB(4, discount=1.0, index="kl")),
    "window of all rounds": (UCB1(4, seed=1), SlidingWindowUCB(4, window=3000, exploration=2.0)),
    "window, no switch": (UCB1(4, seed=1), SlidingWindowUCB(4, 3000, n_switches=0, exploration=2.0)),
    "window of all rounds, kl": (KLUCB(4, seed=1), SlidingWindowUCB(4, window=3000, index="kl")),
}


@pytest.mark.parametrize("name", FORGET_NOTHING)
def test_who_forgets_nothing_is_stationary(name: str) -> None:
    plain, other = FORGET_NOTHING[name]
    assert error(other.indices, plain.indices.tolist()) == 0.0
    for one in record(plain, PATTERNS["real_valued"](3000, 4, 1), delay=5):
        feed(other, one)
        assert error(other.indices, plain.indices.tolist()) <= CLOSE


def a_million_rounds(K: int) -> tuple[Any, Any]:
    chance = np.random.default_rng(3)
    arms, losses = chance.integers(0, K, 10**6), chance.random(10**6)
    losses[500_000:] = np.where(arms[500_000:] == 0, 1.0, losses[500_000:])  # arm 0 has no reward any more
    return arms, losses


def tell_all(learner: IndexLearner, arms: Any, losses: Any) -> None:
    for arm, loss in zip(arms.tolist(), losses.tolist(), strict=True):
        learner._tell(learner._buffer, arm, loss, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", some([0.5, 1 - 1e-6, 0.99, 0.9999], 2))
def test_fading_loses_no_digits_in_a_million_rounds(gamma: float) -> None:
    """What is stored is rescaled 2,000 times for gamma = 0.5, and never for 1 - 1e-6."""
    arms, losses = a_million_rounds(3)
    learner, oracle = DiscountedUCB(3, discount=gamma), naive.DiscountedUCB(3, discount=gamma)
    tell_all(learner, arms, losses)
    seen = slice(-400_000 if gamma < 1 - 1e-5 else None, None)  # what is older weighs less than 1e-17 of the rest
    for a, loss in zip(arms[seen].tolist(), losses[seen].tolist(), strict=True):
        oracle.tell(a, loss)
    assert learner.n_told == 10**6
    found = error(learner.indices, oracle.indices())
    assert found <= CLOSE, found


@pytest.mark.parametrize("window", [10, 5000])
def test_sliding_leaves_nothing_behind_in_a_million_rounds(window: int) -> None:
    """A million rewards enter and leave again. Plain sums would be off by 1e-11 or so where arm 0 has only zeros."""
    arms, losses = a_million_rounds(3)
    learner, oracle = SlidingWindowUCB(3, window=window), naive.SlidingWindowUCB(3, window=window)
    tell_all(learner, arms, losses)
    for a, loss in zip(arms[-window:].tolist(), losses[-window:].tolist(), strict=True):
        oracle.tell(a, loss)
    assert abs(learner.view().sums[0]) <= 1e-25
    assert error(learner.indices, oracle.indices()) <= CLOSE


# -- the kl index ---------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_the_kl_index_is_the_root() -> None:
    chance = random.Random(1)
    for _ in range(150):
        p = chance.choice([chance.random(), 10 ** -chance.uniform(0, 20), 1 - 10 ** -chance.uniform(0, 15)])
        level = 10 ** chance.uniform(-12, 3)
        assert upper(p, level) == pytest.approx(naive.kl_upper(p, level), rel=2e-15)


@pytest.mark.jit_off
@pytest.mark.parametrize("level", [1e-300, 1e-17, 1e-9, 0.1, 1.0, 50.0, 1e9, 1e300, math.inf])
@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-301, 1e-299, 0.25, 0.5, 1 - 2**-53, 1.0, 1.0 + 2**-52])
def test_the_kl_index_at_the_ends(p: float, level: float) -> None:
    q = upper(p, level)
    assert min(p, 1.0) <= q <= 1.0
    if p < 1.0 and level < math.inf:
        assert q == pytest.approx(naive.kl_upper(p, level), rel=2e-15)


@pytest.mark.jit_off
def test_the_kl_index_of_nothing_is_the_mean() -> None:
    assert upper(0.3, 0.0) == 0.3 and upper(0.0, 0.0) == 0.0 and upper(1.0, 0.0) == 1.0


@pytest.mark.jit_off
def test_what_is_called_below_is_below_and_little_else_is_solved() -> None:
    chance = random.Random(2)
    n_spared = 0
    for _ in range(2000):
        p, level, q = chance.random(), 10 ** chance.uniform(-6, 1), chance.random()
        root = upper(p, level)
        if is_below(p, level, q):
            assert root < q
        else:
            assert root >= q * (1 - 1e-13)
        n_spared += is_below(p, level, q)
        assert not is_below(p, level, root)  # a tie is no defeat
        assert is_below(p, level, 1.0) <= (root < 1.0)
        assert is_below(p, level, math.inf) and not is_below(p, level, -math.inf)
    assert n_spared > 500
    assert divergence(0.5, 0.25) == pytest.approx(0.5 * math.log(2 / 3) + 0.5 * math.log(2), rel=1e-15)
