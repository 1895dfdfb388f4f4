"""What can be a base of a corral or a band, what cannot and why, and that bases survive being saved."""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import MIXED, Maker, loss_at, play_by_hand
from turncoat.errors import HorizonError, OptionError, StateError
from turncoat.learners import State, jit_rule, register_learner
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.full_information.hedge import HedgeState
from turncoat.mirror.tree import tree_size

MASTERS: list[Any] = [tc.Corral, tc.StochasticCorral, tc.Band]
every_master = pytest.mark.parametrize("master", MASTERS)


def anytime(arms: Any, horizon: Any, *, seed: Any) -> tc.Learner:
    """A maker of the user's: it has its own mind about the horizon."""
    return tc.Exp3(arms, seed=seed)


# Given in every way there is; for each master a chain of kinds that is compiled for other tests too.
BASES: dict[Any, list[Any]] = {
    tc.Corral: [anytime, *MIXED[1:]],
    tc.StochasticCorral: ["ucb1", anytime, tc.UCB1],
    tc.Band: [anytime, partial(tc.Exp3, form="gain"), "ucb1"],
}


def written(learner: str, horizon: int | None = 100, **options: Any) -> dict[str, Any]:
    """How a base is shown and saved."""
    return {"learner": learner, "horizon": horizon, "options": options}


FOREVER, UCB1 = written("exp3", None, form="loss"), written("ucb1", exploration=2.0)
CLIPPED = written("clipped-omd", n_switches=0, projection="exact")
WRITTEN: dict[Any, list[dict[str, Any]]] = {
    tc.Corral: [FOREVER, CLIPPED, UCB1, written("exp3", form="loss")],
    tc.StochasticCorral: [UCB1, FOREVER, UCB1],
    tc.Band: [FOREVER, written("exp3", form="gain"), UCB1],
}


def fewer_arms(arms: Any, horizon: Any, *, seed: Any) -> tc.Learner:
    return tc.Exp3(len(arms) - 1, horizon, seed=seed)


def warm(arms: Any, horizon: Any, *, seed: Any) -> tc.Learner:
    learner = tc.Exp3(arms, horizon, seed=seed)
    learner.observe(0, 0.5, 0.3)
    return learner


class Seer(FullInformationLearner):
    """A learner of a user's that sees all losses, and states no facts."""

    name = "seer"
    state_type = HedgeState
    signed = ("scores",)

    def __init__(self, arms: Any, horizon: Any = None, *, seed: Any = None, loss_range: Any = (0.0, 1.0)) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        state = self.start(K=self.n_arms, eta=0.1, rest=tree_size(self.n_arms))
        state.tree[: self.n_arms] = 1.0


class Unsteady(tc.Exp3):
    def __init__(self, arms: Any, horizon: Any = None, *, seed: Any = None) -> None:
        super().__init__(arms, horizon, seed=seed)
        self.stability = "quarter"  # type: ignore[assignment]


REFUSED: list[tuple[Any, str]] = [
    ([tc.ThompsonSampling], "ThompsonSampling, which cannot be a base: it cannot say how probable its choices are"),
    (["thompson-sampling"], "ThompsonSampling, which cannot be a base: it cannot say how probable"),
    ([tc.MasterBase], "MasterBase, which cannot be a base: it has bases of its own"),
    ([partial(tc.AdaptiveMasterBase, feedback="shared")], "AdaptiveMasterBase, which cannot be a base: it has bases"),
    ([tc.Corral], "Corral, which cannot be a base: it has bases of its own"),
    (["corral"], "Corral, which cannot be a base"),
    ([tc.Hedge], "Hedge, which cannot be a base: it learns from the losses of all arms"),
    ([Seer], "Seer, which cannot be a base: it learns from the losses of all arms"),
    (["dlinucb"], "DLinUCB, which cannot be a base: it chooses among features"),
    ([tc.SwitchingLinear], "SwitchingLinear, which cannot be a base"),
    ([Unsteady], "with the stability 'quarter'; accepted are 'none', 'half', 'kept'"),
    ([warm], "1 told, 0 outstanding>; accepted are learners that have not begun"),
    (["exp4"], "there is no learner 'exp4'; near it are 'exp3'"),
    ([""], "bases has ''; accepted is a list of bases"),
    ([3], "bases has 3; accepted is a list of bases"),
    ([lambda arms, horizon, seed: "exp3"], "which made 'exp3'; accepted are makers of a tc.Learner"),
    ([fewer_arms], "accepted are learners over the same 3 arms"),
    ([], r"bases is \[\]; accepted is a list of bases"),
    ("exp3", "bases is 'exp3'; accepted is a list of bases"),
    (tc.Exp3, "bases is .*; accepted is a list of bases"),
    ({"learner": "exp3"}, "bases is .*; accepted is a list of bases"),
]


