"""Saving: a restored learner goes on identically, and a damaged state is refused before compiled code meets it."""

from __future__ import annotations

import base64
import copy
import json
import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.cases import JIT_OFF, some
from tests.contract.makers import (
    EVERYONE,
    MAKERS,
    TUNED_BY_HORIZON,
    Maker,
    each,
    every_learner,
    everyone,
    loss_at,
    play_by_hand,
    tell,
)
from turncoat.errors import StateError

K = 3
INF = math.inf
HEAD = 5  # four random words and the clock


def through_json(learner: tc.Learner) -> tc.Learner:
    return tc.restore(json.loads(json.dumps(learner.state(), allow_nan=False)))


def through_pickle(learner: tc.Learner) -> tc.Learner:
    again: tc.Learner = pickle.loads(pickle.dumps(learner))
    return again


def through_oldest_pickle(learner: tc.Learner) -> tc.Learner:
    again: tc.Learner = pickle.loads(pickle.dumps(learner, protocol=2))
    return again


COPIES: list[Callable[[tc.Learner], tc.Learner]] = [
    through_json,
    through_pickle,
    through_oldest_pickle,
    copy.deepcopy,
    copy.copy,
]


def started(make: Maker, **words: Any) -> tuple[tc.Learner, list[tc.Decision]]:
    """A learner in the middle of things: some rounds told, some waiting, one forgotten."""
    learner = make(["red", "green", "blue"], 1000, seed=8, **words)
    play_by_hand(learner, 25)
    waiting = [learner.ask() for _ in range(6)]
    learner.forget(waiting.pop(2))
    return learner, waiting


@pytest.mark.parametrize("copied", some(COPIES, 2, when=JIT_OFF))
@pytest.mark.jit_off
@everyone
def test_a_restored_learner_goes_on_identically(make: Maker, copied: Callable[[tc.Learner], tc.Learner]) -> None:
    learner, waiting = started(make, loss_range=(-1, 1))
    again = copied(learner)
    assert type(again) is type(learner)
    assert again.state() == learner.state()
    assert repr(again) == repr(learner)
    for t, decision in enumerate(reversed(waiting)):
        tell(learner, decision, loss=loss_at(t, 1))
        tell(again, decision, loss=loss_at(t, 1))
    assert play_by_hand(again, 20) == play_by_hand(learner, 20)  # arms, propensities, ids and all
    losses = np.random.default_rng(1).uniform(-1, 1, (30, K))
    assert np.array_equal(tc.play(again, losses), tc.play(learner, losses))
    assert again.state() == learner.state()


@pytest.mark.jit_off
@everyone
def test_a_copy_leads_its_own_life(make: Maker) -> None:
    learner, waiting = started(make)
    state = learner.state()
    again = copy.deepcopy(learner)
    tell(learner, waiting[0], loss=1.0)
    play_by_hand(learner, 3)
    assert again.state() == state == tc.restore(state).state()  # nor does the dict change with its learner
    tell(again, waiting[0], loss=1.0)


@everyone
def test_a_state_is_plain_json_and_says_what_it_is(make: Maker) -> None:
    learner, waiting = started(make)
    state = learner.state()
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    assert state["format"] == 1
    assert state["turncoat"] == tc.__version__
    assert state["learner"] == learner.name
    assert state["arms"] == ["red", "green", "blue"]
    assert state["next_id"] == 31
    ids = np.frombuffer(base64.b64decode(state["outstanding"]), dtype="<i8")
    assert ids.tolist() == [decision.id for decision in waiting]
    learner_class = type(learner)
    assert state["options"] == {word: getattr(learner, word) for word in learner_class.options}


@pytest.mark.parametrize("copied", COPIES)
@each(TUNED_BY_HORIZON)
def test_that_the_horizon_is_behind_is_said_once_whatever_is_restored(
    make: Maker, copied: Callable[[tc.Learner], tc.Learner]
) -> None:
    learner = make(2, 100, seed=1)
    play_by_hand(learner, 100)
    before = copied(learner)
    with pytest.warns(tc.HorizonWarning):
        play_by_hand(learner, 1)
    play_by_hand(copied(learner), 5)  # warnings are errors here
    with pytest.warns(tc.HorizonWarning):
        play_by_hand(before, 1)


def test_restoring_does_not_repeat_what_the_constructor_said() -> None:
    with pytest.warns(tc.TuningWarning):
        learner = tc.MasterBase(1000, 100, seed=1)
    for copied in COPIES:
        assert copied(learner).state() == learner.state()


# -- damage -------------------------------------------------------------------------------------------------------


def words_of(state: dict[str, Any]) -> Any:
    """The buffer of a state, to be written to."""
    return np.frombuffer(base64.b64decode(state["buffer"]), dtype="<f8").copy()


