"""Laws that every learner obeys, whatever it is told: rounds of its own, late ones, and absurd ones."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import JIT_OFF, examples
from tests.naive.driver import PATTERNS, Round
from tests.oracle.pairs import MASTERS, PAIRS, SINGLES, UNLISTED, draw, feed, record
from turncoat._compile.state import HEAD
from turncoat.learners import (
    AdaptiveMasterBase,
    ClippedOMD,
    Exp3,
    Exp3IX,
    Exp3P,
    Exp3S,
    Exp3SIX,
    Learner,
    MasterBase,
    RestartedExp3,
    TsallisINF,
    Uniform,
)

pytestmark = pytest.mark.jit_off

few = examples(3, 5) if JIT_OFF else examples(12, 25)

CLOSE = 1e-12
MOVED_BY_A_LOSS_OF_0 = {  # by gains, by rates that change, by sharing
    *("uniform", "exp3 anytime", "exp3 gain", "exp3.s", "exp3.s told 4"),
    *("exp3-ix anytime", "exp3-six", "exp3-six told 4"),
    *("tsallis-inf", "tsallis-inf rv", "exp3.p", "exp3.p risk", "clipped-omd sharing"),
}
LOSS_FORM = [name for name in PAIRS if name not in MOVED_BY_A_LOSS_OF_0 | UNLISTED.keys()]
SHARED = [name for name in MASTERS if "shared" in name]

arms = st.integers(1, 12)
horizons = st.sampled_from([11, 30, 1000, 10**6])
losses = st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0)
served = st.floats(0.01, 1.0) | st.sampled_from([1.0, 1e-3, 1e-9, 1e-30, 1e-300, 5e-324])
indices = st.integers(0, 11)  # taken modulo whatever there is to choose from
tells = st.lists(st.tuples(indices, indices, losses, served, served, served), max_size=25)


def as_round(learner: Learner, told: tuple[int, int, float, float, float, float]) -> Round:
    a, h, loss, q, p_master, p_base = told
    if not isinstance(learner, MasterBase | AdaptiveMasterBase):
        return Round(a % learner.n_arms, None, None, None, q, loss)
    return Round(a % learner.n_arms, h % learner.candidates.size, p_master, p_base, q, loss)


def feed_all(learner: Learner, rounds: Iterable[Any]) -> None:
    for one in rounds:
        feed(learner, one if isinstance(one, Round) else as_round(learner, one))


def floor_of(learner: Learner) -> float:
    """The least probability an arm is promised."""
    state = learner.view()
    if isinstance(learner, MasterBase | AdaptiveMasterBase):
        return float(state.beta)
    if isinstance(learner, Exp3 | Exp3S | Exp3P):
        return float(state.gamma) / learner.n_arms
    if isinstance(learner, Exp3IX | Exp3SIX | TsallisINF | RestartedExp3):
        return float(getattr(state, "share", 0.0)) / learner.n_arms
    if isinstance(learner, Uniform):
        return 1.0 / learner.n_arms
    return float(state.beta) if isinstance(learner, ClippedOMD) else 0.0


def assert_distribution(p: Any, floor: float) -> None:
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1.0, abs=CLOSE)
    assert p.min() >= floor * (1 - CLOSE) and p.max() <= 1.0


@pytest.mark.parametrize("name", PAIRS)
@few
@given(K=arms, T=horizons, told=tells)
def test_probabilities_are_a_distribution_above_the_floor(name: str, K: int, T: int, told: list[Any]) -> None:
    learner = PAIRS[name].make(K, T)
    for one in told:
        feed_all(learner, [one])
        assert_distribution(learner.probabilities(), floor_of(learner))
        if isinstance(learner, MasterBase | AdaptiveMasterBase):
            assert_distribution(learner.master_probabilities, float(learner.view().alpha))
            for base in learner.base_probabilities:
                assert_distribution(base, floor_of(learner))
            assert np.isfinite(learner.master_rates).all() and (learner.base_rates >= 0).all()
        if isinstance(learner, AdaptiveMasterBase):
            assert (learner.rho * learner.master_probabilities >= 1 - CLOSE).all()  # or it would have risen


@pytest.mark.parametrize("name", [*SINGLES, *SHARED])
@few
@given(K=arms, told=tells)
def test_observing_is_telling(name: str, K: int, told: list[Any]) -> None:
    learner, observer = PAIRS[name].make(K, 1000), PAIRS[name].make(K, 1000)
    for one in told:
        feed(learner, as_round(learner, one))
        observer.observe(one[0] % K, loss=one[2], propensity=one[3])
    assert observer._buffer.tobytes() == learner._buffer.tobytes()


@pytest.mark.parametrize("name", PAIRS)
@few
@given(K=arms, told=tells, seed=st.integers(0, 99))
def test_what_is_served_is_what_is_shown(name: str, K: int, told: list[Any], seed: int) -> None:
    learner = PAIRS[name].make(K, 1000, seed)
    feed_all(learner, told)
    before = learner.probabilities()
    decision = learner.ask()
    assert decision.propensity == before[decision.index]
    assert (learner.probabilities() == before).all()  # an ask moves nothing but the random numbers
    if isinstance(learner, MasterBase | AdaptiveMasterBase):
        assert decision.master_probability == learner.master_probabilities[decision.base]
        assert decision.base_probability == learner.base_probabilities[decision.base, decision.index]
        mixture = learner.master_probabilities @ learner.base_probabilities
        assert before == pytest.approx(mixture, rel=CLOSE)


@pytest.mark.parametrize("name", PAIRS)
@few
@given(data=st.data(), K=st.integers(2, 12), seed=st.integers(0, 99))
def test_arms_have_no_order(name: str, data: st.DataObject, K: int, seed: int) -> None:
    order = np.array(data.draw(st.permutations(range(K))))
    learner, turned = PAIRS[name].make(K, 200, seed), PAIRS[name].make(K, 200, seed)
    for one in record(learner, PATTERNS["real_valued"](25, K, seed), delay=4):
        feed(turned, one._replace(a=int(order[one.a])))
    assert turned.probabilities()[order] == pytest.approx(learner.probabilities(), rel=1e-11, abs=1e-290)


@pytest.mark.parametrize("name", LOSS_FORM)
@few
@given(K=arms, told=tells, one=st.tuples(indices, indices, st.just(0.0), served, served, served))
def test_a_loss_of_zero_moves_nothing(name: str, K: int, told: list[Any], one: Any) -> None:
    learner = PAIRS[name].make(K, 1000)
    feed_all(learner, told)
    before = learner._buffer.copy()
    feed_all(learner, [one])
    assert learner._buffer[HEAD:].tobytes() == before[HEAD:].tobytes()
    assert learner.n_told == len(told) + 1


@pytest.mark.parametrize("name", LOSS_FORM)
@few
@given(K=arms, told=tells, one=st.tuples(indices, indices, losses, served, served, served))
def test_a_loss_never_helps_who_is_charged(name: str, K: int, told: list[Any], one: Any) -> None:
    learner = PAIRS[name].make(K, 1000)
    feed_all(learner, told)
    before = copy.deepcopy(learner)
    last = as_round(learner, one)
    feed(learner, last)
    if isinstance(learner, MasterBase | AdaptiveMasterBase):
        assert isinstance(before, MasterBase | AdaptiveMasterBase)
        change = learner.base_probabilities / before.base_probabilities
        assert (change[:, last.a] <= 1 + CLOSE).all()
        assert (np.delete(change, last.a, axis=1) >= 1 - CLOSE).all()
        if learner.feedback == "own" and last.base is not None:
            assert (np.delete(change, last.base, axis=0) == 1).all()  # only the base that was drawn learns
            change_of_base = learner.master_probabilities / before.master_probabilities
            assert change_of_base[last.base] <= 1 + CLOSE
            assert (np.delete(change_of_base, last.base) >= 1 - CLOSE).all()
    else:
        p, q = before.probabilities(), learner.probabilities()
        assert q[last.a] <= p[last.a] * (1 + CLOSE)
        assert (np.delete(q, last.a) >= np.delete(p, last.a) * (1 - CLOSE)).all()


@pytest.mark.parametrize("name", SHARED)
@few
@given(K=arms, told=tells, more=st.lists(st.tuples(indices, served, served), min_size=25, max_size=25))
def test_shared_feedback_takes_no_notice_of_the_base_drawn(name: str, K: int, told: list[Any], more: list[Any]) -> None:
    one, other = PAIRS[name].make(K, 1000), PAIRS[name].make(K, 1000)
    feed_all(one, told)
    for (a, _, loss, q, _, _), (h, p_master, p_base) in zip(told, more, strict=False):
        feed_all(other, [(a, h, loss, q, p_master, p_base)])
    assert one._buffer.tobytes() == other._buffer.tobytes()


@few
@given(K=st.integers(2, 12), T=horizons, seed=st.integers(0, 99))
def test_exp3_s_that_shares_nothing_is_exp3_on_gains(K: int, T: int, seed: int) -> None:
    exp3, exp3_s = Exp3(K, T, form="gain", seed=seed), Exp3S(K, T)
    exp3_s._buffer[HEAD + 1 : HEAD + 3] = exp3.view().gamma, 0.0
    assert (exp3_s.view().gamma, exp3_s.view().share) == (exp3.view().gamma, 0.0)
    for one in record(exp3, PATTERNS["real_valued"](60, K, seed), delay=3):
        feed(exp3_s, one)
        assert exp3_s.probabilities() == pytest.approx(exp3.probabilities(), rel=CLOSE)


@few
@given(K=st.integers(2, 12), T=horizons, seed=st.integers(0, 99))
def test_exp3_p_without_bonus_is_exp3_on_gains(K: int, T: int, seed: int) -> None:
    exp3, exp3_p = Exp3(K, T, form="gain", seed=seed), Exp3P(K, T)
    gamma = exp3.view().gamma
    exp3_p._buffer[HEAD + 1 : HEAD + 4] = gamma / K, gamma, 0.0
    assert (exp3_p.view().eta, exp3_p.view().gamma, exp3_p.view().beta) == (gamma / K, gamma, 0.0)
    for one in record(exp3, PATTERNS["real_valued"](60, K, seed), delay=3):
        feed(exp3_p, one)
        assert exp3_p.probabilities() == pytest.approx(exp3.probabilities(), rel=CLOSE)


@few
@given(K=st.integers(2, 12), T=horizons, told=tells)
def test_exp3_six_without_switches_is_exp3_ix(K: int, T: int, told: list[Any]) -> None:
    ix, six = Exp3IX(K, T), Exp3SIX(K, T, n_switches=0)
    for one in told:
        feed_all(ix, [one])
        feed_all(six, [one])
        assert six.probabilities() == pytest.approx(ix.probabilities(), rel=CLOSE, abs=1e-290)


@few
@given(K=st.integers(1, 12), T=horizons, told=tells)
def test_no_estimate_of_exp3_ix_is_above_1_over_gamma(K: int, T: int, told: list[Any]) -> None:
    # eta times 1/gamma is 2, whatever is told: an arm never falls by more than exp(-2) against another.
    for learner in (Exp3IX(K, T), Exp3SIX(K, T, n_switches=0)):
        for one in told:
            before = learner.probabilities()
            feed_all(learner, [one])
            change = learner.probabilities() / before
            assert change.max() <= change.min() * math.exp(2.0) * (1 + CLOSE)


@pytest.mark.parametrize("name", PAIRS)
@few
@given(T=horizons, told=tells, seed=st.integers(0, 99))
def test_one_arm_is_played_for_certain(name: str, T: int, told: list[Any], seed: int) -> None:
    learner = PAIRS[name].make(1, T, seed)
    for one in [*told, None]:
        decision = learner.ask()
        assert (decision.index, decision.propensity) == (0, 1.0)
        assert learner.probabilities().tolist() == [1.0]
        if one is not None:
            feed_all(learner, [one])
    if isinstance(learner, MasterBase | AdaptiveMasterBase):  # nothing to learn, so nothing is learned
        H = learner.candidates.size
        assert learner.master_probabilities.tolist() == [1 / H] * H


def test_decisions_drawn_by_hand_are_those_of_ask() -> None:
    # `draw`, which these tests use for speed, is the kernel behind `ask`.
    for pair in PAIRS.values():
        by_hand, asked = draw(pair.make(5, 100, seed=4)), pair.make(5, 100, seed=4).ask()
        assert by_hand[:5] == (
            asked.index,
            asked.base,
            asked.master_probability,
            asked.base_probability,
            asked.propensity,
        )
