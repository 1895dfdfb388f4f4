"""Turncoat under anything it may be told: every number finite, trust above its floors, and states that can be saved."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turncoat as tc
from tests.contract.makers import contents
from turncoat.errors import StateError
from turncoat.learners.turncoat import constants
from turncoat.learners.turncoat.mirror_bases import rebuild
from turncoat.learners.turncoat.observers.history import ENOUGH
from turncoat.learners.turncoat.state import PAGES
from turncoat.mirror.entropy import LARGEST_TOTAL, SMALLEST_TOTAL


def check(learner: tc.Turncoat) -> None:
    """Saving checks everything (state_checks.py); what comes back is the same learner."""
    state = learner.view()
    for name, values in state.items():
        assert name == "rng" or np.isfinite(values).all(), name
    assert abs(state.p.sum() - 1.0) <= 1e-12
    assert (state.p >= np.minimum(state.floors, min(constants.PRIOR) / sum(constants.PRIOR)) * (1 - 1e-12)).all()
    served = learner.probabilities()
    assert (served >= 0.0).all() and abs(served.sum() - 1.0) <= 1e-9
    again = tc.restore(json.loads(json.dumps(learner.state(), allow_nan=False)))
    assert contents(again) == contents(learner)


def tell_many(learner: tc.Turncoat, rounds: Any) -> None:
    """Rounds (arm, propensity, loss), below the checks of `observe`."""
    for arm, q, loss in rounds:
        assert learner._tell(learner._buffer, int(arm), float(loss), float(q)) > 0


losses = st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1.0 - 2.0**-53]) | st.floats(0.0, 1.0)
propensities = st.sampled_from([1.0, 1e-3, 1e-12, 1e-30, 1e-300, 5e-324]) | st.floats(0.0, 1.0, exclude_min=True)


@pytest.mark.jit_off
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 4), propensities, losses), max_size=80))
def test_whatever_it_observes(K: int, rounds: list[tuple[int, float, float]]) -> None:
    learner = tc.Turncoat(K, seed=1)
    for arm, q, loss in rounds:
        learner.observe(arm % K, loss, q)
    check(learner)


@pytest.mark.parametrize("K", [1, 2, 1000])
def test_many_rounds_against_the_likeliest_arm(K: int) -> None:
    """The adversary looks: the arm it would play most costs 1, all others nothing. Then it turns round."""
    learner = tc.Turncoat(K, seed=1)
    for t in range(3000 if K < 1000 else 600):
        decision = learner.ask()
        top = int(learner.view().leaders[0])
        learner.tell(decision, loss=float((decision.index == top) != (t % 1000 > 500)))
    check(learner)


@pytest.mark.parametrize("q", [1.0, 0.3, 1e-12, 1e-300, "small by turns"])
@pytest.mark.parametrize("pattern", ["0", "1", "alternating", "one arm best"])
def test_a_long_life_of_observing(pattern: str, q: Any) -> None:
    K, n = 3, 40_000
    t = np.arange(n)
    arms = (t // 7) % K
    told = {"0": 0 * t, "1": 0 * t + 1, "alternating": t % 2, "one arm best": arms != 1}[pattern]
    served = np.where(t % 3 == 0, 1e-300, 0.5) if q == "small by turns" else np.full(n, q)
    learner = tc.Turncoat(K, seed=1)
    tell_many(learner, zip(arms, served, told, strict=True))
    check(learner)
    assert learner.view().page[0] < PAGES and learner.n_told == n


def test_weights_are_rescaled_before_they_vanish_or_overflow() -> None:
    """Charging arms in turn makes the total of a clipped base fall by odds beta/(1 - beta) at every round."""
    learner = tc.Turncoat(2, seed=1)
    state = learner.view()
    fell, rose = np.zeros(constants.N_MIRRORS), np.zeros(constants.N_MIRRORS)
    for t in range(400):
        before = state.weights[1] + 2.0 * state.offset
        tell_many(learner, [(t % 2, 1e-12, 1.0)])
        total = state.weights[1] + 2.0 * state.offset
        fell += total > 1e100 * before
        assert ((total > SMALLEST_TOTAL) & (total < LARGEST_TOTAL)).all()
    for t in range(3000):
        before = state.weights[1] + 2.0 * state.offset
        tell_many(learner, [(t % 2, 1e-12, 0.0)])
        rose += state.weights[1] + 2.0 * state.offset < 1e-100 * before
    assert (fell[: constants.N_CLIPPED] > 0).all()
    assert (rose[constants.N_CLIPPED :] > 0).all()
    check(learner)


def test_followers_are_rescaled_before_they_overflow() -> None:
    learner, plain = tc.Turncoat(2, seed=1), tc.Turncoat(2, seed=1)
    windows = [w for w in constants.WINDOWS if w < math.inf]
    shortest = constants.WINDOWS.index(min(windows))
    n = int(math.log(LARGEST_TOTAL) / -math.log(1 - 1 / min(windows)))
    rounds = [(t % 2, 0.5, (t // 2) % 2) for t in range(n + 100)]
    tell_many(learner, rounds[: n - 100])
    assert learner.view().fading[shortest, 0] > 1e148
    tell_many(learner, rounds[n - 100 :])
    assert learner.view().fading[shortest, 0] < 1e10
    tell_many(plain, rounds[-20 * int(min(windows)) :])  # as many rounds as it remembers, and no rescaling
    for name in ("samples", "rewards"):
        found, expected = (
            getattr(state, name)[shortest] / state.fading[shortest, 0] for state in (learner.view(), plain.view())
        )
        assert found == pytest.approx(expected, rel=1e-6)
    check(learner)


DAMAGE = [
    ("n_living", 0, 0.0),
    ("n_living", 0, 4.0),
    ("living", 0, 1.0),
    ("living", 1, 7.0),
    ("place", 0, 2.0),
    ("place", 0, -1.0),
    ("guess", 0, 512.0),
    ("eta", 0, 0.4),
    ("rates", 1, 0.9),
    ("floors", 0, 0.2),
    ("p", 0, 0.9),
    ("seen", 0, 1e6),
    ("seen", 1, 1.1),
    ("weights", (0, 0), 1.0),
    ("weights", (1, 0), 0.1),
    ("weights", (5, 0), 0.3),
    ("weights", (7, 0), 0.3),
    ("alive", 5, 2.0),
    ("alive", 7, 1.0),
    ("offset", 0, 0.1),
    ("max_trees", (1, 0), 5.0),
    ("max_trees", (5, 0), 9.0),
    ("leaders", 0, 3.0),
    ("leaders", 0, 0.5),
    ("counts", (0, 0), 0.5),
    ("counts", (0, 0), 500.0),
    ("sums", (0, 0), 499.0),
    ("starts", (0, 0), 1e6),
    ("sizes", (0, 0, 0), 0.0),
    ("sizes", (0, 1, 1), 35.0),
    ("at", (0, 0, 0, 1), 1e6),
    ("split_sums", (0, 0, 1, 1), 1e6),
    ("owners", 0, 1.0),
    ("owners", 0, 7.0),
    ("credit", 0, 0.5),
    ("n_restarts", 0, 1e6),
    ("restarted", 0, 1e6),
    ("n_listed", 0, 1.0),
    ("recalled", (0, 0), constants.RECALLED + 1.0),
    ("recalled_sums", (0, 0), 1.0),
    ("noise", (0, 0, 0), 1e6),
    ("fading", (0, 0), 0.5),
    ("fading", (0, 0), 1e200),
    ("fading", (0, 2), 1e6),
    ("samples", (0, 0), 1e6),
    ("rewards", (0, 0), 1e6),
    ("page", 0, float(PAGES)),
    ("page", 0, 0.5),
    ("page", 2, 0.0),
    ("plays", (0, 0), 1e6),
    ("vote", 0, 3.0),
    ("vote", 1, ENOUGH + 1.0),
    ("vote", 2, 1e6),
    ("beliefs", (0, 0), 1e6),
    ("beliefs", (0, 1), 3.0),
    ("beliefs", (0, 1), 0.5),
    ("n_beliefs", 0, 1e6),
    ("n_beliefs", 1, 65.0),
    ("n_beliefs", 1, -1.0),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("field", "where", "value"), DAMAGE)
def test_what_it_cannot_have_written_is_not_restored(field: str, where: Any, value: float) -> None:
    learner = tc.Turncoat(3, seed=1)
    tell_many(learner, [(t % 3, 0.5, (t % 5) / 4) for t in range(60)])
    tc.restore(learner.state())
    getattr(learner.view(), field)[where] = value
    with pytest.raises(StateError, match="damaged"):
        tc.restore(learner.state())


@pytest.mark.parametrize(
    ("field", "where", "value"),
    [
        ("listed", (0, 0), 1500.0),
        ("listed", (0, 0), 77.0),
        ("is_listed", (0, 77), 1.0),
        ("n_listed", 0, 0.0),
        ("owners", 3, 4.0),
        ("owners", 3, 1500.0),
        ("credit", 3, 1e6),
    ],
)
def test_lists_and_slots_that_do_not_agree_are_not_restored(field: str, where: Any, value: float) -> None:
    learner = tc.Turncoat(1500, seed=1)
    tell_many(learner, [(t % 3, 0.5, (t % 5) / 4) for t in range(60)])
    tc.restore(learner.state())
    getattr(learner.view(), field)[where] = value
    with pytest.raises(StateError, match="damaged"):
        tc.restore(learner.state())


def weigh_less_than_nothing(state: Any) -> None:
    state.weights[state.P, constants.N_CLIPPED] = -0.5 * state.offset[constants.N_CLIPPED]
    rebuild(state.weights)


def crown_nobody(state: Any) -> None:
    """Leaf 7 is no arm of three: what compiled code found there it took for an arm, and read beyond the buffer."""
    state.max_trees[[7, 3, 1]] = 9.0


def lead_with_others(state: Any) -> None:
    state.leaders[:] = (state.leaders + 1.0) % 3


def weigh_next_to_nothing(state: Any) -> None:
    """Halves of the smallest numbers there are: probabilities were nan."""
    state.weights[:, constants.N_CLIPPED :] = 0.0
    state.offset[constants.N_CLIPPED :] = 1e-310


def weigh_next_to_infinity(state: Any) -> None:
    state.weights[state.P : state.P + 3] = 1e307
    rebuild(state.weights)
    state.offset[constants.N_CLIPPED :] = 1.7e308


def lift_the_floors(state: Any) -> None:
    """They are small: at this guess within 1e-8 of 0."""
    state.floors[0] *= 1.5


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "harm",
    [
        weigh_less_than_nothing,
        crown_nobody,
        lead_with_others,
        weigh_next_to_nothing,
        weigh_next_to_infinity,
        lift_the_floors,
    ],
)
def test_damage_that_agrees_with_itself_is_not_restored(harm: Callable[[Any], None]) -> None:
    """Sums and largest indices are what their leaves say, and yet no learner has written them."""
    learner = tc.Turncoat(3, seed=1)
    state = learner.view()
    tell_many(learner, [(t % 3, 0.5, (t % 5) / 4) for t in range(60)])
    if harm is lift_the_floors:
        state.clock[0], state.guess[0] = 2**23, 2.0**23
        getattr(constants.set_rates, "py_func", constants.set_rates)(state)
    tc.restore(learner.state())
    harm(state)
    with pytest.raises(StateError, match="damaged"):
        tc.restore(learner.state())
