"""A learner of a user's own, of the kind that cannot say its probabilities. (One that can: tests/examples.)"""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import contents, loss_at, play_by_hand
from turncoat._compile.progress import TEXT
from turncoat.errors import DecisionError, OptionError, PropensityError, StateError
from turncoat.learners import State, array, jit_rule, register_learner
from turncoat.random import uniform
from turncoat.types import Ints, Seed, Vector


class PerturbedState(State):
    """Numbers of either sign, and whole ones."""

    K: int
    leads: Vector = array("K")
    counts: Ints = array("K")


@jit_rule
def ask(state: PerturbedState) -> tuple[int, None]:
    """The arm that leads after a random push for each."""
    best, arm = -math.inf, 0
    for a in range(state.leads.size):
        lead = state.leads[a] + uniform(state.rng)
        if lead > best:
            best, arm = lead, a
    return arm, None


@jit_rule
def tell(state: PerturbedState, choice: tuple[int, Any], loss: float) -> None:
    state.clock[0] += 1
    state.leads[choice[0]] -= 0.1 * loss
    state.counts[choice[0]] += 1


register_learner(PerturbedState, ask=ask, tell=tell)


class Perturbed(tc.Learner):
    name = "perturbed"
    state_type = PerturbedState
    signed = ("leads",)
    uses_horizon = False
    uses_propensity = False

    def __init__(self, arms: Any, horizon: Any = None, *, seed: Seed = None, loss_range: Any = (0.0, 1.0)) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.start(K=self.n_arms)


@pytest.mark.jit_off
def test_without_a_closed_form_there_is_no_propensity() -> None:
    learner = Perturbed(["red", "green", "blue"], 10, seed=1)
    for decision in play_by_hand(learner, 50):  # past a horizon that it does not use: no warning
        assert decision.propensity is None
        assert tc.Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision
    assert learner.view().counts.sum() == learner.n_told == 50 and learner.view().counts.dtype == np.int64
    assert learner.view().leads.min() < 0
    with pytest.raises(PropensityError, match="Perturbed has no probabilities to show: its rule has no closed form"):
        learner.probabilities()


@pytest.mark.jit_off
def test_a_propensity_it_never_said_is_refused() -> None:
    learner = Perturbed(3, seed=1)
    decision = learner.ask()
    before = learner.state()
    for propensity in (0.5, 1.0, 0.0, math.nan, "0.5"):
        with pytest.raises(DecisionError, match="altered"):
            learner.tell(decision._replace(propensity=propensity), loss=0.5)  # type: ignore[arg-type]
    for index in (-1, 3, 2**70, None):
        with pytest.raises(DecisionError, match="altered"):
            learner.tell(decision._replace(index=index), loss=0.5)  # type: ignore[arg-type]
    assert learner.state() == before
    learner.tell(decision, loss=0.5)


@pytest.mark.jit_off
def test_it_observes_with_and_without_a_propensity() -> None:
    teller, observer = Perturbed(3, seed=2), Perturbed(3, seed=2)
    for t in range(20):
        decision = teller.ask()
        observer.forget(observer.ask())
        teller.tell(decision, loss=loss_at(t, decision.index))
        observer.observe(decision.index, loss_at(t, decision.index), 0.5 if t % 2 else None)
    assert contents(teller) == contents(observer)
    with pytest.raises(OptionError, match="propensity is 0; accepted are numbers above 0 and at most 1"):
        observer.observe(0, 0.5, 0)
    with pytest.raises(OptionError, match="propensity is None"):
        tc.Exp3(3, seed=2).observe(0, 0.5)


@pytest.mark.jit_off
def test_it_plays_as_by_hand_and_a_copy_goes_on_identically() -> None:
    losses = np.array([[loss_at(t, arm) for arm in range(4)] for t in range(60)])
    played, by_hand = Perturbed(4, seed=3), Perturbed(4, seed=3)
    arms = tc.play(played, losses)
    assert [decision.index for decision in play_by_hand(by_hand, 60)] == arms.tolist()
    assert played.view().leads.tolist() == by_hand.view().leads.tolist()
    again = copy.deepcopy(by_hand)
    assert again.state() == by_hand.state()
    assert play_by_hand(again, 30) == play_by_hand(by_hand, 30)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("leads", math.nan, "leads holds a value that is not finite"),
        ("leads", -math.inf, "leads holds a value that is not finite"),
        ("counts", -1, "counts holds a negative value"),
    ],
)
def test_a_damaged_copy_is_refused(field: str, value: float, said: str) -> None:
    learner = Perturbed(3, seed=4)
    getattr(learner.view(), field)[1] = value
    with pytest.raises(StateError, match=said):
        copy.copy(learner)


@pytest.mark.jit_off
def test_a_state_must_be_registered_before_its_class() -> None:
    with pytest.raises(OptionError, match=r"state_type is <class 'tuple'>; accepted is a State given to register"):
        type("Rootless", (tc.Learner,), {"state_type": tuple})


OWN = """
import turncoat as tc
from turncoat.learners import State, array, jit_rule, register_learner

class ConstantState(State):
    K: int
    counts: object = array(1)

@jit_rule
def ask(state):
    return 0, 0.25

@jit_rule
def tell(state, choice, loss):
    state.clock[0] += 1
    state.counts[0] += 0.25

@jit_rule
def probability(state, arm):
    return 0.25

register_learner(ConstantState, ask=ask, tell=tell, probability=probability)

class Constant(tc.Learner):
    name, state_type = "constant", ConstantState

    def __init__(self, arms):
        super().__init__(arms, None, 0, (0.0, 1.0), needed_by=None)
        self.start(K=self.n_arms)
"""
SHOW = """
learner = Constant(1)
decision = learner.ask()
learner.tell(decision, loss=0.5)
print(decision.propensity, learner.view().counts[0], learner.probabilities()[0])
"""


def test_an_edited_rule_is_compiled_anew(tmp_path: Path) -> None:
    """The kernels on the buffer are closures in our file over a class in the user's: numba would keep them on disk."""
    module = tmp_path / "own_learners.py"
    for number in ("0.25", "0.75"):
        module.write_text(OWN.replace("0.25", number))
        done = subprocess.run(
            [sys.executable, "-B", "-c", f"from own_learners import Constant\n{SHOW}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert (done.returncode, done.stderr.replace(f"{TEXT}\n", ""), done.stdout.split()) == (0, "", [number] * 3)