def with_words(state: dict[str, Any], words: Any) -> dict[str, Any]:
    return {**state, "buffer": base64.b64encode(words.tobytes()).decode()}


def refused(state: Any, *, naming: str = "") -> None:
    with pytest.raises(StateError) as said:
        tc.restore(state)
    assert naming in str(said.value)


DAMAGE: dict[str, list[Any]] = {
    "format": [None, 0, -1, 2, 10**30, True, "1", 1.0, [1]],
    "learner": [None, "", "exp4", "Exp3", 3, ["exp3"]],
    "arms": [None, 0, K, 10**12, 10**30, "abc", [], ["a", "b"], list("abcd"), ["a", "a", "b"], ["a", "b", None], {}],
    "loss_range": [None, [], [0], [1, 0], [0, math.nan], [0, math.inf], [0, 10**400], ["0", "1"], "01", {}, 1.0],
    "options": [None, [], "own", {"seed": 1}, {"arms": 3}, {"loss_range": [0, 1]}, {"": 1}, {"more": 2}],
    "token": [None, "", 5, ["a"], b"abc", True],
    "next_id": [None, -1, 0, 5, 30, "31", 31.0, True, [31], math.nan],
    "outstanding": [None, 5, "A", "AAA=", "!!!!", "AAAAAAAA", "ä" * 8, [1, 2], {}, b"AAAAAAAAAAA="],
    "buffer": [None, 5, "", "A", "AAA=", "!!!!", "AAAAAAAA", "ä" * 8, [0.5], {}, "A" * 1000],
}


@everyone
def test_a_damaged_state_is_refused(make: Maker) -> None:
    learner, _ = started(make)
    state = learner.state()
    for key, values in DAMAGE.items():
        refused({other: value for other, value in state.items() if other != key}, naming=key)
        for value in values:
            refused({**state, key: value})
    for horizon in (0, -1, 1.5, "1000", True, 10**400, [1000]):
        if learner.horizon is not None or horizon:
            refused({**state, "horizon": horizon}, naming="horizon")
    for missing in ("turncoat", "horizon"):
        refused({other: value for other, value in state.items() if other != missing}, naming=missing)
    for word in state["options"]:
        fewer = {other: value for other, value in state["options"].items() if other != word}
        refused({**state, "options": fewer}, naming=word)
        for value in ("other", -1, 1.5, 10**30, [], math.nan):
            fits = (
                value == 1.5
                and not isinstance(learner, tc.Band)
                and word
                in (
                    "exploration",
                    "extra",
                    "feature_norm",
                    "parameter_norm",
                    "prior",
                    "regularisation",
                    "tolerance",
                    "confidence",
                    "elimination",
                    "scale",
                    "eviction",
                )
            )  # but not the numbers in the buffer
            refused({**state, "options": {**state["options"], word: value}}, naming="does not fit" if fits else word)
    assert tc.restore(state).state() == state


@pytest.mark.jit_off
def test_what_is_no_state_is_refused() -> None:
    things: list[Any] = [None, [], "state", 5, {}, tc.Uniform(2), {"format": 1}, {"format": 1, "learner": "uniform"}]
    for thing in things:
        refused(thing)
    with pytest.raises(StateError, match=r"format is None; accepted is what state\(\) writes, 1"):
        tc.restore({})
    with pytest.raises(StateError, match=r"format 2, written by turncoat 9\.9; .*upgrade turncoat"):
        tc.restore({**tc.Uniform(2).state(), "format": 2, "turncoat": "9.9"})


