"""Every learner in every mode against its oracle, teacher-forced: relative error at most 1e-12.

`make test` plays at most 3,000 rounds for K = 10 and 500 for the others, 300 of TsallisINF with "rv"; and
in all but the first mode of a learner only K in {2, 10, 65}. What
`make test-all` runs, over K in {1, 2, 3, 10, 64, 65, 1000}:
    single learners, and both masters as in the paper (own feedback, exact projection)     20,000 rounds, every K
    the same rules with other constants (told S, a risk)                                    20,000 for K = 10
                                                                                             3,000 for the others
    Exp3P at K = 1000                                                                        1,000
    TsallisINF with "rv", whose oracle needs a root in every round                           3,000; 1,000 for K = 1000
    both masters with shared feedback, exact projection                                     20,000 for K = 1 and 10
                                                                                             3,000 for the others
    everything else (mixing, rate="theorem")                                                   500, every K
and in all modes, in shorter games: late and shuffled tells, every pattern of losses, and the smallest horizons.
Compared are probabilities, and for masters also p, every base, the rates and rho, at forty moments and at the end.
Probabilities below 1e-290 are compared absolutely.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.cases import some
from tests.naive import learners as naive
from tests.naive.driver import PATTERNS, Round, tell
from tests.oracle.pairs import (
    MASTERS,
    PAIRS,
    SINGLES,
    Pair,
    feed,
    naive_numbers,
    numbers,
    play_both,
    record,
    worst_error,
)
from turncoat.learners import LEARNERS, AdaptiveMasterBase, Exp3S, MasterBase

CLOSE = 1e-12
ARMS = (1, 2, 3, 10, 64, 65, 1000)
PATTERN_OF = dict(
    zip(
        ARMS,
        ("bernoulli", "one_then_another", "alternating", "bernoulli", "all_ones", "real_valued", "bernoulli"),
        strict=True,
    )
)
PAPER = ("master-base own exact", "adaptive-master-base own exact paper")
SHARED = ("master-base shared exact", "adaptive-master-base shared exact paper")
TUNED = ("told 0", "told 4", "told 10", "risk")
SMALL = [name for name in PAIRS if not name.endswith(("told 4", "told 10"))]  # modes that exist for every horizon

ELSEWHERE = {  # learners whose oracle takes other feedback, draws, or state: the file of this folder that compares them
    "ad-switch": "test_ad_switch.py",
    "band": "test_band.py",
    "bob": "test_blocks.py",
    "cbce": "test_full_information.py",
    "corral": "test_corral.py",
    "discounted-thompson": "test_posteriors.py",
    "discounted-ucb": "test_index_learners.py",
    "dlinucb": "test_dlinucb.py",
    "exp3.r": "test_blocks.py",
    "fixed-share": "test_full_information.py",
    "glr-kl-ucb": "test_changes.py",
    "hedge": "test_full_information.py",
    "kl-ucb": "test_index_learners.py",
    "master-ucb": "test_black_box.py",
    "meta": "test_black_box.py",
    "monitored-ucb": "test_changes.py",
    "saol": "test_full_information.py",
    "sliding-window-ucb": "test_index_learners.py",
    "stochastic-corral": "test_stochastic_corral.py",
    "switching-linear": "test_switching_linear.py",
    "thompson-sampling": "test_posteriors.py",
    "turncoat": "test_turncoat_band.py",
    "ucb1": "test_index_learners.py",
}


@pytest.mark.jit_off
def test_every_learner_has_an_oracle() -> None:
    """One that pairs.py finds, or one in the file that is listed, which names the learner and the naive version."""
    paired = {pair.learner.name for pair in PAIRS.values()}
    assert set(LEARNERS) == paired | set(ELSEWHERE), "write an oracle in tests/naive, or list the file that has one"
    assert not paired & set(ELSEWHERE), "pairs.py finds their oracles: they need no place in the list"
    for name, file in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert LEARNERS[name].__name__ in text and "tests.naive" in text, f"{file} does not compare {name}"


def rounds_of(name: str, K: int) -> int:
    if K == 1000 and name.startswith(("exp3.p", "tsallis-inf rv")):
        return 1_000
    if name == "tsallis-inf rv" or (name.endswith(TUNED) and K != 10):
        return 3_000
    if name in SINGLES:
        return 20_000
    if name in PAPER or (name in SHARED and K in (1, 10)):
        return 20_000
    return 3_000 if name in SHARED else 500


def assert_close(pair: Pair, K: int, T: int, pattern: str, *, rounds: int, delay: int = 0, every: int = 1) -> None:
    for n, found, exact in play_both(pair, K, T, PATTERNS[pattern](rounds, K, 1), delay=delay, every=every):
        error, name = worst_error(found, exact)
        assert error <= CLOSE, f"{name}: {error:.2e} after {n} rounds"


def few_rounds_of(name: str, K: int) -> int:
    """What `make test` plays."""
    if name == "tsallis-inf rv":
        return 300
    return min(rounds_of(name, K), 3_000 if K == 10 else 500)


LONG = [(name, K) for name in PAIRS for K in ARMS if rounds_of(name, K) > few_rounds_of(name, K)]


FIRST = {pair.learner: name for name, pair in reversed(PAIRS.items())}  # the first mode of each learner
SHORT = some(product(PAIRS, ARMS), lambda name, K: K in (2, 10, 65) or name == FIRST[PAIRS[name].learner])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "K"), SHORT)
def test_a_game(name: str, K: int) -> None:
    T = few_rounds_of(name, K)
    assert_close(PAIRS[name], K, T, PATTERN_OF[K], rounds=T, every=T // 40)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "K"), LONG)
def test_a_whole_game(name: str, K: int) -> None:
    T = rounds_of(name, K)
    assert_close(PAIRS[name], K, T, PATTERN_OF[K], rounds=T, every=T // 40)


@pytest.mark.parametrize("K", [3, 65])
@pytest.mark.parametrize("name", PAIRS)
def test_late_and_shuffled_tells(name: str, K: int) -> None:
    # Up to 50 rounds are outstanding, and any of them is told: what was served is older than the state it meets.
    for pattern in ("real_valued", "one_then_another"):
        assert_close(PAIRS[name], K, 300, pattern, rounds=300, delay=50, every=15)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", PAIRS)
def test_every_pattern_of_losses(name: str) -> None:
    for pattern, K in product(PATTERNS, (2, 10)):
        assert_close(PAIRS[name], K, 24, pattern, rounds=24, delay=3, every=4)


# ClippedOMD of one round is left out: the oracle's floor is 1/(KT) = 1/K there, the learner's that of two rounds.
SMALLEST = [(name, T) for name in SMALL for T in (1, 2, 3, 8) if T > 1 or not name.startswith("clipped-omd")]


@pytest.mark.parametrize(("name", "T"), SMALLEST)
def test_the_smallest_horizons_and_rounds_beyond_them(name: str, T: int) -> None:
    for K, pattern in product((1, 2, 5), ("all_ones", "real_valued")):
        assert_close(PAIRS[name], K, T, pattern, rounds=3 * T + 4)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", ["exp3", "exp3 anytime", *[name for name in MASTERS if "shared mixing" in name]])
def test_an_absurd_estimate_does_not_swallow_the_others(name: str) -> None:
    # Arm 0 is charged 1e9, both are charged 1e28, far beyond the digits of a sum: the 1e9 must still count.
    learner, oracle = PAIRS[name].make(2, 1000), PAIRS[name].oracle(2, 1000)
    for a, served in ((0, 1e-9), (1, 1e-28), (0, 1e-28)):
        one = Round(a, 0, 1.0, 1.0, served, 1.0)
        feed(learner, one if "shared" in name else one._replace(base=None))
        tell(oracle, one)
    assert learner.probabilities() == pytest.approx(oracle.probabilities(), rel=CLOSE, abs=1e-290)
    assert learner.probabilities()[1] > 0.9


@pytest.mark.parametrize("K, T, S", [(2, 6_000, 400), (10, 16_000, 150)])
def test_exp3_s_as_its_weights_are_rescaled(K: int, T: int, S: int) -> None:
    # Left alone, the weights leave the floats (SMPyBandits' did at round 2,412 of two arms, and it played uniformly
    # from there on). Of the games above hardly one gets that far; told of many switches, it comes early and often.
    learner, oracle = Exp3S(K, T, n_switches=S, seed=1), naive.Exp3S(K, T, n_switches=S)
    assert learner.view().gamma < 0.9
    n_rescaled, before = 0, 0.0
    for n, one in enumerate(record(learner, PATTERNS["bernoulli"](T, K, 1), delay=5)):
        tell(oracle, one)
        weight = float(learner.view().tree[:K].sum() + K * learner.view().offset[0])
        n_rescaled += weight < before
        before = weight
        if n % 10 == 0:
            error, _ = worst_error(numbers(learner), naive_numbers(oracle))
            assert error <= CLOSE, f"{error:.2e} after {n + 1} rounds, {n_rescaled} rescalings"
    assert n_rescaled >= 2


def test_rates_really_change_in_these_games() -> None:
    # What is compared above would mean less if thresholds were never crossed and floors never met.
    pair = PAIRS["adaptive-master-base own exact paper"]
    learner = pair.make(2, 20_000)
    for _ in record(learner, PATTERNS["one_then_another"](20_000, 2, 1)):
        pass
    assert isinstance(learner, AdaptiveMasterBase)
    assert (learner.rho > 2 * len(learner.rho)).sum() > 1
    assert (learner.base_probabilities <= 1.0000001 / (2 * 20_000)).any()


@pytest.mark.parametrize("name", [name for name in MASTERS if name.startswith("master-base")])
@pytest.mark.parametrize("K, T, H", [(1, 8, 4), (2, 16, 4), (41, 1107, 9), (100, 2700, 9), (110, 2970, 9)])
def test_algorithm_1_where_alpha_is_exactly_1_over_H(K: int, T: int, H: int, name: str) -> None:
    # T = K H^(3/2). Rounding once made alpha of (100, 2700) a hair larger than 1/H: it was capped, with a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = MasterBase(K, T, **PAIRS[name].words)
    assert learner.view().alpha == pytest.approx(1 / H, rel=1e-15)
    assert learner.view().alpha <= 1 / H
    assert_close(PAIRS[name], K, T, "real_valued", rounds=150, every=10)
    for one in record(learner, PATTERNS["real_valued"](150, K, 1)):
        assert one.base is not None
    assert learner.master_probabilities == pytest.approx(np.full(H, 1 / H), rel=1e-12)  # no other p respects alpha


@pytest.mark.jit_off
@pytest.mark.parametrize("name", [name for name in MASTERS if name.startswith("adaptive")])
def test_algorithm_2_at_two_rounds_where_the_floor_is_the_first_threshold(name: str) -> None:
    # T = 2: H = 2, alpha = 1/4, rho = 4 = 1/alpha, so a base on the floor is exactly at its threshold, never past it.
    pair = PAIRS[name]
    assert_close(pair, 2, 2, "all_ones", rounds=30)
    learner, oracle = pair.make(2, 2), pair.oracle(2, 2)
    for one in [one._replace(base=0) for one in record(pair.make(2, 2), PATTERNS["all_ones"](40, 2))]:
        feed(learner, one)  # base 0 alone is charged: down to the floor
        tell(oracle, one)
    assert worst_error(numbers(learner), naive_numbers(oracle))[0] <= CLOSE
    assert isinstance(learner, AdaptiveMasterBase)
    assert (learner.rho == 4.0).all() or pair.words["projection"] == "mixing"
    if pair.words == {"feedback": "own", "projection": "exact", "rate": "paper"}:
        assert learner.master_probabilities[0] == 0.25
