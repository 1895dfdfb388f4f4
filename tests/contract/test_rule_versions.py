"""Rule versions: states of an older rule are migrated or refused, those of a newer one refused; rule 1 is not named."""

from __future__ import annotations

import base64
import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import EVERYONE, Maker, each, everyone, loss_at, play_by_hand, tell
from turncoat.errors import StateError

K = 3
# One of each class that rebuilds learners in a way of its own; playing all of them would compile them all.
SOME = [one for one in EVERYONE if one[0] in ("exp3-loss", "turncoat", "dlinucb")]


def raised(patch: pytest.MonkeyPatch, learner: type[tc.Learner], migrated: Callable[..., Any] | None = None) -> None:
    """From now on the learner has the next rule."""
    patch.setattr(learner, "rule_version", learner.rule_version + 1)
    if migrated is not None:
        patch.setattr(learner, "_migrated", classmethod(lambda cls, state: migrated(state)))


@pytest.mark.jit_off
@everyone
def test_rule_1_is_not_named_and_others_are(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """So states of learners whose rule never changed, and what is stored of them, stay what they were to the byte."""
    learner = make(K, 1000, seed=8)
    before, rule = learner.state(), learner.rule_version
    assert before.get("rule") == (rule if rule > 1 else None)
    raised(monkeypatch, type(learner))
    after = learner.state()
    assert {**before, "rule": rule + 1} == after
    assert tc.restore(json.loads(json.dumps(after))).state() == after


@pytest.mark.jit_off
@everyone
def test_an_older_rule_is_refused_where_nothing_says_how_to_migrate(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = make(K, 1000, seed=8)
    state, pickled, rule = learner.state(), pickle.dumps(learner), learner.rule_version
    raised(monkeypatch, type(learner))
    text = rf"rule {rule} of '{learner.name}', .*; this version has rule {rule + 1}, and accepted are states of rule "
    for restored in (
        lambda: tc.restore(state),
        lambda: tc.restore({**state, "rule": rule}),
        lambda: pickle.loads(pickled),
    ):
        with pytest.raises(StateError, match=text):
            restored()


@pytest.mark.jit_off
@each(SOME)
def test_an_older_rule_is_migrated(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the class's own hook, which is given a copy; outstanding decisions stay valid."""
    learner = make(["red", "green", "blue"], 1000, seed=8)
    play_by_hand(learner, 25)
    waiting = learner.ask()
    state, pickled, rule = learner.state(), pickle.dumps(learner), learner.rule_version
    before = copy.deepcopy(state)

    def migrated(state: dict[str, Any]) -> dict[str, Any]:
        state["buffer"] = with_other_chance(state["buffer"])
        return state

    raised(monkeypatch, type(learner), migrated)
    again = tc.restore(state)
    assert state == before
    assert again.state() == {**state, "rule": rule + 1, "buffer": with_other_chance(state["buffer"])}
    assert pickle.loads(pickled).state() == again.state()
    assert copy.deepcopy(again).state() == again.state()  # once only
    tell(again, waiting, loss=loss_at(1, 1))
    play_by_hand(again, 5)


def with_other_chance(text: str) -> str:
    """A buffer with other random words."""
    words = np.frombuffer(base64.b64decode(text), dtype="<f8").copy()
    words[:4].view(np.uint64)[:] ^= np.uint64(5)
    return base64.b64encode(words.tobytes()).decode()


def test_some_are_there() -> None:
    assert len(SOME) == 3


def test_what_a_migration_leaves_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    state = tc.Turncoat(K, seed=8).state()
    raised(monkeypatch, tc.Turncoat, lambda state: {**state, "next_id": -1})
    with pytest.raises(StateError, match="next_id is -1"):
        tc.restore(state)


def test_a_range_that_was_found_is_that_of_the_migrated_state(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = tc.Turncoat(K, seed=8, loss_range="adaptive")
    learner.observe(0, 5.0, 0.5)
    learner.observe(0, 7.0, 0.5)
    state = learner.state()
    raised(monkeypatch, tc.Turncoat, lambda state: {**state, "seen_range": [4.0, 7.0]})
    assert tc.restore(state).loss_range == (4.0, 7.0)


@everyone
def test_a_newer_rule_is_refused(make: Maker) -> None:
    learner = make(K, 1000, seed=8)
    state, known = {**learner.state(), "rule": 9, "turncoat": "9.9"}, learner.rule_version
    with pytest.raises(StateError, match=rf"rule 9 of .*written by turncoat 9\.9; .*up to {known}: upgrade turncoat"):
        tc.restore(state)


@pytest.mark.parametrize("rule", [None, 0, -1, True, "1", 1.5, [1]])
def test_a_rule_that_is_none_is_refused(rule: Any) -> None:
    with pytest.raises(StateError, match=r"the state's rule is .*; accepted are whole numbers from 1 to 3"):
        tc.restore({**tc.Turncoat(K, seed=8).state(), "rule": rule})


def test_a_master_is_refused_when_a_base_of_it_has_another_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of bases are in the master's buffer: it would go on with them by the new rule."""
    master = tc.Band(K, bases=["exp3", "ucb1"], seed=8)
    play_by_hand(master, 10)
    older = master.state()
    assert tc.restore(older).state() == older
    with monkeypatch.context() as patch:
        raised(patch, tc.UCB1, lambda state: state)
        with pytest.raises(StateError, match="saved 'ucb1' of rule 1; accepted are those of rule 2"):
            tc.restore(older)
        newer = tc.Band(K, bases=["exp3", "ucb1"], seed=8)
        assert newer.bases[1]["rule"] == 2 and "rule" not in newer.bases[0]
        state = newer.state()
        assert tc.restore(state).state() == state
        assert tc.Band(K, bases=newer.bases, seed=8).bases == newer.bases
    with pytest.raises(StateError, match=r"rule 2 of 'ucb1'.*upgrade turncoat"):
        tc.restore(state)
