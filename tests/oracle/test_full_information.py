"""Learners with full information against their oracles: relative error at most 1e-12, and their bounds on every path.

What is drawn plays no part in what they learn, so both are simply told the same losses. The same holds for regret in
expectation over the draws, sum of <p_t - u_t, loss_t>: it is a number for each sequence of losses, and no bound on it
may ever be exceeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.naive import full_information as naive
from tests.naive.driver import PATTERNS, Row
from turncoat.learners import FullInformationLearner, Hedge
from turncoat.types import Matrix, Vector

CLOSE = 1e-12
TINY = 1e-290  # probabilities below this are compared absolutely: there floats themselves lose digits
ROUNDING = 1e-9  # of a sum over a whole game


class Pair(NamedTuple):
    """A learner in one of its modes, and its oracle."""

    learner: type[FullInformationLearner]
    exact: Callable[..., naive.SeesAll]
    words: dict[str, Any]
    anytime: bool = False

    def make(self, K: int, T: int) -> FullInformationLearner:
        return self.learner(K, None if self.anytime else T, seed=1, **self.words)

    def oracle(self, K: int, T: int) -> naive.SeesAll:
        return self.exact(K, None if self.anytime else T, **self.words)


PAIRS: dict[str, Pair] = {
    "hedge": Pair(Hedge, naive.Hedge, {}),
    "hedge anytime": Pair(Hedge, naive.Hedge, {}, anytime=True),
}
ROUNDS = {1: 3_000, 2: 20_000, 3: 3_000, 10: 3_000, 65: 1_000, 1000: 300}


def assert_close(pair: Pair, K: int, T: int, rows: Iterable[Row], every: int = 1) -> None:
    learner, oracle = pair.make(K, T), pair.oracle(K, T)
    for n, row in enumerate(rows, 1):
        learner.observe(row)
        oracle.tell(list(row))
        if n % every == 0:
            exact = np.array(oracle.probabilities())
            error = float(np.max(np.abs(learner.probabilities() - exact) / (exact + TINY)))
            assert error <= CLOSE, f"{error:.2e} after {n} rounds"


@pytest.mark.parametrize("K", ROUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_a_whole_game(name: str, K: int) -> None:
    T = ROUNDS[K]
    pattern = "real_valued" if K in (2, 65) else "bernoulli"
    assert_close(PAIRS[name], K, T, PATTERNS[pattern](T, K, 1), every=T // 20)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", PAIRS)
def test_every_pattern_of_losses(name: str) -> None:
    for pattern, K in product(PATTERNS, (2, 10)):
        assert_close(PAIRS[name], K, 40, PATTERNS[pattern](40, K, 1))


@pytest.mark.parametrize("T", [1, 2, 3, 8])
@pytest.mark.parametrize("name", [name for name in PAIRS if "told" not in name])
@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
def test_the_smallest_horizons_and_rounds_beyond_them(name: str, T: int) -> None:
    for K, pattern in product((1, 2, 5), ("all_ones", "real_valued")):
        assert_close(PAIRS[name], K, T, PATTERNS[pattern](3 * T + 4, K, 1))


# -- guarantees, on every path ------------------------------------------------------------------------------------

N_ROUNDS = 1024


def fooled(learner: FullInformationLearner, T: int) -> Iterator[Vector]:
    """Losses made to hurt: 1 for the arms that the learner trusts above average, 0 for the others."""
    for _ in range(T):
        p = learner.probabilities()
        yield (p >= p.mean()).astype(float)


def switching(K: int, T: int, S: int, seed: int) -> Iterator[Vector]:
    """The best arm changes S times; losses are noisy."""
    rng = np.random.default_rng(seed)
    for t in range(T):
        best = t * (S + 1) // T % K
        yield np.where(np.arange(K) == best, 0.4 * rng.random(K), rng.random(K))


def play(learner: FullInformationLearner, losses: Iterable[Vector]) -> tuple[Matrix, Vector]:
    """All losses, and the expected loss of each round."""
    table, expected = [], []
    for row in losses:
        expected.append(float(learner.probabilities() @ row))
        table.append(row)
        learner.observe(row)
    return np.array(table), np.array(expected)


def games(pair: Pair, K: int, T: int, S: int = 3) -> Iterator[tuple[Matrix, Vector]]:
    """Games of several kinds: (losses, expected losses)."""
    learner = pair.make(K, T)
    yield play(learner, fooled(learner, T))
    for seed in range(2):
        yield play(pair.make(K, T), switching(K, T, S, seed))
        yield play(pair.make(K, T), (np.asarray(row) for row in PATTERNS["bernoulli"](T, K, seed)))


@pytest.mark.parametrize("K", [2, 10])
def test_hedge_never_exceeds_its_bounds(K: int) -> None:
    """sqrt(T ln K/2) with T; sqrt(t ln K) after every number t of rounds without."""
    tightest = 0.0
    for losses, expected in games(PAIRS["hedge"], K, N_ROUNDS):
        regret = expected.sum() - losses.sum(axis=0).min()
        bound = math.sqrt(N_ROUNDS * math.log(K) / 2)
        assert regret <= bound + ROUNDING
        tightest = max(tightest, regret / bound)
    for losses, expected in games(PAIRS["hedge anytime"], K, N_ROUNDS):
        regrets = expected.cumsum() - losses.cumsum(axis=0).min(axis=1)
        assert (regrets <= np.sqrt(np.arange(1, N_ROUNDS + 1) * math.log(K)) + ROUNDING).all()
    assert tightest > 0.5  # a bound that is never approached would catch little
