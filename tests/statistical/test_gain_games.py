"""Gains in games where settings change while the world does: the intervals hold the truth, and there is no bias.

    null          the interval holds the truth in 95 % of runs, and the mean error is 0
    false alarm   1e-6 a gain for either: of 60 runs fewer than LOW hold it, or the mean error is 5 standard errors off
    power         a coverage of 60 % is caught with 99 % (computed here). Comparing all decisions of the two streams, as
                  was done once, has a coverage of 0 in games (a) and (b)
The long run plays every game 1,000 times, as `python -m tests.statistical` does, and takes 92 to 99 % as good: its
table is in docs/service.md.
"""

from __future__ import annotations

import pytest
from scipy import stats

from tests.statistical.gain_games import GAMES, coverage

RUNS, MANY = 60, 1_000
LOW = int(stats.binom.ppf(1e-6, RUNS, 0.95))
SOME = [name for name in GAMES if name.startswith(("game (", "everything"))]


def test_the_power_is_as_said() -> None:
    assert stats.binom.cdf(LOW - 1, RUNS, 0.6) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_gains_hold_the_truth(name: str) -> None:
    found = coverage(GAMES[name], RUNS, seed=100 + SOME.index(name))
    assert {"control", "always b"} <= set(found)
    for one in found.values():
        assert one.held >= LOW * one.runs / RUNS
        assert abs(one.bias) < 5.0


@pytest.mark.exhaustive
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", GAMES)
def test_gains_hold_the_truth_as_often_as_they_say(name: str) -> None:
    for one in coverage(GAMES[name], MANY, seed=list(GAMES).index(name)).values():
        assert 0.92 <= one.held / one.runs <= 0.99
        assert abs(one.bias) < 5.0
