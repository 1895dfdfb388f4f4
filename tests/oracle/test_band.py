"""Band against its oracle, teacher-forced; its charges unbiased, summed over the draw; its inequality on paths."""

from __future__ import annotations

import copy
import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.naive import bands as naive
from tests.naive import changes as naive_changes
from tests.naive import index as naive_index
from tests.naive import learners as naive_learners
from tests.naive.driver import PATTERNS
from turncoat.learners import Band, ClippedOMD, DiscountedUCB, GLRklUCB, Learner

CLOSE = 1e-12
DISCOUNTED: dict[str, Any] = {"discount": 0.95, "exploration": 0.1}
MIXED: list[Any] = [
    ClippedOMD,
    partial(ClippedOMD, n_switches=20),
    partial(GLRklUCB, exploration=0.0),
    partial(DiscountedUCB, **DISCOUNTED),
]
PRIOR = [1.0, 0.5, 10.0, 2.0]
SMALL: list[Any] = ["exp3", "ucb1"]  # in all other tests: one chain, one compile


def mixed_oracle(K: int, T: int, **words: Any) -> naive.Band:
    omd = [naive_learners.ClippedOMD(K, T, n_switches=S) for S in (None, 20)]
    glr = naive.Leaders(naive_changes.GLRklUCB(K, T, exploration=0.0))
    return naive.Band([*omd, glr, naive.Leaders(naive_index.DiscountedUCB(K, T, **DISCOUNTED))], T, **words)


def small_oracle(K: int, T: int | None, **words: Any) -> naive.Band:
    return naive.Band([naive_learners.Exp3(K, T), naive.Leaders(naive_index.UCB1(K, T))], T, **words)


def numbers(learner: Band) -> dict[str, Any]:
    return {
        "master": learner.master_probabilities,
        "bases": learner.base_probabilities,
        "probabilities": learner.probabilities(),
    }


def assert_close(learner: Band, oracle: naive.Band, n: int) -> None:
    for name, exact in oracle.numbers().items():
        error = np.max(np.abs(numbers(learner)[name] - np.array(exact)) / (np.abs(exact) + 1e-290))
        assert error <= CLOSE, f"{name}: {error:.2e} after {n} rounds"


def play_both(learner: Band, oracle: naive.Band, losses: Any, delay: int = 0, every: int = 1) -> None:
    """Play the learner, tell the oracle the same, compare; up to delay + 1 rounds are outstanding."""
    chance = random.Random(1)
    outstanding: list[Any] = []
    assert_close(learner, oracle, 0)
    for n, row in enumerate(losses, 1):
        arm, q, h, p_h, p_arm = learner._ask(learner._buffer)
        outstanding.append((arm, float(row[arm]), q, h, p_h, p_arm))
        if len(outstanding) > delay:
            arm, loss, q, h, p_h, p_arm = outstanding.pop(chance.randrange(len(outstanding)))
            oracle.tell(arm, q, loss)
            assert learner._tell(learner._buffer, arm, loss, q, h, p_h, p_arm) > 0
            if n % every == 0:
                assert_close(learner, oracle, n)
    assert_close(learner, oracle, n)


@pytest.mark.parametrize(("K", "bold"), [(1, False), (2, False), (6, False), (6, True)])
def test_a_band_of_three_kinds(K: int, bold: bool) -> None:
    """The second half turns the losses of the first around, so that the master has to move."""
    learner = Band(K, 500, seed=3, bases=MIXED, prior=PRIOR, master="bold" if bold else "guaranteed")
    oracle = mixed_oracle(K, 500, prior=PRIOR, bold=bold)
    before = learner.master_probabilities
    rows = [np.array(row) for row in PATTERNS["real_valued"](160, K, 1)]
    play_both(learner, oracle, [row if t < 80 else 1.0 - row for t, row in enumerate(rows)], every=10)
    assert np.abs(learner.master_probabilities - before).max() > 0.05 or K == 1


def test_late_and_shuffled_tells() -> None:
    learner, oracle = Band(4, 600, seed=5, bases=MIXED), mixed_oracle(4, 600)
    play_both(learner, oracle, PATTERNS["real_valued"](120, 4, 2), delay=20, every=10)


@pytest.mark.jit_off
@pytest.mark.parametrize("bold", [False, True])
def test_without_a_horizon_the_guess_doubles(bold: bool) -> None:
    learner = Band(3, seed=1, bases=SMALL, master="bold" if bold else "guaranteed")
    oracle = small_oracle(3, None, bold=bold)
    rates = set()
    for n, row in enumerate(PATTERNS["real_valued"](140, 3, 1)):
        arm, q, h, p_h, p_arm = learner._ask(learner._buffer)
        assert learner.rate == pytest.approx(float(oracle.eta()), rel=1e-15)
        rates.add(learner.rate)
        assert q is not None
        oracle.tell(arm, q, float(row[arm]))
        learner._tell(learner._buffer, arm, float(row[arm]), q, h, p_h, p_arm)
        if n % 10 == 0:
            assert_close(learner, oracle, n)
    assert len(rates) == 5 or not bold  # 16, 32, 64, 128, 256; the guaranteed master's is capped for the first of them
    assert len(rates) >= 4


