"""Linear learners at d = 8: asking with features, telling, saving, bad input, long runs. (Without features they are
learners like every other one, and pass the suite for those: LINEAR in makers.py.)"""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import LINEAR, Maker, each
from turncoat._compile.games import loss_of
from turncoat.environments import scenario
from turncoat.errors import DecisionError, FeaturesError, OptionError, StateError, TableError
from turncoat.learners import LinearLearner

D = 8
linear_learners = each(LINEAR)


def made(make: Maker, **words: Any) -> LinearLearner:
    learner = make(D, 1000, seed=3, **words)
    assert isinstance(learner, LinearLearner)
    return learner


def arms(t: int) -> Any:
    """The arms of round t: from 1 to 12 of them, of lengths up to 1."""
    rows = np.random.default_rng(t).standard_normal((1 + t % 12, D))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * np.linspace(0.3, 1.0, len(rows))[:, None]


def loss_in(t: int, x: Any) -> float:
    return float(np.clip(0.5 + 0.4 * x[t // 50 % D], 0.0, 1.0))


def go_on(learner: LinearLearner, first: int, stop: int) -> list[tc.Decision]:
    decisions = []
    for t in range(first, stop):
        decisions.append(learner.ask(arms(t)))
        learner.tell(decisions[-1], loss=loss_in(t, arms(t)[decisions[-1].index]))
    return decisions


@pytest.mark.jit_off
@linear_learners
def test_a_decision_names_a_row(make: Maker) -> None:
    learner = made(make)
    for t in range(40):
        served = learner.probabilities(arms(t))
        assert served.shape == (len(arms(t)),) and served.sum() == pytest.approx(1.0, abs=1e-12)
        decision = learner.ask(arms(t))
        assert decision.arm == decision.index and decision.propensity == served[decision.index]
        learner.tell(decision, loss=loss_in(t, arms(t)[decision.index]))
    assert (learner.n_told, learner.n_outstanding, learner.dimension) == (40, 0, D)
    assert "8 dimensions" in repr(learner)


@pytest.mark.jit_off
@linear_learners
def test_without_features_arms_are_unit_vectors(make: Maker) -> None:
    plain, given = made(make), made(make)
    for t in range(30):
        one, other = plain.ask(), given.ask(np.eye(D))
        assert one == other._replace(learner=one.learner)
        plain.tell(one, loss=t % 3 / 2)
        given.tell(other, loss=t % 3 / 2)
        assert plain.state()["buffer"] == given.state()["buffer"]


@pytest.mark.jit_off
@linear_learners
def test_a_late_tell_learns_of_the_vector_that_was_chosen(make: Maker) -> None:
    """… however the arms have changed since, and whatever became of the caller's array."""
    late, now = made(make), made(make)
    for t in range(20):
        features = arms(t)
        decision = late.ask(features)
        chosen = features[decision.index].copy()
        features[:] = 0.0
        late.ask(arms(t + 1))
        late.tell(decision, loss=0.25)
        now.observe(chosen, 0.25)
    for (name, one), (_, other) in zip(late.view().items(), now.view().items(), strict=True):
        assert name == "rng" or np.array_equal(one, other), name
    assert np.array_equal(late.probabilities(arms(5)), now.probabilities(arms(5)))
    assert (late.n_outstanding, late.n_told) == (20, 20)


@linear_learners
def test_play_is_asking_and_telling_with_the_features_of_the_game(make: Maker) -> None:
    for name in ("linear/8", "linear-drift/2"):
        game = scenario(name, 300, seed=5)
        played, handled = made(make), made(make)
        sequence = tc.play(played, game)
        for t in range(300):
            decision = handled.ask(game.features)
            assert decision.index == sequence[t]
            handled.tell(decision, loss=loss_of(game.game, t, decision.index))
        assert played.state()["buffer"] == handled.state()["buffer"]


@pytest.mark.jit_off
@linear_learners
def test_a_restored_learner_goes_on_identically(make: Maker) -> None:
    learner = made(make, loss_range=(-1.0, 1.0))
    go_on(learner, 0, 30)
    waiting = [learner.ask(arms(t)) for t in range(30, 36)] + [learner.ask()]
    learner.forget(waiting.pop(2))
    copies = [tc.restore(json.loads(json.dumps(learner.state(), allow_nan=False))), pickle.loads(pickle.dumps(learner))]
    for again in copies:
        assert isinstance(again, LinearLearner) and again.state() == learner.state()
        for decision in waiting[::-1]:
            again.tell(decision, reward=0.5)
    for decision in waiting[::-1]:
        learner.tell(decision, reward=0.5)
    rest = go_on(learner, 40, 70)
    for again in copies:
        assert go_on(again, 40, 70) == rest and again.state() == learner.state()
    assert learner.state()["chosen"] == {"marks": "", "vectors": ""}


@pytest.mark.jit_off
@linear_learners
def test_damaged_vectors_are_refused(make: Maker) -> None:
    learner = made(make)
    learner.ask(arms(3))
    state = learner.state()
    far = learner.ask(arms(3))
    with_two = learner.state()
    learner.forget(far)
    for chosen in (None, {}, {"marks": ""}, {**state["chosen"], "more": ""}, with_two["chosen"]):
        with pytest.raises(StateError):
            tc.restore({**state, "chosen": chosen})
    for part, text in (("marks", ""), ("vectors", ""), ("vectors", "A" * 12), ("marks", None)):
        with pytest.raises(StateError):
            tc.restore({**state, "chosen": {**state["chosen"], part: text}})


BAD: list[tuple[Any, str]] = [
    (np.zeros((2, 7)), r"have shape \(2, 7\); accepted are rows of 8 numbers"),
    (np.zeros(8), r"have shape \(8,\)"),
    (np.zeros((0, 8)), "accepted are rows of 8 numbers, one row per arm, at least one"),
    (np.zeros((1, 1, 8)), "accepted are rows of 8 numbers"),
    ("abc", "are 'abc'"),
    ([[1.0] * 8, [1.0] * 7], "accepted are rows"),
    ([[0.0] * 8, [1.0] * 8], r"row 1 of features is \[1.0, .*of norm 2.82843; .* at most 1 \(see feature_norm\)"),
    ([[0.0] * 7 + [math.nan]], "row 0 of features is"),
    ([[0.0] * 8, [0.0] * 8, [math.inf] + [0.0] * 7], "row 2 of features is"),
]


@pytest.mark.jit_off
@linear_learners
def test_bad_features_are_refused_and_leave_no_trace(make: Maker) -> None:
    learner = made(make)
    go_on(learner, 0, 10)
    before = learner.state()
    for features, said in BAD:
        for act in (learner.ask, learner.probabilities):
            with pytest.raises(FeaturesError, match=said):
                act(features)
    for arm in ([1.0] * 8, [0.1] * 7, 8, -1, "x", None, True, 0.5):
        with pytest.raises(FeaturesError):
            learner.observe(arm, 0.5)  # type: ignore[arg-type]
    assert learner.state() == before
    assert made(make, feature_norm=3.0).ask([[1.0] * 8]).index == 0


@pytest.mark.jit_off
@linear_learners
def test_an_altered_decision_is_refused(make: Maker) -> None:
    learner = made(make)
    decision = learner.ask(arms(11))
    before = learner.state()
    changes: list[dict[str, Any]] = [
        *({"index": value} for value in (decision.index + 1, -1, 2**70, 0.5, None, [0])),
        *({"propensity": value} for value in (0.0, 1.5, math.nan, None, "1")),
        {"base": 0},
    ]
    for change in changes:
        with pytest.raises(DecisionError, match="altered"):
            learner.tell(decision._replace(**change), loss=0.5)
    assert learner.state() == before
    learner.tell(tc.Decision.from_dict(json.loads(json.dumps(decision.to_dict()))), loss=0.5)
    with pytest.raises(DecisionError, match="told or forgotten already"):
        learner.tell(decision, loss=0.5)


@linear_learners
def test_a_game_whose_arms_do_not_fit_is_refused(make: Maker) -> None:
    with pytest.raises(TableError, match="the losses have 3 arms and the learner 8"):
        tc.play(made(make), np.zeros((5, 3)))
    with pytest.raises(FeaturesError, match=r"have shape \(50, 8\); accepted are rows of 5 numbers"):
        tc.play(make(5, 100), scenario("linear/8", 100))


@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
@linear_learners
def test_long_runs_stay_finite(make: Maker) -> None:
    """Constant, alternating and 0/1 losses, in every game past the horizon; one arm alone, too."""
    for losses in (np.zeros((20_000, D)), np.ones((20_000, D)), np.arange(20_000)[:, None] % 2 * np.ones(D)):
        learner = made(make)
        tc.play(learner, losses)
        for name, value in learner.view().items():
            assert name == "rng" or np.isfinite(value).all(), name
        assert learner.probabilities().sum() == pytest.approx(1.0, abs=1e-9)
    alone = made(make)
    for t in range(3000):
        alone.observe([1.0] + [0.0] * 7, float(t % 2))
    assert np.isfinite(alone.probabilities(arms(11))).all()


@pytest.mark.jit_off
def test_words_of_dlinucb() -> None:
    words: dict[str, tuple[Any, ...]] = {
        "discount": (0.0, 1.5, math.nan, "0.9"),
        "feature_norm": (0, -1.0, math.inf, "1"),
        "parameter_norm": (0.0, None, math.nan),
        "regularisation": (0.0, 1e-7, math.nan, True),
        "exploration": (0.0, 1001.0, None),
        "n_switches": (-1, 100, 1.5),
    }
    for word, values in words.items():
        for value in values:
            with pytest.raises(OptionError) as refused:
                tc.DLinUCB(3, 100, **{word: value})
            assert f"{word} is {value!r}; accepted are" in str(refused.value)
    with pytest.raises(tc.TurncoatError, match="dimension is 257; accepted are at most 256"):
        tc.DLinUCB(257, 100)
    assert tc.DLinUCB(2, 500, n_switches=8).discount == pytest.approx(0.96, rel=1e-14)
    assert tc.DLinUCB(2, 500).discount == pytest.approx(0.99, rel=1e-14)
    assert tc.DLinUCB(2, 500, n_switches=0).discount == 1.0
