"""The words of learners that look for changes: what is not accepted is refused by name."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import turncoat as tc
from turncoat.errors import OptionError

BAD_WORDS: list[tuple[type[tc.Learner], str, Any]] = [
    *((tc.GLRklUCB, "delta", value) for value in (0, -0.1, 1.5, math.nan, "0.1", True, Fraction(1, 10**400))),
    *((tc.GLRklUCB, "exploration", value) for value in (-0.1, 1001, math.nan, math.inf, "3", None, True)),
    *((tc.GLRklUCB, "n_splits", value) for value in (0, 1, 2**20 + 1, 64.0, "64", None, True)),
    *((tc.GLRklUCB, "every", value) for value in (0, -1, 2**53 + 1, 10.0, "10", None, True)),
    (tc.GLRklUCB, "restart", "all"),
    *((tc.MonitoredUCB, "window", value) for value in (0, 1, 3, 2**20 + 2, 64.0, "64", None, True)),
    *((tc.MonitoredUCB, "tolerance", value) for value in (0, -1, 1001, math.nan, "64", None, True)),
    *((tc.MonitoredUCB, "exploration", value) for value in (-0.1, 1001, math.nan, math.inf, "3", None, True)),
    (tc.MonitoredUCB, "index", "klucb"),
    (tc.MonitoredUCB, "n_switches", 100),
    (tc.GLRklUCB, "threshold", "theory"),
    (tc.GLRklUCB, "n_switches", 100),
    *((tc.AdSwitch, "confidence", value) for value in (0, -1, 1001, math.nan, "2", None, True)),
    *((tc.AdSwitch, "elimination", value) for value in (0, -1, 1001, math.nan, "2", None, True)),
    *((tc.AdSwitch, "precision", value) for value in (1.5, -2, 1001, math.nan, "2", None, True)),
    *((tc.AdSwitch, "exploration", value) for value in (-0.1, 1001, math.nan, math.inf, "3", None, True)),
    *((tc.Meta, "eviction", value) for value in (0, -1, 1e7, math.nan, "1", None, True)),
    *((tc.Meta, "replays", value) for value in (-0.1, 1.5, math.nan, "1", None, True)),
    *((tc.MasterUCB, "scale", value) for value in (0, -1, 1001, math.nan, "1", None, True)),
    *((tc.MasterUCB, "replays", value) for value in (-0.1, 1.5, math.nan, "1", None, True)),
    *((tc.MasterUCB, "exploration", value) for value in (0, 1001, math.nan, "1", None, True)),
    *((tc.Exp3R, "gap", value) for value in (1e-7, 1e-200, 5e-324)),
]


@pytest.mark.jit_off
def test_the_smallest_gap_and_delta_want_many_samples_and_no_more() -> None:
    assert tc.Exp3R(2, 100, gap=1e-6, delta=5e-324).n_wanted == pytest.approx(2e12 * 744.44, rel=1e-4)


@pytest.mark.jit_off
@pytest.mark.parametrize(("learner", "word", "value"), BAD_WORDS)
def test_what_is_not_accepted_is_refused_by_name(learner: Any, word: str, value: Any) -> None:
    with pytest.raises(OptionError) as refused:
        learner(2, 100, **{word: value})
    assert f"{word} is {value!r}; accepted are" in str(refused.value)
