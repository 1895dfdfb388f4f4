"""Thompson sampling's posteriors against an oracle that keeps the history: a relative error of at most 1e-12."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.cases import JIT_OFF, some
from tests.naive.driver import PATTERNS
from tests.naive.posterior import Thompson
from turncoat.learners import DiscountedThompson, ThompsonSampling

CLOSE = 1e-12

PAIRS: dict[str, tuple[type[ThompsonSampling | DiscountedThompson], dict[str, Any], dict[str, Any]]] = {
    "thompson": (ThompsonSampling, {}, {"discount": 1.0}),
    "thompson, Jeffreys": (ThompsonSampling, {"prior": 0.5}, {"discount": 1.0, "prior": 0.5}),
    "discounted": (DiscountedThompson, {}, {}),
    "discounted, told 3": (DiscountedThompson, {"n_switches": 3}, {"n_switches": 3}),
    "discounted, given": (DiscountedThompson, {"discount": 0.6, "prior": 0.1}, {"discount": 0.6, "prior": 0.1}),
}


def test_the_oracle_by_hand() -> None:
    # Losses 0.25 and 1 at arm 0: rewards 0.75 and 0. With gamma = 1/2 the first counts half.
    plain, fading = Thompson(2, discount=1.0), Thompson(2, discount=0.5, prior=0.25)
    for rule in (plain, fading):
        rule.tell(0, 0.25)
        rule.tell(0, 1.0)
    assert plain.posteriors() == [[1.75, 2.25], [1.0, 1.0]]
    assert fading.posteriors() == [[0.625, 1.375], [0.25, 0.25]]
    assert Thompson(2, 100, n_switches=4).gamma == pytest.approx(0.95, rel=1e-15)


@pytest.mark.jit_off
@pytest.mark.parametrize("delay", some([20, 0], 1, when=JIT_OFF))
@pytest.mark.parametrize("name", PAIRS)
def test_a_game(name: str, delay: int) -> None:
    make, words, naive_words = PAIRS[name]
    learner, oracle = make(4, 1500, seed=1, **words), Thompson(4, 1500, **naive_words)
    chance = random.Random(1)
    outstanding = []
    for t, row in enumerate(PATTERNS["real_valued"](1500, 4, 1)):
        decision = learner.ask()
        outstanding.append((decision, float(row[decision.index])))
        if len(outstanding) > delay:
            told, loss = outstanding.pop(chance.randrange(len(outstanding)))
            learner.tell(told, loss=loss)
            oracle.tell(told.index, loss)
        if t % 300 == 299:
            assert np.array(oracle.posteriors()) == pytest.approx(learner.posteriors, rel=CLOSE)


@pytest.mark.jit_off
@pytest.mark.parametrize("words", [{"discount": 1.0}, {"n_switches": 0}])
def test_who_forgets_nothing_is_thompson_sampling_draw_by_draw(words: dict[str, Any]) -> None:
    plain, other = ThompsonSampling(4, seed=5), DiscountedThompson(4, 1000, seed=5, **words)
    for row in PATTERNS["real_valued"](300, 4, 2):
        one, same = plain.ask(), other.ask()
        assert one.index == same.index
        plain.tell(one, loss=float(row[one.index]))
        other.tell(same, loss=float(row[one.index]))
        assert np.array_equal(plain.posteriors, other.posteriors)
