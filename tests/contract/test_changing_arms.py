"""Arms that come and go, and days when only some are there: Turncoat can, and all others say that it can."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import OTHERS, Maker, contents, each
from tests.oracle.test_sleeping import loss_of, rows, worst
from turncoat.errors import ArmsError, DecisionError
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.constants import N_DETECTORS, N_MIRRORS

CLOSE = 1e-12


def started(arms: Any = ("red", "green", "blue", "grey"), n_rounds: int = 60, seed: int = 3, **words: Any) -> Turncoat:
    """A learner in the middle of things."""
    learner, rng = Turncoat(arms, seed=seed, **words), np.random.default_rng(seed)
    for _ in range(n_rounds):
        decision = learner.ask()
        learner.tell(decision, loss_of(rng, decision.index))
    return learner


ROOM = ("chance", "covered", "x", "rest")  # written before it is read, by an ask too


def same(one: Turncoat, other: Turncoat) -> bool:
    """Are they the same to the last bit?"""
    words = [{key: value for key, value in learner.state().items() if key != "buffer"} for learner in (one, other)]
    states = zip(one.view().items(), other.view().items(), strict=True)
    return words[0] == words[1] and all(np.array_equal(a, b) for (name, a), (_, b) in states if name not in ROOM)


def again(learner: Turncoat) -> Turncoat:
    copied: Turncoat = pickle.loads(pickle.dumps(learner))
    return copied


# -- the others -------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@each(OTHERS)
def test_others_say_who_can(make: Maker) -> None:
    learner = make(["red", "green"], 100, seed=1)
    before = contents(learner)
    with pytest.raises(ArmsError, match="some of its arms only; Turncoat can"):
        learner.ask(allowed=["red"])
    with pytest.raises(ArmsError, match="some of its arms only; Turncoat can"):
        learner.probabilities(allowed=["red"])
    with pytest.raises(ArmsError, match="add an arm; Turncoat can"):
        learner.add_arm("blue")
    with pytest.raises(ArmsError, match="retire an arm; Turncoat can"):
        learner.retire_arm("red")
    if not learner.sees_all:
        with pytest.raises(ArmsError, match="some of its arms only; Turncoat can"):
            learner.observe(0, 0.5, 0.5, allowed=[0])
    decision = learner.ask()
    told = {"losses": [0.5, 0.5]} if learner.sees_all else {"loss": 0.5}
    with pytest.raises(DecisionError, match="altered"):
        learner.tell(decision._replace(allowed=(0, 1)), **told)
    learner.tell(decision, **told)
    assert contents(learner) != before


# -- only some arms ---------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_a_choice_among_some_arms_says_so_and_what_it_was_served_with() -> None:
    learner = started()
    for names, allowed in ((["grey", "red"], (0, 3)), ({"blue"}, (2,)), (("blue", "green", "red"), (0, 1, 2))):
        q = learner.probabilities(allowed=list(names))
        assert q.sum() == pytest.approx(1.0) and set(np.flatnonzero(q)) == set(allowed)
        for _ in range(20):
            decision = learner.ask(allowed=list(names))
            assert decision.allowed == allowed and decision.arm in names
            assert decision.arm == learner.arms[decision.index]
            assert decision.propensity == pytest.approx(q[decision.index], rel=CLOSE)
            written = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
            assert tc.Decision.from_dict(written) == decision and hash(tc.Decision.from_dict(written)) == hash(decision)
            learner.forget(decision)
    numbered = Turncoat(3, seed=1)
    assert numbered.ask(allowed=[2]).index == numbered.ask(allowed=np.array([2])).index == 2


@pytest.mark.jit_off
def test_older_decisions_had_no_allowed() -> None:
    learner = started()
    older = learner.ask().to_dict()
    del older["allowed"]
    learner.tell(tc.Decision.from_dict(older), 0.5)
    assert learner.n_outstanding == 0


BAD_SETS: list[tuple[Any, str]] = [
    ([], r"allowed is \[\]"),
    (["red", "red"], "allowed is .*'red'.*each once"),
    (["red", "pink"], "one of allowed is 'pink'; accepted are .*'red'"),
    (["red", "grey"], "one of allowed is 'grey', an arm that was retired; accepted are .*'blue'"),
    ("red", "allowed is 'red'"),
    (2, "allowed is 2"),
    (np.array(2), r"allowed is array\(2\)"),
    ({"red": 1}, "allowed is {'red': 1}"),
    ([0], "one of allowed is 0"),
    ([None], "one of allowed is None"),
    ([["red"]], "one of allowed is"),
    ([True], "one of allowed is True"),
]


@pytest.mark.jit_off
@pytest.mark.jit_off
def test_looking_at_some_arms_leaves_no_trace_in_the_state() -> None:
    learner = started()  # it used the state's own room, so a state replayed from a log was not the one that served
    before = learner.state()
    learner.probabilities(allowed=["red", "blue"])
    assert learner.state() == before


@pytest.mark.parametrize(("allowed", "said"), BAD_SETS)
def test_sets_that_are_none_are_refused(allowed: Any, said: str) -> None:
    learner = started()
    learner.retire_arm("grey")
    before = learner.state()
    with pytest.raises(ArmsError, match=said):
        learner.ask(allowed=allowed)
    with pytest.raises(ArmsError, match=said):
        learner.probabilities(allowed=allowed)
    if not isinstance(allowed, list):
        with pytest.raises(ArmsError, match=said):
            learner.observe(0, 0.5, 0.5, allowed=allowed)
    assert learner.state() == before
    names = ["red", "blue"]
    assert {learner.ask(allowed=some).allowed for some in (iter(names), set(names), np.array(names))} == {(0, 2)}


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "allowed", [(), (1,), (0, 0, 1), (1, 0), (0, 9), (-1, 0), [0, 1], "01", (0, 1.0), (False, 1), 7]
)
def test_altered_sets_are_refused(allowed: Any) -> None:
    learner = started(2)
    decision = learner.ask(allowed=[0])
    before = learner.state()
    with pytest.raises(DecisionError, match="altered"):
        learner.tell(decision._replace(allowed=allowed), 0.5)
    with pytest.raises(ArmsError, match=r"allowed is .*distinct indices from 0 to 1, 0 among them"):
        learner.observe(0, 0.5, 0.5, allowed=allowed if allowed not in ((1, 0), [0, 1]) else (1,))
    assert learner.state() == before
    if allowed not in ([0, 1], (0, 9)):  # JSON has no tuples, and only the learner knows how many arms there are
        with pytest.raises(DecisionError, match="allowed must be"):
            tc.Decision.from_dict({**decision.to_dict(), "allowed": allowed})
    learner.tell(decision, 0.5)


@pytest.mark.jit_off
def test_observing_is_telling() -> None:
    told, seen = started(), started()
    for t in range(40):
        decision = told.ask(allowed=["red", "blue", "grey"] if t % 3 else ["green", "blue"])
        told.tell(decision, t % 5 / 4)
        seen.observe(decision.index, t % 5 / 4, decision.propensity, allowed=decision.allowed)
    assert np.array_equal(told.probabilities(), seen.probabilities())
    assert told.n_told == seen.n_told == 100


# -- retire -----------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_a_retired_arm_is_never_played_and_the_others_keep_their_proportions() -> None:
    learner = started()
    before = rows(learner)
    learner.retire_arm("green")
    assert (learner.arms, learner.n_arms) == (["red", "green", "blue", "grey"], 4)
    assert (learner.living, learner.retired) == (["red", "blue", "grey"], ["green"])
    assert "4 arms, 1 retired" in repr(learner)
    others = [0, 2, 3]
    assert worst(rows(learner)[:, others], before[:, others] / before[:, others].sum(axis=1)[:, None]) < CLOSE
    rng = np.random.default_rng(0)
    for t in range(300):
        p = learner.probabilities()
        assert p[1] == 0.0 and p.sum() == pytest.approx(1.0)
        decision = learner.ask() if t % 2 else learner.ask(allowed=["red", "grey"])
        assert decision.index != 1
        learner.tell(decision, loss_of(rng, decision.index))
    assert (rows(learner)[:, 1] == 0.0).all()
    assert 1 not in tc.play(learner, rng.random((300, 4)))


@pytest.mark.jit_off
def test_what_cannot_be_retired_is_said() -> None:
    learner = started()
    for arm in ("pink", 0, None, True, 1.0, ["red"]):
        with pytest.raises(ArmsError, match=r"arm is .*accepted are .*'red'"):
            learner.retire_arm(arm)  # type: ignore[arg-type]
    for arm in ("grey", "red", "blue"):
        learner.retire_arm(arm)
    before = learner.state()
    with pytest.raises(ArmsError, match=r"arm is 'red', an arm that was retired; accepted are \['green'\]"):
        learner.retire_arm("red")
    with pytest.raises(ArmsError, match="arm is 'green', the last one"):
        learner.retire_arm("green")
    assert learner.state() == before
    assert learner.ask().arm == learner.ask(allowed=["green"]).arm == "green"
    assert learner.probabilities().tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.jit_off
def test_a_late_tell_of_a_retired_arm_counts_and_teaches_nothing_else() -> None:
    learner = started()
    plain = next(d for d in iter(learner.ask, None) if d.arm == "blue")
    among = learner.ask(allowed=["blue", "red"])
    while among.arm != "blue":
        among = learner.ask(allowed=["blue", "red"])
    kept = learner.ask(allowed=["blue", "red"])
    while kept.arm != "red":
        kept = learner.ask(allowed=["blue", "red"])
    learner.retire_arm("blue")
    history = ("page", "plays", "trust")  # holds all rounds told
    for decision in (plain, among):
        before, state = learner.probabilities(m=1), {k: np.copy(v) for k, v in learner.view().items()}
        learner.tell(decision, 1.0)
        assert np.array_equal(learner.probabilities(m=1), before)
        changed = {k for k, v in learner.view().items() if not np.array_equal(v, state[k])}
        assert changed <= {"clock", "seen", "chance", "spent", *history}
        assert learner.view().clock[0] == state["clock"][0] + 1
    before = rows(learner)
    learner.tell(kept, 1.0)  # no other arm of its set is left: nothing to compare it with
    assert np.array_equal(rows(learner), before)
    assert learner.view().counts[0, 0] == state["counts"][0, 0] + 1


@pytest.mark.jit_off
def test_retired_at_once_is_never_there() -> None:
    """A learner of four arms without its last one, and one of three: the same after every round."""
    four, three = Turncoat(4, seed=1), Turncoat(3, seed=1)
    four.retire_arm(3)
    rng = np.random.default_rng(3)
    for t in range(200):
        decision = three.ask()
        loss, allowed = loss_of(rng, decision.index), None if t % 3 else (0, 1, 2)
        three.tell(decision._replace(allowed=allowed), loss)
        four.observe(decision.index, loss, decision.propensity, allowed=allowed)
        assert worst(four.probabilities()[:3], three.probabilities()) < 1e-9
    assert np.array_equal(four.view().rates, three.view().rates)


# -- add --------------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 8])
def test_a_new_arm_begins_with_its_share_and_is_tried_soon(K: int) -> None:
    learner = started(K)
    before, kept = rows(learner), {name: np.copy(value) for name, value in learner.view().items()}
    assert learner.add_arm() == K and learner.arms == list(range(K + 1))
    after = rows(learner)
    assert np.abs(after[:, K] * (K + 1) - 1.0).max() < CLOSE
    assert worst(after[:, :K], before * (K / (K + 1))) < CLOSE
    state = learner.view()
    for name in ("p", "counts", "sums", "starts", "samples", "rewards", "fading", "plays", "trust", "seen", "at"):
        old = kept[name]
        assert np.array_equal(getattr(state, name)[tuple(slice(n) for n in old.shape)], old), name
    assert state.plays[K].sum() == state.samples[:, K].sum() == state.counts[:, K].sum() == 0.0
    assert (state.leaders[:N_DETECTORS] == K).all()
    q = learner.probabilities()
    assert q.size == K + 1 and q.sum() == pytest.approx(1.0)
    assert q[K] >= learner.master_probabilities[N_MIRRORS]
    rng, told = np.random.default_rng(K), 0
    for _ in range(100):
        decision = learner.ask()
        learner.tell(decision, loss_of(rng, decision.index))
        told += decision.index == K
    assert told > 0 and state.plays[K].sum() == told


@pytest.mark.jit_off
def test_come_and_gone_leaves_the_others_as_they_were() -> None:
    learner = started()
    before = learner.probabilities()
    for label in ("pink", 7):
        assert learner.add_arm(label) == learner.n_arms - 1
        learner.retire_arm(label)
    assert worst(learner.probabilities()[:4], before) < CLOSE
    assert learner.probabilities()[4:].tolist() == [0.0, 0.0]
    assert learner.retired == ["pink", 7]


@pytest.mark.jit_off
def test_labels_that_cannot_be_added_are_named() -> None:
    learner = started()
    learner.retire_arm("grey")
    before = learner.state()
    for label in ("red", "grey", None, 1.5, True, ["pink"], b"pink"):
        with pytest.raises(ArmsError, match=r"label is .*accepted are labels \(str or int\) that no arm has or had"):
            learner.add_arm(label)  # type: ignore[arg-type]
    assert learner.state() == before
    numbered = Turncoat(2, seed=1)
    assert (numbered.add_arm(), numbered.add_arm("four"), numbered.arms) == (2, 3, [0, 1, 2, "four"])
    with pytest.raises(ArmsError, match="label is None"):
        numbered.add_arm()


@pytest.mark.jit_off
def test_waiting_decisions_outlive_every_change() -> None:
    learner = started()
    waiting = [learner.ask(), learner.ask(allowed=["red", "green"]), learner.ask()]
    learner.add_arm("pink")
    learner.retire_arm("green")
    for decision in waiting:
        learner.tell(decision, 0.25)
    assert (learner.n_told, learner.n_outstanding) == (63, 0)
    with pytest.raises(DecisionError, match="told or forgotten already"):
        learner.tell(waiting[0], 0.25)


# -- saving -----------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_a_saved_learner_knows_who_came_and_went() -> None:
    learner = started()
    learner.add_arm("pink")
    learner.retire_arm("red")
    learner.add_arm(12)
    waiting = [learner.ask(), learner.ask(allowed=["pink", 12])]
    copied = Turncoat._from_state(json.loads(json.dumps(learner.state(), allow_nan=False)))
    assert same(copied, learner) and same(again(copied), learner)
    assert (copied.living, copied.retired) == (["green", "blue", "grey", "pink", 12], ["red"])
    for one in (learner, copied):
        for decision in waiting:
            one.tell(decision, 0.75)
        one.retire_arm("grey")
        one.add_arm("white")
    losses = np.random.default_rng(4).random((100, 7))
    assert np.array_equal(tc.play(copied, losses), tc.play(learner, losses))
    assert same(copied, learner)


# -- what it says of itself -------------------------------------------------------------------------------------------


@pytest.mark.jit_off
def test_it_explains_itself_whoever_comes_and_goes() -> None:
    for loss_range in ((0.0, 1.0), "adaptive"):
        learner = started(n_rounds=0, loss_range=loss_range)
        for n_rounds in (0, 1, 150):
            for _ in range(n_rounds):
                decision = learner.ask(allowed=["red", "blue"])
                learner.tell(decision, 0.75 if decision.arm == "red" else 0.0)
            assert json.loads(json.dumps(learner.explain().to_dict(), allow_nan=False))["rounds"] == learner.n_told
            assert str(learner)
        assert learner.explain().best == "blue"  # of the living arms; the others are unknown
        learner.retire_arm("blue")
        learner.add_arm("pink")
        said = learner.explain()
        assert (said.best, said.retired, len(said.arms)) == (None, ("blue",), 5)
        assert said.likeliest == "pink"
        assert "blue" in str(said)


@pytest.mark.jit_off
def test_the_last_restart_is_not_the_day_an_arm_came() -> None:
    learner = Turncoat(2, seed=1)
    learner.observe(1, 0.5, 0.5)
    while not learner.view().n_restarts[0]:
        learner.observe(0, float(learner.n_told > 20), 0.5)
    when = learner.n_told
    assert learner.explain().bases[N_MIRRORS].why == f"nothing: not tried since round {when}"
    learner.observe(0, 1.0, 0.5)  # now the other one is better, as far as it is known
    assert learner.explain().bases[N_MIRRORS].why == f"what it recalls from before: not tried since round {when}"
    learner.add_arm()
    assert learner.explain().restarts == (("detector", 1, when),)
