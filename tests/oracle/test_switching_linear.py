"""SwitchingLinear against its oracle, teacher-forced, and its estimator by exact sums over all that may be played.

Within 1e-10: both solve with M, of a condition number of d/beta, and the oracle solves in doubles too.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from tests.naive.linear import SwitchingLinear as Naive
from turncoat.learners import SwitchingLinear

CLOSE = 1e-10


def assert_alike(learner: SwitchingLinear, oracle: Naive) -> None:
    assert learner.master_probabilities == pytest.approx(oracle.p, rel=CLOSE)
    assert learner.base_points == pytest.approx(oracle.points(), rel=CLOSE, abs=CLOSE)
    assert pytest.approx(oracle.second_moment(), rel=CLOSE, abs=CLOSE) == learner.view().M


def play_both(d: int, T: int, rounds: int, *, delay: int = 0, every: int = 1, **words: Any) -> SwitchingLinear:
    learner, oracle = SwitchingLinear(d, T, seed=2, **words), Naive(d, T, **words)
    chance, order = np.random.default_rng(T), random.Random(3)
    waiting: list[Any] = []
    assert_alike(learner, oracle)
    for n in range(1, rounds + 1):
        decision, M = learner.ask(), oracle.second_moment()
        assert isinstance(decision.arm, tuple)
        target = np.eye(d)[n // 40 % d] * (0.9 if n % 80 < 40 else -0.9)
        loss = float(np.clip(np.array(decision.arm) @ target + 0.1 * chance.uniform(-1, 1), -1, 1))
        waiting.append((decision, loss, M))
        if len(waiting) > delay:
            decision, loss, M = waiting.pop(order.randrange(len(waiting)))
            learner.tell(decision, loss=loss)
            oracle.tell(decision.arm, loss, M)
        if n % every == 0:
            assert_alike(learner, oracle)
    return learner


@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("n_switches", [None, 0, 6])
def test_a_whole_game(d: int, n_switches: int | None) -> None:
    learner = play_both(d, 1000, 1000, every=250, n_switches=n_switches)
    assert len(learner.master_probabilities) == 11 - (2 * d - 1).bit_length()  # 2^k from 2d on up to 1024


@pytest.mark.jit_off
def test_late_and_shuffled_tells() -> None:
    play_both(3, 120, 120, delay=9, every=10)


@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
@pytest.mark.parametrize("T", [1, 2, 3, 9])
def test_the_smallest_horizons_and_rounds_beyond_them(T: int) -> None:
    for d in (1, 2, 5):
        play_both(d, T, 3 * T + 4)


@pytest.mark.jit_off
def test_the_estimate_is_unbiased_and_its_size_bounded() -> None:
    """Summed over every point that may be played: E lhat = l, eta |lhat| ≤ 1/2, and E|lhat|² ≤ d²/q."""
    learner, oracle = play_both(4, 200, 150, every=150), Naive(4, 200)
    state = learner.view()
    oracle.p, oracle.theta = state.p.copy(), [row.copy() for row in state.theta]
    law = oracle.law()
    assert sum(chance for chance, _ in law) == pytest.approx(1.0, rel=1e-14)
    assert sum(chance * np.outer(x, x) for chance, x in law) == pytest.approx(state.M, rel=1e-12, abs=1e-14)
    assert len(law) > 2 * 4  # some bases have a direction
    for seed in range(5):
        ell = np.random.default_rng(seed).standard_normal(4)
        ell /= np.linalg.norm(ell)
        estimates = [np.linalg.solve(state.M, x) * (x @ ell) for _, x in law]
        mean = sum(chance * found for (chance, _), found in zip(law, estimates, strict=True))
        square = sum(chance * found @ found for (chance, _), found in zip(law, estimates, strict=True))
        assert mean == pytest.approx(ell, abs=1e-12)
        assert max(np.linalg.norm(found) for found in estimates) * state.eta <= 0.5
        assert square <= 16 / state.q[0]


@pytest.mark.jit_off
def test_the_bonus_by_hand() -> None:
    # d = 2, T = 16: eta = min(sqrt(2 ln 16/32), 1/8) = 1/8, beta = 1/2; bases of 4, 8, 16 rounds. Two of them still at
    # 0 and one at |a| = 1/2 (theta = (1, 0)), all trusted alike: q = 1/2 + (1 + 1 + 1/2)/6 = 11/12. So the bonuses are
    # 1/4 · (1, 1, 1/2)/q = (3, 3, 1.5)/11, and a loss of 0 changes p by exp(bonus/8) alone.
    learner = SwitchingLinear(2, 16, seed=1)
    state = learner.view()
    assert (state.eta, state.beta, state.shortest, state.H) == (0.125, 0.5, 2, 3)
    state.theta[2] = (1.0, 0.0)
    learner._damage()  # finds M anew
    assert state.q[0] == pytest.approx(11 / 12, rel=1e-15)
    learner.observe([1.0, 0.0], 0.0)
    w = np.exp(np.array([3.0, 3.0, 1.5]) / 11 / 8)
    assert learner.master_probabilities == pytest.approx(15 / 16 * w / w.sum() + 1 / 48, rel=1e-14)


@pytest.mark.jit_off
def test_one_step_by_hand() -> None:
    # All bases at 0: M = I/2, so a loss of 1 at e_1 is lhat = (2, 0), theta = -(1/4, 0), a = -(1/5, 0); p is unmoved.
    learner = SwitchingLinear(2, 16, seed=1)
    assert pytest.approx(np.eye(2) / 2, rel=1e-15) == learner.view().M
    learner.observe([1.0, 0.0], 1.0)
    assert learner.base_points == pytest.approx(np.array([[-0.2, 0.0]] * 3), rel=1e-14)
    assert learner.master_probabilities == pytest.approx(np.full(3, 1 / 3), rel=1e-15)


def test_the_points_are_drawn_from_the_law() -> None:
    """Null: the points of 40,000 asks follow the law, counts within 6 deviations: false alarm below 1e-6 for its 14
    points at most; a point of chance 0.05 that comes 1.2 times as often is caught in 99 cases of 100."""
    learner, oracle = play_both(4, 200, 150, every=150), Naive(4, 200)
    state = learner.view()
    oracle.p, oracle.theta = state.p.copy(), [row.copy() for row in state.theta]
    n = 40_000
    points = np.empty((n, 4))
    for i in range(n):
        decision = learner.ask()
        points[i] = decision.arm
        learner.forget(decision)
    law: dict[tuple[float, ...], float] = {}  # bases that restarted at once are at one point
    for chance, x in oracle.law():
        place = tuple((x.round(9) + 0.0).tolist())
        law[place] = law.get(place, 0.0) + chance
    assert 8 < len(law) <= 14
    n_found = 0
    for place, chance in law.items():
        found = int((np.abs(points - np.array(place)).max(axis=1) < 1e-8).sum())
        n_found += found
        assert abs(found - n * chance) <= 6 * math.sqrt(n * chance * (1 - chance)), (chance, place)
    assert n_found == n