@everyone
def test_a_buffer_of_another_size_or_learner_is_refused(make: Maker) -> None:
    learner, _ = started(make)
    state = learner.state()
    text, words = state["buffer"], words_of(state)
    for other in (text[:-4], text[:-1], text[4:], text + "AAAA", text[: len(text) // 2], text.replace("A", "*")):
        refused({**state, "buffer": other})
    for other in (words[:-1], words[:HEAD], np.append(words, 0.0), np.tile(words, 2)):
        refused(with_words(state, other), naming="does not fit")
    for wrong in (0.0, 1.0, K - 1.0, K + 1.0, -K, 1e300, math.nan, math.inf):
        refused(with_words(state, np.where(np.arange(words.size) == HEAD, wrong, words)), naming="does not fit")
    for other in states_of_everyone():
        if other["learner"] != state["learner"]:
            refused({**state, "learner": other["learner"]})
        if not alike(other, state):
            refused({**state, "buffer": other["buffer"]}, naming="does not fit")


@cache
def states_of_everyone() -> list[dict[str, Any]]:
    return [make(K, 1000, seed=8).state() for _, make in EVERYONE]


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same learner in the same mode; its first rate is no constant, so it says nothing about the buffer."""
    modes = [({**state["options"], "rate": None}, state["learner"], state["horizon"]) for state in (one, other)]
    return modes[0] == modes[1]


@pytest.mark.parametrize("ids", [[-1], [31], [2**62], [3, 3], [-(2**63)]])
def test_outstanding_ids_are_distinct_and_were_given_out(ids: list[int]) -> None:
    learner, _ = started(tc.Exp3)
    packed = base64.b64encode(np.array(ids, dtype="<i8").tobytes()).decode()
    refused({**learner.state(), "outstanding": packed}, naming="outstanding ids are not distinct numbers from 0 to 30")


def test_a_stopped_clock_and_dead_random_numbers_are_refused() -> None:
    state = started(tc.Exp3)[0].state()
    words = words_of(state)
    words[:4] = 0.0
    refused(with_words(state, words), naming="random words are all zero")
    for clock in (-1, 2**63 - 1):
        words = words_of(state)
        words[4:5].view(np.int64)[0] = clock
        refused(with_words(state, words), naming=f"clock stands at {clock}")


@pytest.mark.slow
@pytest.mark.parametrize("value", [math.nan, *(pytest.param(x, marks=pytest.mark.exhaustive) for x in (INF, -INF))])
@each(MAKERS, modes=False)
def test_no_value_that_is_not_finite_gets_in(make: Maker, value: float) -> None:
    """Word by word: what a name stands for must be finite; words that nothing reads may be anything."""
    learner, _ = started(make)
    state = learner.state()
    words = words_of(state)
    n_refused = 0
    for i in set(range(HEAD, words.size)) - dice_of(learner):
        changed = words.copy()
        changed[i] = value
        try:
            again = tc.restore(with_words(state, changed))
        except StateError:
            n_refused += 1
        else:
            assert np.array_equal(again.probabilities(), learner.probabilities())
            play_by_hand(again, 20)
            assert np.array_equal(again.probabilities(), played_on(learner, 20).probabilities())
    unread = len(getattr(learner, "candidates", [])) * (getattr(learner, "projection", "mixing") == "exact")
    assert n_refused >= words.size - HEAD - unread - len(dice_of(learner))  # `inner` and `p` are one array there


def dice_of(learner: tc.Learner) -> set[int]:
    """Where the second random words of a learner stand, if it has any: all bits mean something there."""
    view = learner.view()
    first = (view.dice.ctypes.data - view.rng.ctypes.data) // 8 if hasattr(view, "dice") else 0
    return set(range(first, first + view.dice.size)) if first else set()


def played_on(learner: tc.Learner, n_rounds: int) -> tc.Learner:
    """A copy, some rounds later."""
    again = copy.deepcopy(learner)
    play_by_hand(again, n_rounds)
    return again


@pytest.mark.parametrize("n_arms", [1, 3, 9, 70])
@every_learner
def test_weight_on_an_arm_that_is_not_there_is_refused(make: Maker, n_arms: int) -> None:
    """Trees are padded to whole nodes. Weight on the padding would be drawn, and read past the end of a table."""
    learner = make(n_arms, 10**6, seed=3)
    view = learner.view()
    if not hasattr(view, "bases") and not hasattr(view, "tree"):
        return
    tree = view.trees[-1] if hasattr(view, "trees") else view.tree
    leaves = -(-n_arms // 8) * 8
    for position in {n_arms, leaves - 1, tree.size - 1} - {n_arms - 1}:
        before = tree[position]
        tree[position] = before + 1e-9
        refused(learner.state(), naming="sums that are not those of its leaves")
        tree[position] = before
    assert tc.restore(learner.state()).state() == learner.state()


@pytest.mark.parametrize("seed", [11, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (12, 13))])
@each(MAKERS, modes=False)
def test_whatever_is_restored_plays_on_inside_its_arms(make: Maker, seed: int) -> None:
    """Any word changed to any number: refused, or a learner that stays inside its arms and its numbers."""
    state = make(K, 1000, seed=8).state()
    words = words_of(state)
    chance = np.random.default_rng(seed)
    losses = chance.random((30, K))
    for _ in range(100):
        changed = words.copy()
        for i in chance.integers(0, words.size, chance.integers(1, 4)):
            changed[i] = chance.choice([0.0, -1.0, 1e-320, 1e-9, 0.5, 1.0 + 1e-9, 3.0, 1e9, 1e300, chance.normal()])
        try:
            learner = tc.restore(with_words(state, changed))
        except StateError:
            continue
        assert learner.probabilities().sum() == pytest.approx(1.0, abs=1e-6)
        for t in range(5):
            decision = learner.ask()
            assert decision.index in range(K)
            tell(learner, decision, loss=loss_at(t, decision.index))
        assert set(tc.play(learner, losses)) <= set(range(K))
