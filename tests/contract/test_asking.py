"""Asking: what a decision says, and that it is true."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import (
    ANYTIME,
    BANDS,
    CAN_OBSERVE,
    CORRALS,
    MAKERS,
    MASTERS,
    NEEDS_HORIZON,
    RANDOMISED,
    TAKES_HORIZON,
    TUNED_BY_HORIZON,
    Maker,
    as_master,
    as_told,
    contents,
    each,
    every_learner,
    everyone,
    loss_at,
    planned,
    play_by_hand,
    takes_turns,
    tell,
)
from turncoat.errors import ArmsError, DecisionError, HorizonError

SMALL = pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning", "ignore::turncoat.errors.TuningWarning")


@pytest.mark.jit_off
@each(MAKERS, kinds=False)
def test_a_decision_says_what_was_drawn_and_how_likely_that_was(make: Maker) -> None:
    learner = make(["red", "green", "blue"], 1000, seed=3)
    seen = set()
    for t in range(60):
        served = learner.probabilities()
        decision = learner.ask()
        assert (decision.arm, decision.id) == (learner.arms[decision.index], t)
        assert isinstance(decision.index, int) and isinstance(decision.propensity, float)
        assert decision.propensity == served[decision.index]
        if not takes_turns(learner):  # at a given m an ask moves the random numbers and nothing else
            assert np.array_equal(learner.probabilities(**planned(learner)), served)
        assert learner.n_outstanding == 1
        assert learner.n_told == t
        tell(learner, decision, loss=loss_at(t, decision.index))
        seen.add(decision.arm)
    assert seen == {"red", "green", "blue"}


@pytest.mark.jit_off
@each(RANDOMISED)
def test_probabilities_are_a_distribution(make: Maker) -> None:
    for K in (1, 2, 9):
        learner = make(K, 1000, seed=3)
        for t in range(30):
            served = learner.probabilities()
            assert served.shape == (K,)
            assert (served > 0.0).all() and (served <= 1.0).all()
            assert served.sum() == pytest.approx(1.0, abs=1e-12)
            tell(learner, learner.ask(), loss=float(t % 2))


@pytest.mark.jit_off
@each(MASTERS)
def test_a_master_serves_the_marginal_and_says_which_base_decided(make: Maker) -> None:
    learner = as_master(make(4, 1000, seed=5))
    H = len(learner.candidates)
    for t in range(40):
        p, bases = learner.master_probabilities, learner.base_probabilities
        decision = learner.ask()
        assert decision.base is not None
        assert p.shape == learner.master_rates.shape == learner.base_rates.shape == (H,)
        assert bases.shape == (H, 4)
        assert decision.master_probability == p[decision.base]
        assert decision.base_probability == bases[decision.base, decision.index]
        assert decision.propensity == pytest.approx(float(p @ bases[:, decision.index]), rel=1e-14)
        tell(learner, decision, loss=loss_at(t, decision.index))
    assert len(set(learner.base_probabilities[:, 0])) > 1  # the bases have come apart, so the marginal is no base's


@each([(name, make) for name, make in MAKERS if (name, make) not in [*MASTERS, *CORRALS, *BANDS]])
def test_other_learners_leave_the_bases_fields_empty(make: Maker) -> None:
    decision = make(3, 100, seed=1).ask()
    assert (decision.base, decision.master_probability, decision.base_probability) == (None, None, None)


@each([(name, make) for name, make in MASTERS if name.startswith("adaptive")])
def test_algorithm_2_shows_its_thresholds(make: Maker) -> None:
    learner = make(3, 1000, seed=1)
    assert isinstance(learner, tc.AdaptiveMasterBase)
    play_by_hand(learner, 200)
    assert (learner.rho * learner.master_probabilities >= 1.0).all()


@every_learner
def test_what_a_learner_shows_cannot_be_used_to_change_it(make: Maker) -> None:
    learner = make(["a", "b"], 1000, seed=1)
    before = learner.state()
    learner.probabilities()[:] = 7.0
    learner.arms.append("c")
    for name in ("candidates", "master_probabilities", "base_probabilities", "master_rates", "base_rates", "rho"):
        if hasattr(learner, name):
            getattr(learner, name)[:] = 7.0
    assert learner.state() == before


@pytest.mark.jit_off
@everyone
def test_a_decision_is_immutable_and_travels_through_json(make: Maker) -> None:
    learner = make(["red", "green"], 100, seed=2)
    decision = learner.ask()
    with pytest.raises(AttributeError):
        decision.arm = "green"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        decision.note = "mine"  # type: ignore[attr-defined]
    again = tc.Decision.from_dict(json.loads(json.dumps(decision.to_dict(), allow_nan=False)))
    assert again == decision and hash(again) == hash(decision)
    assert all(isinstance(value, type(plain)) for value, plain in zip(decision, again, strict=True))
    assert {decision: 1}[again] == 1
    tell(learner, again, loss=0.25)
    assert (learner.n_told, learner.n_outstanding) == (1, 0)


DAMAGE: list[tuple[str, Any]] = [
    ("arm", None),
    ("arm", True),
    ("arm", 1.5),
    ("arm", ["red"]),
    ("index", -1),
    ("index", "0"),
    ("index", 0.0),
    ("index", False),
    ("index", None),
    ("propensity", 0.0),
    ("propensity", -0.5),
    ("propensity", 1.5),
    ("propensity", math.nan),
    ("propensity", math.inf),
    ("propensity", "0.5"),
    ("propensity", None),
    ("propensity", True),
    ("base", None),
    ("base", -1),
    ("base", 1.0),
    ("master_probability", None),
    ("master_probability", 0.0),
    ("master_probability", math.nan),
    ("base_probability", 2),
    ("base_probability", [0.5]),
    ("learner", None),
    ("learner", 7),
    ("id", -1),
    ("id", 0.5),
    ("id", "0"),
    ("id", True),
    ("m", 0),
    ("m", -8),
    ("m", 2.0),
    ("m", "1"),
    ("m", True),
    ("m", None),
]


@pytest.mark.jit_off
def test_damaged_dicts_are_no_decisions() -> None:
    good = json.loads(json.dumps(tc.MasterBase(["red", "green"], 1000, seed=2).ask().to_dict()))
    assert tc.Decision.from_dict(good).to_dict() == good
    for key, value in DAMAGE:
        with pytest.raises(DecisionError, match="is not a decision"):
            tc.Decision.from_dict({**good, key: value})
    for key in set(good) - {"allowed", "m"}:  # which older ones lack
        with pytest.raises(DecisionError, match=key):
            tc.Decision.from_dict({other: value for other, value in good.items() if other != key})
    things: list[Any] = [{**good, "more": 1}, {}, None, [], "decision", 3, tuple(good.values())]
    for thing in things:
        with pytest.raises(DecisionError, match="is not a decision"):
            tc.Decision.from_dict(thing)


def test_a_whole_number_is_a_fine_probability_in_json() -> None:
    """JSON writers turn 1.0 into 1."""
    one = tc.Decision.from_dict({**tc.Uniform(1, seed=2).ask().to_dict(), "propensity": 1})
    assert type(one.propensity) is float


# -- arms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "labels"),
    [
        (3, [0, 1, 2]),
        (np.int64(2), [0, 1]),
        (["a", "b"], ["a", "b"]),
        (("a", 1, "1"), ["a", 1, "1"]),
        (range(5, 7), [5, 6]),
        (np.array(["x", "y"]), ["x", "y"]),
        (np.array([4, 2]), [4, 2]),
        ([""], [""]),
    ],
)
def test_arms_are_a_count_or_distinct_labels(arms: Any, labels: list[int | str]) -> None:
    learner = tc.Uniform(arms, seed=1)
    assert learner.arms == labels
    assert [type(label) for label in learner.arms] == [type(label) for label in labels]
    assert learner.ask().arm in labels


@everyone
def test_arms_that_are_neither_are_refused(make: Maker) -> None:
    no_arms: list[Any] = [0, -1, np.int64(0), True, 2.5, None, "abc", b"ab", [], {"a": 1}, {"a", "b"}]
    for arms in no_arms:
        with pytest.raises(ArmsError, match="accepted are a count"):
            make(arms, 100)
    for arms, named in ((["a", "a"], "'a'"), ([1, 2, 1], "1"), (["a", None], "None"), ([True, False], "True")):
        with pytest.raises(ArmsError, match=named):
            make(arms, 100)
    assert issubclass(ArmsError, ValueError)


# -- horizons -----------------------------------------------------------------------------------------------------


@SMALL
@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("horizon", [1, 2, 3])
@every_learner
def test_a_single_arm_and_the_smallest_horizons(make: Maker, horizon: int, K: int) -> None:
    for loss in (0.0, 0.5, 1.0):
        learner = make(K, horizon, seed=1)
        for _ in range(horizon + 2):
            decision = learner.ask()
            assert decision.propensity is not None
            assert 0 <= decision.index < K and 0.0 < decision.propensity <= 1.0
            tell(learner, decision, loss=loss)
            assert learner.probabilities().sum() == pytest.approx(1.0, abs=1e-12)
        assert K > 1 or learner.probabilities()[0] == 1.0


@each(TAKES_HORIZON)
def test_a_bad_horizon_is_refused(make: Maker) -> None:
    for horizon in (0, -5, 2.5, "10", True, math.nan, 2**53 + 1, 10**400):
        with pytest.raises(HorizonError, match="whole number"):
            make(2, horizon)
    assert issubclass(HorizonError, ValueError)


@each(NEEDS_HORIZON)
def test_no_horizon_where_there_is_no_anytime_form(make: Maker) -> None:
    with pytest.raises(HorizonError, match="has no anytime form: give horizon"):
        make(2)


@each(ANYTIME)
def test_no_horizon_where_there_is_one(make: Maker) -> None:
    learner = make(2)
    assert learner.horizon is None
    play_by_hand(learner, 50)  # and no warning, ever: warnings are errors here


def infeasible(T: int, K: int) -> bool:
    """alpha = K^(1/3) T^(-1/3) H^(-1/2) > 1/H, that is T < K H^(3/2), with H candidates."""
    T = max(T, 2)
    H = math.ceil(math.log(T)) + 1
    return K * H * math.sqrt(H) > T


@pytest.mark.parametrize("horizon", [1, 2, 10, 50, 100, 1000, 100_000])
@pytest.mark.parametrize("K", [1, 2, 10, 1000])
def test_a_capped_alpha_is_said_and_nothing_else(K: int, horizon: int) -> None:
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        learner = tc.MasterBase(K, horizon, seed=0)
        for name, make in MAKERS:
            if not name.startswith("master-base"):
                make(K, horizon, seed=0)
    assert [note.category for note in noted] == [tc.TuningWarning] * infeasible(horizon, K)
    H = len(learner.candidates)
    for note in noted:
        assert note.filename == __file__
        assert f"horizon {horizon} with {K} arms" in str(note.message)
        assert learner.view().alpha == 1 / (2 * H)
    assert learner.view().alpha <= 1 / H


@each(TUNED_BY_HORIZON)
def test_going_past_the_horizon_is_said_once(make: Maker) -> None:
    """By hand and in a play alike; the warning points at the line that went past."""
    losses = np.full((100, 2), 0.5)
    by_hand, played, observed = make(2, 100, seed=1), make(2, 100, seed=1), make(2, 100, seed=1)
    play_by_hand(by_hand, 100)
    tc.play(played, losses)
    tc.play(observed, losses)
    last = by_hand.ask()
    with pytest.warns(tc.HorizonWarning, match="past its horizon of 100 rounds") as noted:
        by_hand.tell(last, **as_told(by_hand, last, loss=0.5))
    with pytest.warns(tc.HorizonWarning, match="past its horizon of 100 rounds") as noted_in_play:
        tc.play(played, losses)
    assert [note.filename for note in [*noted, *noted_in_play]] == [__file__] * 2
    tell(by_hand, by_hand.ask(), loss=0.5)  # and no more of it: warnings are errors here
    tc.play(played, losses)
    tc.play(by_hand, losses)
    if make in dict(CAN_OBSERVE).values():
        with pytest.warns(tc.HorizonWarning, match="past its horizon of 100 rounds"):
            observed.observe(0, 0.5, 0.5)
        observed.observe(0, 0.5, 0.5)


@each(TUNED_BY_HORIZON)
def test_a_warning_made_an_error_leaves_a_finished_tell(make: Maker) -> None:
    learner, other = make(2, 100, seed=1), make(2, 100, seed=1)
    for one in (learner, other):
        play_by_hand(one, 100)
    with pytest.raises(tc.HorizonWarning):  # as pytest is set up here, warnings are errors
        tell(learner, learner.ask(), loss=0.5)
    with pytest.warns(tc.HorizonWarning):
        tell(other, other.ask(), loss=0.5)
    assert contents(learner) == contents(other)
