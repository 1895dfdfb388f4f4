"""The switches that Turncoat believes happened are nearly those that were planted.

20 seeds of each game, T = 20,000, gaps of 0.3. A planted switch is found if the history has one to the same arm, dated
from 200 rounds before it (doubts may have begun with the segment before, if that was short) until the next planted one;
what is in the history besides is invented. Measured under rule 3:

    game           planted  found  invented  median delay
    stationary/0         0      0         0
    flip/3              60     60         5            73
    flip/10            200    198        10            56
    piecewise/10       200    177        11            49
    real/10            200    183         1            11

(Segments of piecewise and real games are of any length; most of those that were missed last less than 220 rounds.)

These are descriptions, not hypotheses: the seeds are fixed, so a test fails only when a rule changes, and the limits
leave room for another recipe. The history's first rule, a streak of 16 rounds, invented 51, 107, 143 and 21 (dates from
30 rounds before), and 27 where nothing switched: it fails all of them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import turncoat as tc
from turncoat.learners.turncoat import Turncoat
from turncoat.simulate.loop import play

T, SEEDS, EARLY = 20_000, 20, 200


def found_and_invented(game: str) -> tuple[int, int, int, list[float]]:
    """Planted, found, invented, and the delays of those found."""
    n_planted = n_believed = 0
    delays: list[float] = []
    for seed in range(SEEDS):
        environment = tc.environments.scenario(game, T, seed)
        learner = Turncoat(environment.n_arms, seed=seed)
        play(learner, environment)
        believed = [(int(since), int(arm)) for since, arm, _ in learner.believed[1:]]
        n_believed += len(believed)
        path = environment.planted_path()
        starts = [*(np.flatnonzero(np.diff(path)) + 1).tolist(), T]
        n_planted += len(starts) - 1
        for start, stop in pairwise(starts):
            hits = [one for one in believed if one[1] == path[start] and start - EARLY <= one[0] < stop]
            if hits:
                believed.remove(hits[0])
                delays.append(hits[0][0] - start)
    return n_planted, len(delays), n_believed - len(delays), delays


@pytest.mark.parametrize(
    ("game", "least_found"), [("flip/3", 0.97), ("flip/10", 0.97), ("piecewise/10", 0.8), ("real/10", 0.8)]
)
def test_planted_switches_are_found_and_few_are_invented(game: str, least_found: float) -> None:
    n_planted, n_found, n_invented, delays = found_and_invented(game)
    assert n_found >= least_found * n_planted
    assert n_invented <= 0.1 * n_planted
    assert np.median(delays) <= 150


def test_no_switch_is_believed_where_none_is() -> None:
    assert found_and_invented("stationary/0")[2] <= 2
