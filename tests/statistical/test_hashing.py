"""The random numbers by position look like independent uniform ones: calibrated tests, with fixed seeds.

Each test counts n = 2^20 numbers, or pairs of neighbours, into 256 equally likely cells and compares the chi-square
statistic, 255 degrees of freedom, with its quantile. Null: independent uniform numbers. False alarms: 1e-6 a test, 3e-5
over all of this file. Power: probabilities of cells that are 1.4 % off, half of them above and half below, are caught
with 99 % (an effect of w = 0.014, where w² is the sum over cells of 256 (p - 1/256)²); a test below checks that.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from turncoat._compile.jit import jit_game
from turncoat.random import uniform_at
from turncoat.types import Ints, Vector

N = 2**20
LEVEL = 1e-6
CELLS = 256
LIMIT = float(stats.chi2.isf(LEVEL, CELLS - 1))
EFFECT = 0.014


@jit_game
def fill(out: Vector, seeds: Ints, rounds: Ints, arms: Ints) -> None:
    """The numbers at these positions."""
    for i in range(out.size):
        out[i] = uniform_at(np.uint64(seeds[i]), rounds[i], arms[i])


def numbers(seed: int | Ints, t: int | Ints, arm: int | Ints) -> Vector:
    """N numbers; what is not an array stays the same in all of them."""
    seeds, rounds, arms = (np.broadcast_to(np.asarray(part, dtype=np.int64), N).copy() for part in (seed, t, arm))
    out = np.empty(N)
    fill(out, seeds, rounds, arms)
    return out


def chi_square(cells: Ints) -> float:
    counts = np.bincount(cells, minlength=CELLS)
    assert counts.size == CELLS
    return float(((counts - N / CELLS) ** 2).sum() / (N / CELLS))


I = np.arange(N)  # noqa: E741
SEED = 987_654_321_987
WALKS: dict[str, tuple[int | Ints, int | Ints, int | Ints]] = {  # neighbouring numbers in every direction a game goes
    "rounds of one arm": (SEED, I, 0),
    "rounds far out": (SEED, 10**12 + I, 3),
    "every 1000th round": (SEED, 1000 * I, 0),
    "arms of one round": (SEED, 5, I),
    "row after row of 10 arms": (SEED, I // 10, I % 10),
    "column after column": (SEED, I % 1024, I // 1024),
    "seeds": (I, 0, 0),
}


@pytest.mark.parametrize("walk", WALKS)
def test_numbers_are_uniform(walk: str) -> None:
    u = numbers(*WALKS[walk])
    assert u.min() >= 0.0 and u.max() < 1.0
    assert chi_square((u * CELLS).astype(np.int64)) < LIMIT
    low_bits = (u * 2.0**53).astype(np.int64) % CELLS
    assert chi_square(low_bits) < LIMIT


@pytest.mark.parametrize("walk", WALKS)
def test_neighbours_are_independent(walk: str) -> None:
    """Pairs (u_i, u_(i+1)) over a 16 x 16 board: uniform over it only if independent and uniform."""
    u = numbers(*WALKS[walk])
    sixteenth = (u * 16).astype(np.int64)
    assert chi_square(16 * sixteenth + np.roll(sixteenth, 1)) < LIMIT


def test_arms_and_rounds_do_not_mirror_each_other() -> None:
    """The number of (round t, arm a) against that of (a, t): a hash that adds the two up would fail."""
    t, arm = I // 1024, I % 1024
    here, there = (numbers(SEED, *at) for at in ((t, arm), (arm, t)))
    off = t != arm
    assert np.mean(here[off] == there[off]) == 0.0
    assert abs(np.corrcoef(here[off], there[off])[0, 1]) < stats.norm.isf(LEVEL / 2) / math.sqrt(off.sum() / 2)


def test_every_bit_of_a_round_moves_every_bit_of_the_number() -> None:
    """Avalanche: a flipped bit of t flips each of the 53 bits with probability 1/2.

    40 x 53 counts of n = 2^14 flips; null: binomial(n, 1/2). False alarms: 1e-6 over all of them. A bit that flips with
    probability 0.465 or less is caught with 99 %.
    """
    n = 2**14
    rng = np.random.default_rng(1)
    t = rng.integers(0, 2**40, n)
    limit = stats.norm.isf(LEVEL / (40 * 53) / 2) * math.sqrt(n) / 2
    assert stats.norm.sf((limit - n * (0.5 - 0.465)) / (math.sqrt(n) / 2)) > 0.99
    before = (numbers(SEED, np.resize(t, N), 0)[:n] * 2.0**53).astype(np.int64)
    for bit in range(40):
        after = (numbers(SEED, np.resize(t ^ (1 << bit), N), 0)[:n] * 2.0**53).astype(np.int64)
        flips = ((before ^ after)[:, None] >> np.arange(53)) & 1
        assert np.abs(flips.sum(axis=0) - n / 2).max() < limit


def test_the_power_is_as_stated() -> None:
    assert stats.ncx2.sf(LIMIT, CELLS - 1, N * EFFECT**2) > 0.99


def test_these_tests_can_fail() -> None:
    """Numbers that alternate between halves, and numbers one cell in two of which is 1.5 % too frequent."""
    u = (np.random.default_rng(0).random(N) + (I % 2)) / 2
    assert chi_square((u * CELLS).astype(np.int64)) < LIMIT  # uniform …
    sixteenth = (u * 16).astype(np.int64)
    assert chi_square(16 * sixteenth + np.roll(sixteenth, 1)) > LIMIT  # … but not independent
    cells = np.random.default_rng(0).choice(CELLS, N, p=(1 + 0.015 * (-1.0) ** np.arange(CELLS)) / CELLS)
    assert chi_square(cells) > LIMIT
