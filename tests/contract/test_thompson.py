"""Thompson sampling: what holds without a propensity, and what it does with late tells and odd numbers."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import NO_CLOSED_FORM, Maker, contents, each, loss_at, play_by_hand
from tests.contract.test_numerics import GAMES, game, numbers
from tests.contract.test_saving import HEAD, K, with_words, words_of
from turncoat.errors import DecisionError, OptionError, PropensityError, StateError
from turncoat.learners import DiscountedThompson, ThompsonSampling

every_sampler = each(NO_CLOSED_FORM)
UNUSED = "thompson-sampling"


def as_sampler(learner: tc.Learner) -> ThompsonSampling | DiscountedThompson:
    assert isinstance(learner, ThompsonSampling | DiscountedThompson)
    return learner


@pytest.mark.jit_off
@every_sampler
def test_a_decision_has_no_propensity(make: Maker) -> None:
    learner = make(["red", "green", "blue"], 1000, seed=3)
    for decision in play_by_hand(learner, 40):
        assert decision.propensity is None and decision.base is None
        assert decision.arm == learner.arms[decision.index]
        assert tc.Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision
    with pytest.raises(PropensityError, match="has no probabilities to show: its rule has no closed form"):
        learner.probabilities()
    waiting = learner.ask()
    before = learner.state()
    for propensity in (0.5, 1.0, math.nan, "0.5"):
        with pytest.raises(DecisionError, match="altered"):
            learner.tell(waiting._replace(propensity=propensity), loss=0.5)  # type: ignore[arg-type]
    assert learner.state() == before


@pytest.mark.jit_off
@every_sampler
def test_asks_change_no_posterior_and_a_late_tell_is_an_observation_of_now(make: Maker) -> None:
    """Were rewards counted by the toss of a coin, an ask in between would change what is learned."""
    late, observer = as_sampler(make(4, 1000, seed=6)), as_sampler(make(4, 1000, seed=7))
    decisions = [late.ask() for _ in range(40)]
    for n, decision in enumerate(random.Random(1).sample(decisions, len(decisions)), 1):
        late.tell(decision, loss=loss_at(n, decision.index))
        observer.observe(decision.index, loss_at(n, decision.index), 0.5 if n % 2 else None)
        late.forget(late.ask())
        assert np.array_equal(late.posteriors, observer.posteriors)
        assert (late.n_told, observer.n_told) == (n, n)


@every_sampler
def test_a_batch_of_asks_is_spread_over_the_arms(make: Maker) -> None:
    """Null: each of 4 untried arms with chance 1/4, n = 4000. |count - 1000| > 164 is 6 deviations: false alarm below
    1e-8; an arm of chance 0.21 or 0.29 is caught in 99 cases of 100."""
    learner = make(4, 1000, seed=3)
    counts = Counter(learner.ask().index for _ in range(4000))
    assert all(abs(counts[arm] - 1000) <= 164 for arm in range(4))


@pytest.mark.jit_off
@every_sampler
def test_what_it_shows_cannot_be_used_to_change_it(make: Maker) -> None:
    learner = as_sampler(make(3, 1000, seed=3))
    play_by_hand(learner, 10)
    before = learner.state()
    learner.posteriors[:] = 7.0
    assert learner.state() == before
    assert (learner.posteriors > 0.0).all() and learner.posteriors.shape == (3, 2)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("n_arms", [1, 2, 50])
@every_sampler
def test_long_games_stay_finite(make: Maker, n_arms: int, name: str) -> None:
    learner = make(n_arms, 10**6, seed=1)
    n_rounds, losses = 10**6 if n_arms == 2 else 20_000, game(name, n_arms)
    for _ in range(n_rounds // len(losses)):
        tc.play(learner, losses)
    assert learner.n_told == n_rounds
    for field, value in numbers(learner.view()):
        assert np.isfinite(value).all(), field
    assert learner.ask().index in range(n_arms)


@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.jit_off
@every_sampler
def test_the_smallest_horizons(make: Maker, horizon: int) -> None:
    for n_arms in (1, 2, 5):
        learner = make(n_arms, horizon, seed=1)
        assert {decision.index for decision in play_by_hand(learner, 60)} == set(range(n_arms))


@each([(name, make) for name, make in NO_CLOSED_FORM if name != UNUSED])
def test_going_past_the_horizon_is_said_once(make: Maker) -> None:
    learner = make(2, 100, seed=1)
    play_by_hand(learner, 100)
    with pytest.warns(tc.HorizonWarning, match="past its horizon of 100 rounds"):
        learner.tell(learner.ask(), loss=0.5)
    play_by_hand(learner, 5)  # warnings are errors here


def test_who_needs_a_horizon() -> None:
    with pytest.raises(tc.HorizonError, match="DiscountedThompson without discount= has no anytime form"):
        tc.DiscountedThompson(3)
    play_by_hand(tc.DiscountedThompson(3, discount=0.9, seed=1), 20)
    play_by_hand(tc.ThompsonSampling(3, 10, seed=1), 20)  # and no warning: it does not use its horizon


BAD_WORDS: list[tuple[Any, str, Any]] = [
    *((learner, "prior", 1e-4) for learner in (ThompsonSampling, DiscountedThompson)),
    *((ThompsonSampling, "prior", value) for value in (0.0, -1, 1001.0, math.nan, "1", None, True)),
    *((DiscountedThompson, word, -1) for word in ("n_switches", "discount")),
]


@pytest.mark.parametrize(("learner", "word", "value"), BAD_WORDS)
def test_bad_words_are_refused_by_name(learner: Any, word: str, value: Any) -> None:
    with pytest.raises(OptionError) as refused:
        learner(2, 100, **{word: value})
    assert f"{word} is {value!r}; accepted are" in str(refused.value)


@every_sampler
def test_no_value_that_is_not_finite_gets_in(make: Maker) -> None:
    state = make(K, 1000, seed=8).state()
    words = words_of(state)
    for i in range(HEAD, words.size):
        for value in (math.nan, math.inf, -math.inf):
            changed = words.copy()
            changed[i] = value
            with pytest.raises(StateError):
                tc.restore(with_words(state, changed))


@every_sampler
def test_whatever_is_restored_plays_on_inside_its_arms(make: Maker) -> None:
    state = make(K, 1000, seed=8).state()
    words = words_of(state)
    chance = np.random.default_rng(11)
    n_restored = 0
    for _ in range(200):
        changed: Any = words.copy()
        for i in chance.integers(0, words.size, chance.integers(1, 4)):
            changed[i] = chance.choice([0.0, -1.0, 1e-320, 1e-9, 0.5, 3.0, 1e9, 1e300, chance.normal()])
        try:
            learner = tc.restore(with_words(state, changed))
        except StateError:
            continue
        n_restored += 1
        assert set(tc.play(learner, chance.random((20, K)))) <= set(range(K))
    assert n_restored > 10


def test_two_samplers_without_a_seed_are_two_streams() -> None:
    """coba's learners all had the seed 1. The chance that 20 asks over 9 arms agree is 9^-20."""
    one, other = tc.ThompsonSampling(9), tc.ThompsonSampling(9)
    assert [one.ask().index for _ in range(20)] != [other.ask().index for _ in range(20)]
    assert contents(one)["buffer"] != contents(other)["buffer"]
