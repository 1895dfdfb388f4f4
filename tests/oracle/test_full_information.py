"""Learners with full information against their oracles: relative error at most 1e-12, and their bounds on every path.

The probabilities of CBCE are compared absolutely, to 1e-13: a bet is proportional to a sum of gains, and where these
have cancelled, only its absolute error is small (1e-14 after 2,000 rounds; summing without loss would halve it).
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

from tests.cases import some
from tests.naive import full_information as naive
from tests.naive.driver import PATTERNS, Row
from tests.naive.solve import REAL
from turncoat.learners import CBCE, SAOL, FixedShare, FullInformationLearner, Hedge
from turncoat.learners.full_information import fixed_share
from turncoat.regret import best_switching_losses
from turncoat.types import Matrix, Vector

CLOSE = 1e-12
CLOSE_BETS = 1e-13
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
    "fixed-share": Pair(FixedShare, naive.FixedShare, {}),
    "fixed-share told 0": Pair(FixedShare, naive.FixedShare, {"n_switches": 0}),
    "fixed-share told 4": Pair(FixedShare, naive.FixedShare, {"n_switches": 4}),
    "saol": Pair(SAOL, naive.SAOL, {}),
    "saol anytime": Pair(SAOL, naive.SAOL, {}, anytime=True),
    "cbce": Pair(CBCE, naive.CBCE, {}),
    "cbce anytime": Pair(CBCE, naive.CBCE, {}, anytime=True),
}
COVERING = ("saol", "saol anytime", "cbce", "cbce anytime")  # with a copy for each of log2 t intervals: slow oracles
ROUNDS = {1: 500, 2: 20_000, 3: 3_000, 10: 3_000, 65: 1_000, 1000: 300}
ROUNDS_COVERING = {1: 100, 2: 2_100, 3: 600, 10: 300, 65: 140, 1000: 17}
# `make test` plays a quarter, and with two arms past 1,024 rounds, where the longest interval begins.
SHARES = some(product((0.25, 1.0), ROUNDS), lambda share, K: share < 1.0)


def assert_close(pair: Pair, K: int, T: int, rows: Iterable[Row], every: int = 1) -> None:
    learner, oracle = pair.make(K, T), pair.oracle(K, T)
    for n, row in enumerate(rows, 1):
        learner.observe(row)
        oracle.tell(list(row))
        if n % every == 0:
            exact = np.array(oracle.probabilities())
            errors = np.abs(learner.probabilities() - exact)
            if pair.learner is CBCE:
                assert errors.max() <= CLOSE_BETS, f"{errors.max():.2e} after {n} rounds"
            else:
                error = float(np.max(errors / (exact + TINY)))
                assert error <= CLOSE, f"{error:.2e} after {n} rounds"


@pytest.mark.parametrize(("share", "K"), SHARES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_whole_game(name: str, K: int, share: float) -> None:
    whole = (ROUNDS_COVERING if name in COVERING else ROUNDS)[K]
    T = math.ceil((max(share, 0.5) if K == 2 else share) * whole)
    pattern = "real_valued" if K in (2, 65) else "bernoulli"
    assert_close(PAIRS[name], K, T, PATTERNS[pattern](T, K, 1), every=max(T // 20, 1))


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


@pytest.mark.parametrize("K", [2, 10])
@pytest.mark.parametrize("S", [0, 3, 40])
def test_fixed_share_never_exceeds_its_bound(S: int, K: int) -> None:
    """sqrt(C T/2) against every path with at most S switches."""
    pair = Pair(FixedShare, naive.FixedShare, {"n_switches": S})
    bound = math.sqrt(fixed_share.complexity(N_ROUNDS, K, S) * N_ROUNDS / 2)
    tightest = 0.0
    for losses, expected in games(pair, K, N_ROUNDS, S):
        regret = expected.sum() - best_switching_losses(losses, S)[-1]
        assert regret <= bound + ROUNDING
        tightest = max(tightest, regret / bound)
    assert tightest > 0.25


def test_fixed_share_is_not_worse_told_of_more_switches_than_arms_could_use() -> None:
    # S/(T-1) above (K-1)/K would move weight away from where it is: there p is uniform instead.
    learner = FixedShare(2, 10, n_switches=9, seed=1)
    for row in ([0.0, 1.0], [0.0, 1.0], [1.0, 0.0]):
        learner.observe(row)
        assert learner.probabilities().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("K", [2, 7])
def test_fixed_share_without_switches_is_hedge(K: int) -> None:
    one, other = FixedShare(K, 3000, n_switches=0, seed=1), Hedge(K, 3000, seed=1)
    for row in PATTERNS["real_valued"](3000, K, 1):
        one.observe(row)
        other.observe(row)
        assert np.array_equal(one.probabilities(), other.probabilities())
    assert [one.ask()[:3] for _ in range(20)] == [other.ask()[:3] for _ in range(20)]


@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
def test_an_arm_that_sank_out_of_sight_comes_back() -> None:
    # Products of factors would stay at zero for ever: exp(-0.05 · 20,000) is no float.
    for learner in (FixedShare(2, 3000, n_switches=0, seed=1), Hedge(2, 3000, seed=1)):
        for _ in range(20_000):
            learner.observe([0.0, 1.0])
        assert learner.probabilities()[1] == 0.0
        for _ in range(20_000):
            learner.observe([1.0, 0.0])
        assert learner.probabilities() == pytest.approx([0.5, 0.5])


def intervals(T: int) -> list[naive.Interval]:
    """Every interval of the covering within the first T rounds."""
    return sorted({one for t in range(1, T + 1) for one in naive.covering(t, None) if one[1] <= T})


def saol_bound(q: int, s: int, K: int) -> float:
    n = s - q + 1
    eta = min(0.5, 1 / math.sqrt(n))
    return math.log(s * (math.floor(math.log2(s)) + 1)) / eta + eta * n + math.sqrt(n * math.log(K) / 2)


def cbce_bound(q: int, s: int, K: int) -> float:
    n = s - q + 1
    trusting = 4 * math.log(q) + 2 * math.log(1 + math.floor(math.log2(q))) + math.log(n) + 4.2
    return math.sqrt(n * trusting) + math.sqrt(n * (2 * math.log(K) + math.log(n) + 3.2))


@pytest.mark.parametrize("K", [2, 10])
@pytest.mark.parametrize(("name", "bound"), [("saol", saol_bound), ("cbce", cbce_bound)])
def test_no_interval_exceeds_its_bound(name: str, bound: Callable[[int, int, int], float], K: int) -> None:
    """On every interval of the covering, against its best arm."""
    tightest = 0.0
    for losses, expected in games(PAIRS[name], K, N_ROUNDS):
        for q, s in intervals(N_ROUNDS):
            regret = expected[q - 1 : s].sum() - losses[q - 1 : s].sum(axis=0).min()
            assert regret <= bound(q, s, K) + ROUNDING
            tightest = max(tightest, regret / bound(q, s, K))
    assert tightest > 0.15


def test_saol_keeps_the_sum_of_its_pseudo_weights_small() -> None:
    """What its bound stands on: w_I/eta_I of the live intervals sum up to at most t (floor(log2 t) + 1)."""
    learner = SAOL(3, N_ROUNDS, seed=1)
    for t, row in enumerate(fooled(learner, N_ROUNDS), 1):
        n = t.bit_length()
        assert sum(learner.view().weights[k] / min(0.5, 2 ** (-k / 2)) for k in range(n)) <= t * n * (1 + ROUNDING)
        learner.observe(row)


@pytest.mark.parametrize("K", [2, 5])
def test_no_coin_of_cbce_wins_or_loses_more_than_it_can(K: int) -> None:
    """What its bound stands on: wealth of at least exp(z²/(2n))/(e sqrt(pi n)), and over K arms at most K in all."""
    learner = CBCE(K, N_ROUNDS, seed=1)
    for t, row in enumerate(fooled(learner, N_ROUNDS), 1):
        state = learner.view()
        for k in range(t.bit_length()):
            n = t - (t >> k << k)
            assert state.arm_wealth[k].sum() <= K * (1 + ROUNDING)
            if n:
                z, wealth = np.append(state.arm_sums[k], state.sums[k]), np.append(state.arm_wealth[k], state.wealth[k])
                assert (wealth * math.e * math.sqrt(math.pi * n) >= np.exp(z**2 / (2 * n)) * (1 - ROUNDING)).all()
        learner.observe(row)


def test_cbce_divides_by_one_more_than_the_rounds_lived() -> None:
    # Public code of a descendant (SAOCP) divides by the rounds lived, and goes broke: a coin that has won 1 in its
    # first round stakes all it has on the second.
    class Broke(naive.Coin):
        lived = 0

    for coin, wealth in ((naive.Coin(), 0.5), (Broke(), 0.0)):
        coin.gain(REAL(1))
        coin.gain(REAL(-1))
        assert 1 + coin.wz == wealth
    learner, right, wrong = CBCE(3, 60, seed=1), naive.CBCE(3, 60), naive.CBCE(3, 60)
    wrong.coin = Broke
    wrong.arms, wrong.coins = {}, {}
    wrong.turn()
    apart = 0.0
    for row in PATTERNS["real_valued"](60, 3, 1):
        learner.observe(row)
        right.tell(list(row))
        wrong.tell(list(row))
        assert learner.probabilities() == pytest.approx(right.probabilities(), rel=CLOSE, abs=TINY)
        apart = max(apart, float(np.abs(learner.probabilities() - wrong.probabilities()).max()))
    assert apart > 0.05


# -- the oracles themselves, worked by hand -----------------------------------------------------------------------


def test_the_covering_by_hand() -> None:
    assert naive.covering(1, None) == [(1, 1)]
    assert naive.covering(6, None) == [(6, 6), (6, 7), (4, 7)]
    assert naive.covering(6, 3) == [(6, 6), (6, 7)]


def test_naive_fixed_share_by_hand() -> None:
    oracle = naive.FixedShare(3, 5, n_switches=1)
    assert float(oracle.s) == 0.25
    prior = (1 / 3) * (0.25 / 2) * 0.75**3
    assert float(oracle.eta) == pytest.approx(math.sqrt(8 * -math.log(prior) / 5), rel=1e-15)
    oracle.eta = np.log(REAL(2))
    oracle.tell([0.0, 1.0, 1.0])  # v = 1/2, 1/4, 1/4
    assert oracle.probabilities() == pytest.approx([0.5 * 0.75 + 0.125 * 0.5, *[0.25 * 0.75 + 0.125 * 0.75] * 2])


def test_naive_saol_by_hand() -> None:
    oracle = naive.SAOL(2)
    oracle.tell([0.0, 1.0])  # round 1: one interval, uniform; round 2 begins (2, 2) and (2, 3)
    assert oracle.w == {(2, 2): 0.5, (2, 3): 0.5}
    oracle.tell([0.0, 1.0])  # both uniform: nothing gained; (2, 3) has learned
    p = 1 / (1 + math.exp(-math.sqrt(4 * math.log(2))))
    assert oracle.probabilities() == pytest.approx([0.25 + p / 2, 0.75 - p / 2])
    oracle.tell([0.0, 1.0])
    assert set(oracle.w) == {(4, 4), (4, 5), (4, 7)}


def test_naive_cbce_by_hand() -> None:
    oracle = naive.CBCE(2)
    oracle.tell([0.0, 1.0])
    oracle.tell([0.0, 1.0])  # round 2: all uniform, so no interval gains; in (2, 3) the first arm has won 1/2
    # Round 3: trust by the prior, 1/9 to 1/4; (3, 3) is uniform, (2, 3) plays the first arm.
    assert oracle.probabilities() == pytest.approx([11 / 13, 2 / 13])
    assert oracle.arms[2, 3][0].bet() == 0.25
    oracle.tell([1.0, 0.0])  # the first arm of (2, 3) was all it played, so gains nothing; the second gains 1
    assert set(oracle.coins) == {(4, 4), (4, 5), (4, 7)}