@pytest.mark.jit_off
@every_master
@pytest.mark.parametrize(("bases", "said"), REFUSED)
def test_what_cannot_be_a_base_is_refused_with_the_reason(master: Maker, bases: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        master(3, 100, bases=bases)


@pytest.mark.jit_off
@every_master
def test_a_base_s_own_words_are_checked_by_the_base(master: Maker) -> None:
    with pytest.raises(OptionError, match="n_switches is -1"):
        master(3, 100, bases=[partial(tc.Exp3S, n_switches=-1)])
    with pytest.raises(HorizonError, match="Exp3S has .* wanted as a base" if master is tc.Band else master.__name__):
        master(3, bases=[tc.Exp3, tc.Exp3S])


@pytest.mark.jit_off
@every_master
def test_bases_are_shown_and_saved_in_plain_values_and_in_their_order(master: Maker) -> None:
    learner: Any = master(["a", "b"], 100, bases=BASES[master], seed=1)
    assert learner.bases == WRITTEN[master]
    assert learner.state()["options"]["bases"] == json.loads(json.dumps(learner.bases))
    twin: Any = master(["a", "b"], 100, bases=learner.bases, seed=1)
    assert twin.bases == learner.bases
    play_by_hand(learner, 30)
    again: Any = pickle.loads(pickle.dumps(learner))
    assert again.state() == learner.state() == tc.restore(learner.state()).state()
    assert np.array_equal(again.base_probabilities, learner.base_probabilities)
    assert play_by_hand(again, 20) == play_by_hand(learner, 20)


def defined(favourite: int) -> type[tc.Learner]:
    """A learner that always plays one arm: each time it is defined anew, under the same names, as in a notebook."""

    class StubbornState(State):
        K: int

    @jit_rule
    def stubborn(state: StubbornState) -> tuple[int, float]:
        return favourite, 1.0

    @jit_rule
    def tell(state: StubbornState, choice: tuple[int, float], loss: float) -> None:
        state.clock[0] += 1

    @jit_rule
    def probability(state: StubbornState, arm: int) -> float:
        return 1.0 if arm == favourite else 0.0

    register_learner(StubbornState, ask=stubborn, tell=tell, probability=probability)

    class Stubborn(tc.Learner):
        name = "stubborn"
        state_type = StubbornState

        def __init__(self, arms: Any, horizon: Any = None, *, seed: Any = None, loss_range: Any = (0.0, 1.0)) -> None:
            super().__init__(arms, horizon, seed, loss_range, needed_by=None)
            self.start(K=self.n_arms)

    return Stubborn


@pytest.mark.jit_off
def test_a_base_that_is_defined_anew_plays_its_new_rule() -> None:
    """As in a notebook whose cell is run again; also when it is found by its name, as in a copy of its master."""
    for favourite in (2, 0, 1):
        kind = defined(favourite)
        for base in (kind, "stubborn"):
            corral = tc.Corral(3, 100, bases=[base], seed=1)
            assert corral.state_type.kinds == (kind.state_type,)  # what compiled code finds the rule by
            assert corral.ask().index == favourite


@pytest.mark.jit_off
@every_master
def test_a_state_whose_bases_are_others_is_refused(master: Maker) -> None:
    learner: Any = master(2, 100, bases=["exp3.s", "exp3"], seed=1)
    state = learner.state()
    for other in ("exp3-ix", "no-such-learner", "corral", 3, None):
        bases = [{**state["options"]["bases"][0], "learner": other}, state["options"]["bases"][1]]
        with pytest.raises(StateError):
            tc.restore({**state, "options": {**state["options"], "bases": bases}})


@pytest.mark.jit_off
@pytest.mark.parametrize("master", [tc.Corral, tc.StochasticCorral])
def test_rates_and_thresholds_that_cannot_be_are_refused(master: Maker) -> None:
    """A rate of 1.7e308 was restored once, and made the probabilities NaN."""
    learner: Any = master(2, 100, bases=BASES[master], seed=1)
    for field, value, said in (
        ("rho", 2 * len(learner.bases) - 0.1, "rho holds"),
        ("rho", 1e9, "rho holds"),
        ("eta", 1.7e308, "eta grew"),
        ("eta", 1.1 * learner.rate, "eta grew"),
    ):
        damaged: Any = master(2, 100, bases=BASES[master], seed=1)
        getattr(damaged.view(), field)[0] = value
        with pytest.raises(StateError, match=said):
            tc.restore(damaged.state())


@pytest.mark.jit_off
@pytest.mark.parametrize("master", [tc.Corral, tc.Band])
def test_a_master_says_which_base_decided_and_serves_the_marginal(master: Maker) -> None:
    learner: Any = master(4, 1000, bases=BASES[master], seed=5)
    for t in range(40):
        p, served = learner.master_probabilities, learner.base_probabilities
        decision = learner.ask()
        assert decision.propensity == pytest.approx(float(p @ served[:, decision.index]), rel=1e-14)
        assert decision.master_probability == p[decision.base]
        assert decision.base_probability == pytest.approx(served[decision.base, decision.index], rel=1e-15)
        learner.tell(decision, loss=float((t + decision.index) % 2))
    assert len(set(learner.base_probabilities[:, 0])) >= 3  # they have come apart, so the marginal is no base's


@pytest.mark.jit_off
def test_a_band_whose_parts_do_not_fit_is_refused() -> None:
    """Compiled code draws from what was saved: it must be what the bases would play."""
    for field, place, value, said in (
        ("p", 0, 0.9, "p does not sum to 1"),
        ("p", 0, 0.0, "p holds a value below its floor"),
        ("seen", 0, 40.0, "seen holds more than was told"),
        ("seen", 1, 1.5, "seen holds more than was told"),
        ("chances", (1, 0), 0.9, "chances are not those of its bases"),
        ("mixture", 0, 0.9, "its probabilities do not sum to 1"),
        ("mixture", slice(0, 2), [0.1, 0.9], "mixture is not that of its bases"),
    ):
        damaged = tc.Band(2, 100, bases=BASES[tc.Band], seed=1)
        play_by_hand(damaged, 30)
        getattr(damaged.view(), field)[place] = value
        with pytest.raises(StateError, match=said):
            tc.restore(damaged.state())


@pytest.mark.jit_off
def test_a_band_observes_and_needs_only_the_served_propensity() -> None:
    told: Any = tc.Band(3, 100, bases=["exp3", "ucb1"], seed=1)
    observed: Any = tc.Band(3, 100, bases=["exp3", "ucb1"], seed=1)
    for t, one in enumerate(play_by_hand(told, 40)):
        observed.observe(one.index, loss_at(t, one.index), one.propensity)
    assert np.array_equal(told.probabilities(), observed.probabilities())
    assert np.array_equal(told.master_probabilities, observed.master_probabilities)
    assert np.array_equal(told.base_probabilities, observed.base_probabilities)


@pytest.mark.jit_off
def test_a_prior_is_trusted_at_first() -> None:
    learner = tc.Band(3, 1000, bases=["exp3", "ucb1"], prior=[3, 1], seed=1)
    assert learner.master_probabilities == pytest.approx([0.75, 0.25])
    assert (learner.prior, tc.Band(3, 1000).prior) == ([3.0, 1.0], None)
    least = tc.Band(3, 1000, bases=["exp3", "ucb1"], prior=(1e9, 1e-9))
    assert least.master_probabilities == pytest.approx([1.0 - 1.0 / 2000.0, 1.0 / 2000.0])  # never below its floor
    assert tc.Band(3, 1000, bases=["exp3", "ucb1"], prior=np.array([3.0, 1.0])).prior == [3.0, 1.0]
    state = learner.state()
    with pytest.raises(StateError, match="does not fit"):
        tc.restore({**state, "options": {**state["options"], "prior": [1.0, 1.0]}})
