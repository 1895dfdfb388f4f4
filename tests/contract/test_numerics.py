"""Nothing becomes NaN or infinite, for any losses in [0, 1]. Named views are looked at, not the random words.

Of long games `make test` plays the one with an arm that is always best, where weights come nearest to 0, with each
learner in one mode, and a tenth of it in the others and of the other games; `make test-all` plays all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.cases import some, where
from tests.contract.makers import DEAR, MAKERS, Maker, every_learner, in_first_mode
from turncoat.types import Matrix

GAMES = ["all 0", "all 1", "alternating", "one arm always best"]


def long_games() -> Iterator[Any]:
    """A learner, a game, and how much of it is played."""
    for name, make in MAKERS:
        first, dear = in_first_mode(MAKERS, name, make), name in DEAR
        for game in GAMES:
            whole = first and game == GAMES[-1]
            yield pytest.param(make, game, 1.0, id=f"{name}-{game}-1.0", marks=where(not whole))
            if not whole:
                few = dear or not (first or game == GAMES[-1])
                yield pytest.param(make, game, 0.1, id=f"{name}-{game}-0.1", marks=where(few))


# Every horizon with one number of arms, and every number of arms with one horizon; `make test-all` tries all pairs.
TINY = some(product([1, 2, 10], [1, 2, 65]), lambda horizon, K: (horizon, K) in ((1, 65), (2, 2), (10, 1)))


def game(name: str, K: int) -> Matrix:
    """A table of 0/1 losses, to be played again and again."""
    losses = np.ones((1000 if K == 1000 else 10_000, K))
    if name == "all 0":
        losses[:] = 0.0
    elif name == "alternating":
        losses[::2] = 0.0
    elif name == "one arm always best":
        losses[:, K // 2] = 0.0
    return losses


def numbers(view: Any) -> Iterator[tuple[str, Any]]:
    """Every named number of a view, but the random words."""
    return ((name, value) for name, value in view.items() if name != "rng")


def check(learner: tc.Learner) -> None:
    for name, value in numbers(learner.view()):
        assert np.isfinite(value).all(), name
    served = learner.probabilities()
    assert np.isfinite(served).all() and (served >= 0.0).all()
    assert served.sum() == pytest.approx(1.0, abs=1e-9)
    propensity = learner.ask().propensity
    assert propensity is not None and 0.0 < propensity <= 1.0


def play_for(learner: tc.Learner, losses: Matrix, n_rounds: int) -> None:
    for _ in range(n_rounds // len(losses)):
        tc.play(learner, losses)
    assert learner.n_told == n_rounds
    check(learner)


def test_the_check_sees_a_nan_and_looks_inside() -> None:
    learner = tc.MasterBase(2, 1000, seed=1)
    assert {"eta", "p", "clock", "trees", "beta"} <= {name for name, _ in numbers(learner.view())}
    learner.view().trees[-1, 1] = math.nan
    with pytest.raises(AssertionError, match="trees"):
        check(learner)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name", "share"), [*long_games()])
def test_a_million_rounds_of_two_arms(make: Maker, name: str, share: float) -> None:
    play_for(make(2, 10**6, seed=1), game(name, 2), int(share * 10**6))


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name", "share"), [*long_games()])
def test_a_thousand_arms(make: Maker, name: str, share: float) -> None:
    """Some look at all arms each round, as for an anytime rate; the others could play a million in five seconds."""
    learner = make(1000, 10**6, seed=1)
    anytime = isinstance(learner, tc.Exp3 | tc.Exp3IX) and learner.horizon is None
    slow = anytime or learner.facts.cost.startswith(("K", "HK"))
    play_for(learner, game(name, 1000), int(share * (10_000 if slow else 100_000)))


@pytest.mark.parametrize(("horizon", "K"), TINY)
@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning", "ignore::turncoat.errors.TuningWarning")
@every_learner
def test_long_past_a_tiny_horizon(make: Maker, horizon: int, K: int) -> None:
    """There the rates are at their largest, and the floors at their highest."""
    for name in GAMES:
        play_for(make(K, horizon, seed=1), game(name, K), 10_000)
