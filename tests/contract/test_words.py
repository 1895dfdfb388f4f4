"""The words a learner is made with: what is refused, and that they stay."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import (
    EVICTING,
    NO_CLOSED_FORM,
    RANDOMISED,
    TAKES_HORIZON,
    Maker,
    each,
    everyone,
    play_by_hand,
)
from turncoat.errors import OptionError, TurncoatError

BAD_WORDS: list[tuple[type[tc.Learner], str, Any]] = [
    (tc.Exp3, "form", "losses"),
    (tc.Exp3, "form", None),
    (tc.Exp3S, "n_switches", -1),
    (tc.Exp3S, "n_switches", 100),
    (tc.Exp3S, "n_switches", 1.5),
    (tc.ClippedOMD, "n_switches", True),
    (tc.ClippedOMD, "n_switches", "2"),
    (tc.MasterBase, "feedback", "Own"),
    (tc.MasterBase, "projection", 1),
    (tc.AdaptiveMasterBase, "feedback", ["own"]),
    (tc.AdaptiveMasterBase, "projection", ""),
    (tc.AdaptiveMasterBase, "rate", "fast"),
    (tc.Exp3SIX, "n_switches", 100),
    (tc.TsallisINF, "estimator", "IW"),
    (tc.RestartedExp3, "n_switches", 2.5),
    *((tc.UCB1, "exploration", value) for value in (0, -1.0, 1001, math.nan, "2", None, True, Fraction(1, 10**400))),
    *((tc.DiscountedUCB, "discount", value) for value in (0.0, -0.5, 1.5, math.nan, "0.9", True, 1e-7)),
    *((tc.SlidingWindowUCB, "window", value) for value in (0, -1, 1.5, 2**30 + 1, math.nan, "9", True)),
    *((learner, "index", value) for learner in (tc.DiscountedUCB, tc.SlidingWindowUCB) for value in ("kl-ucb", None)),
    *((learner, "exploration", 0.0) for learner in (tc.DiscountedUCB, tc.SlidingWindowUCB)),
    *((learner, "n_switches", 100) for learner in (tc.DiscountedUCB, tc.SlidingWindowUCB)),
    *((tc.KLUCB, "extra", value) for value in (-0.1, 1001, math.nan, math.inf, "3", None, True)),
    (tc.Exp3P, "risk", 0.0),
    (tc.ClippedOMD, "projection", "mixing"),
    (tc.Exp3P, "risk", 1),
    (tc.Exp3P, "risk", "0.1"),
    *((tc.BanditOverBandit, "block", value) for value in (0, -1, 101, 10.0, "10", True)),
    *((tc.Exp3R, word, value) for word in ("gap", "delta") for value in (0, -0.1, 1.5, math.nan, "0.1", None)),
    *((tc.Exp3R, "exploration", value) for value in (-0.1, 1001, math.nan, "1", None, True)),
    *((tc.StochasticCorral, "n_snapshots", value) for value in (0, -1, 1.5, 10_001, math.nan, "3", True)),
    *(
        (tc.Band, "prior", value)
        for value in ([1, 1, 1], [], [1, 1, 0, 1], [1, -1, 1, 1], [1, 1, 1, math.inf], "1111", 4)
    ),
    *((tc.Band, "prior", [1, 1, 1, value]) for value in (math.nan, "1", None, True, 2e9)),
    *((tc.Band, "master", value) for value in ("Bold", "", None, 1)),
    *((tc.Corral, "rate", value) for value in (0, -0.1, 1.5, math.nan, "0.1", True)),
    (tc.FixedShare, "n_switches", 100),
]


@pytest.mark.parametrize(("learner", "word", "value"), BAD_WORDS)
def test_an_unknown_word_is_refused_by_name(learner: Any, word: str, value: Any) -> None:
    with pytest.raises(OptionError) as refused:
        learner(2, 100, **{word: value})
    assert f"{word} is {value!r}; accepted are" in str(refused.value)
    assert isinstance(refused.value, TurncoatError) and isinstance(refused.value, ValueError)


@everyone
def test_bad_seeds_and_ranges_are_refused(make: Maker) -> None:
    for seed in (-1, 1.5, "7", True):
        with pytest.raises(OptionError, match="seed is"):
            make(2, 100, seed=seed)
    for loss_range in (
        *((1, 0), (0, 0), (0, math.nan), (0, math.inf), (-1e308, 1e308), (0, 10**400), ("0", "1"), (False, True)),
        *("ab", (0,), (0, 1, 2), None, 1.0, (0, 1j)),
    ):
        with pytest.raises(OptionError, match="loss_range is"):
            make(2, 100, loss_range=loss_range)


@each([*RANDOMISED, *EVICTING, *NO_CLOSED_FORM])
def test_one_seed_is_one_stream(make: Maker) -> None:
    def arms(seed: Any) -> list[int]:
        return [decision.index for decision in play_by_hand(make(5, 1000, seed=seed), 60)]

    assert arms(7) == arms(np.int64(7)) == arms(np.random.SeedSequence(7)) != arms(8)
    assert arms(None) != arms(None)  # 5^60 games; the chance that two agree is far below 1e-12


@each(TAKES_HORIZON)
def test_a_horizon_may_be_typed_as_a_float(make: Maker) -> None:
    assert make(2, 1e3, seed=1).horizon == 1000


@everyone
def test_what_it_was_made_with_cannot_be_assigned(make: Maker) -> None:
    # An own-feedback master whose feedback was set to "shared" once took rounds decided elsewhere, wrongly.
    learner = make(2, 100, seed=1)
    for word in ("horizon", "arms", "loss_range", *learner.options):
        with pytest.raises(AttributeError):
            setattr(learner, word, None)