@pytest.mark.jit_off
@pytest.mark.parametrize("T", [1, 2, 3, 8])
def test_the_smallest_horizons_and_rounds_beyond_them(T: int) -> None:
    play_both(Band(3, T, bases=SMALL, seed=1), small_oracle(3, T), PATTERNS["real_valued"](12, 3, 1))


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("maker", "words"),
    [(ClippedOMD, {"n_switches": 3}), (GLRklUCB, {"delta": 0.9})],
)
@pytest.mark.parametrize("master", ["guaranteed", "bold"])
def test_a_band_of_one_base_is_that_base(maker: type[Learner], words: dict[str, Any], master: Any) -> None:
    """To the last bit: what is served is the base's own probability, so it is told what it would be told alone."""
    band, alone = Band(4, 300, bases=[partial(maker, **words)], seed=1, master=master), maker(4, 300, **words)
    for row in PATTERNS["real_valued"](120, 4, 3):
        assert np.array_equal(band.probabilities(), alone.probabilities())
        arm, q, h, p_h, p_arm = band._ask(band._buffer)
        assert (h, p_h, q) == (0, 1.0, p_arm)
        band._tell(band._buffer, arm, float(row[arm]), q, h, p_h, p_arm)
        alone.observe(arm, float(row[arm]), q)


@pytest.mark.jit_off
def test_the_oracle_by_hand() -> None:
    # T = 16: eta = 1/2, f = 1/32. b = 1/2, so arms with q >= 1/4 are high. Bases: arm 0 or 1 alike, and always arm 0.
    class Fixed(naive_learners.Uniform):
        def __init__(self, *p: float) -> None:
            super().__init__(len(p), None)
            self.p = p

        def distribution(self) -> Any:
            return np.array(self.p, dtype=np.longdouble)

    band = naive.Band([Fixed(0.5, 0.5), Fixed(1.0, 0.0)], 16)
    assert band.numbers()["probabilities"] == [0.75, 0.25]
    # Both arms are high: d = P(a) (loss - 1/2)/q(a) + 1/2. Arm 0 at no cost: 1/2 · (-1/2)/(3/4) = -1/3, and -2/3.
    assert np.allclose(band.charges(0, 0.75, 0.0).astype(float), [1 / 12, -1 / 12], rtol=1e-15)
    # Served with 1/5 arm 1 is not high: (1/2)(1)/(1/5) + (1/2)(1/2) for the first, and (1/2) · 1 for the second.
    assert np.allclose(band.charges(1, 0.2, 1.0).astype(float), [2.75 / 2, 0.25], rtol=1e-15)
    band.tell(0, 0.75, 0.0)
    assert band.numbers()["master"] == pytest.approx([1 / (1 + np.exp(1 / 6)), 1 / (1 + np.exp(-1 / 6))], rel=1e-15)
    bold = naive.Band([Fixed(0.5, 0.5), Fixed(1.0, 0.0)], 400, bold=True)  # eta = 1/2: 1/2 · P(0) · (-2/5)/q
    assert np.allclose(bold.charges(0, 0.75, 0.0).astype(float), [-2 / 15, -4 / 15], rtol=1e-15)
    assert np.allclose(bold.charges(0, 0.1, 0.0).astype(float), [-1.0, -1.0])


# -- what the guarantee rests on ----------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_charges_are_unbiased_summed_over_the_draw() -> None:
    """sum_a q(a) d_h(a) = sum_k p_h(k) loss(k), for every base, after a game that has made some arms rare."""
    learner = Band(4, 200, bases=SMALL, seed=2)
    for t in range(120):
        arm, q, h, p_h, p_arm = learner._ask(learner._buffer)
        learner._tell(learner._buffer, arm, float(arm != 1 or t % 5 == 0), q, h, p_h, p_arm)
    losses, mixture = np.array([0.9, 0.3, 0.0, 1.0]), learner.probabilities()
    assert mixture.min() < learner.rate * 0.2 < mixture.max()  # some arms are high and some are not
    d = np.zeros(2)
    for arm in range(4):
        again = copy.deepcopy(learner)
        again._tell(again._buffer, arm, losses[arm], mixture[arm], 0, 1.0, 1.0)
        charges = again.view().charges
        assert charges.min() >= -1.0
        d += mixture[arm] * charges / learner.rate
    assert d == pytest.approx(learner.base_probabilities @ losses, rel=1e-12)


@pytest.mark.jit_off
@pytest.mark.parametrize("pattern", ["one_then_another", "alternating", "real_valued"])
def test_the_inequality_of_the_master_holds_on_every_path(pattern: str) -> None:
    """sum <p - u, d> ≤ KL(u || p_1)/eta + eta sum_t sum_h p d², for the corner u of every base: (6) before its mean."""
    T, H = 400, 2
    learner = Band(4, T, bases=SMALL, prior=[5.0, 1.0], seed=2)
    eta, first, floor = learner.rate, learner.master_probabilities, 1.0 / (T * H)
    left, squares, sums = 0.0, 0.0, np.zeros(H)
    for row in PATTERNS[pattern](T, 4, 1):
        p = learner.master_probabilities
        arm, q, h, p_h, p_arm = learner._ask(learner._buffer)
        learner._tell(learner._buffer, arm, float(row[arm]), q, h, p_h, p_arm)
        d = learner.view().charges / eta
        left, squares, sums = left + p @ d, squares + p @ d**2, sums + d
    for j in range(H):
        u = np.full(H, floor)
        u[j] = 1.0 - (H - 1) * floor
        right = float(np.sum(u * np.log(u / first))) / eta + eta * squares
        assert left - u @ sums <= right
        assert np.sum(u * np.log(u / first)) <= np.log(1.0 / first[j])
