"""Waiting times instead of a coin in every round: the events come as often, and as often at once, as with the coin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from turncoat._compile.jit import jit
from turncoat.random import NEVER, seed_words, wait
from turncoat.types import Words

ROUNDS = 10**6


@jit
def events(rng: Words, p: float, n_rounds: int) -> tuple[int, int]:
    """Events in so many rounds, and how many of them came in the round after another, or in the first."""
    n = n_at_once = 0
    t = 0.0
    while True:
        waited = wait(rng, p)
        t += waited
        if t > n_rounds:
            return n, n_at_once
        n += 1
        n_at_once += waited == 1.0


@pytest.mark.parametrize("p", [0.5, 0.2, 0.01])
def test_events_come_as_often_as_with_a_coin(p: float) -> None:
    """Null: the number of events in n = 1e6 rounds is binomial with mean p n, and of those a part p, binomial, comes at
    once. Six deviations each way: false alarm below 1e-8. Caught in 99 cases of 100: a rate off by 8.4 deviations,
    0.84 % of itself at p = 0.5 and 8.4 % at 0.01; a wait off by one round changes it by 50, 20 and 1 %, and no or all
    waits are 1 then."""
    n, n_at_once = events(seed_words(7), p, ROUNDS)
    assert abs(n - p * ROUNDS) <= 6 * math.sqrt(p * (1 - p) * ROUNDS)
    assert abs(n_at_once - p * n) <= 6 * math.sqrt(p * (1 - p) * n)


@pytest.mark.jit_off
def test_waits_are_whole_and_finite() -> None:
    rng = seed_words(3)
    before = rng.copy()
    assert wait(rng, 0.0) == NEVER and wait(rng, 1.0) == 1.0 and wait(rng, 3.0) == 1.0
    assert np.array_equal(rng, before)
    for p in (1e-300, 1e-17, 1e-9, 0.3, 1 - 1e-16):
        waited = [wait(rng, p) for _ in range(20)]
        assert all(1.0 <= w <= NEVER and w == math.floor(w) for w in waited)
