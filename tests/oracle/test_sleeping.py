"""Rounds in which only some arms are there: the kernels against their oracle, and the laws they were made for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.naive.sleeping import Sleeping, Tuning
from turncoat._compile.dispatch import view_of
from turncoat._compile.jit import jit
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.constants import FEW, N_CLIPPED, N_SIGNED, PRIOR, SLOW
from turncoat.learners.turncoat.planning import no_plan
from turncoat.learners.turncoat.restricted_arms import step_master_among
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.types import Ints, Matrix, Vector

CLOSE = 1e-12


def rows(learner: Turncoat) -> Matrix:
    """P_h of every mirror-descent base, (M, K)."""
    state = learner.view()
    weights = state.weights[state.P : state.P + state.K] + state.offset * (state.place >= 0.0)[:, None]
    normalised: Matrix = (weights / (state.weights[1] + state.n_living[0] * state.offset)).T
    return normalised


def indices(learner: Turncoat) -> Matrix:
    state = learner.view()
    copied: Matrix = state.max_trees[state.P : state.P + state.K].T.copy()
    return copied


def baseline(learner: Turncoat) -> float:
    seen = learner.view().seen
    slow, fast = float(seen[0]) / (1.0 + learner.n_told), float(seen[1])
    return fast - min(max(fast - slow, -0.2), 0.2)


def tuning(learner: Turncoat, b: float) -> Tuning:
    """Of the round told last: rates move at the beginning of a tell."""
    state = learner.view()
    return Tuning(state.eta[0], list(state.rates), list(state.floors), state.guess[0], b, FEW)


def some(rng: np.random.Generator, K: int) -> list[int]:
    """A set of arms, in no order; now and then all of them."""
    return [int(arm) for arm in rng.permutation(K)[: rng.integers(1, K + 1)]]


def loss_of(rng: np.random.Generator, arm: int) -> float:
    return float(rng.choice([0.0, 1.0, rng.random() * min(0.3 + 0.1 * arm, 1.0)]))


def worst(found: Any, truth: Any) -> float:
    return float(np.max(np.abs(np.asarray(found) / np.asarray(truth, dtype=np.longdouble) - 1.0)))


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 2, 5, 9, 2 * FEW])
def test_rounds_among_some_arms_are_the_oracles(K: int) -> None:
    rng = np.random.default_rng(K)
    learner, oracle = Turncoat(K, seed=K), Sleeping(K, PRIOR, N_CLIPPED, N_SIGNED)
    for t in range(150):
        A = sorted(some(rng, K)) if t % 4 else list(range(K))
        rule = indices(learner)
        decision = learner.ask(allowed=A) if t % 4 else learner.ask()
        q = oracle.served(rule.tolist(), A)
        assert decision.propensity == pytest.approx(float(q[decision.index]), rel=CLOSE)
        shown = learner.probabilities(allowed=A, m=1)
        assert worst(shown[A], q[A]) < CLOSE and shown.sum() == pytest.approx(1.0)
        loss, b = loss_of(rng, decision.index), baseline(learner)
        learner.tell(decision, loss)
        assert decision.propensity is not None
        oracle.tell(rule.tolist(), A, decision.index, decision.propensity, loss, tuning(learner, b))
        assert worst(learner.master_probabilities, oracle.p) < CLOSE
        assert worst(rows(learner), oracle.rows) < CLOSE
    assert K == 1 or rows(learner).min() < 0.5 / K  # they have come apart


@pytest.mark.jit_off
@pytest.mark.parametrize("K", [1, 3, 6])
def test_all_arms_allowed_is_the_plain_rule(K: int) -> None:
    """Told the same rounds: the same probabilities and trust, to rounding, in either manner."""
    rng = np.random.default_rng(K)
    plain, among = Turncoat(K, seed=1), Turncoat(K, seed=1)
    for _ in range(300):
        decision = plain.ask()
        loss = loss_of(rng, decision.index)
        assert worst(among.probabilities(allowed=range(K)), plain.probabilities(m=1)) < 1e-9
        plain.tell(decision, loss)
        among.observe(decision.index, loss, decision.propensity, allowed=range(K))
    assert worst(among.probabilities(), plain.probabilities()) < 1e-9
    assert worst(among.master_probabilities, plain.master_probabilities) < 1e-9
    same = ("counts", "sums", "samples", "rewards", "max_trees", "leaders", "plays", "vote", "seen")
    for field in same:
        np.testing.assert_allclose(getattr(among.view(), field), getattr(plain.view(), field), rtol=1e-9)


@pytest.mark.jit_off
def test_an_arm_gains_nothing_by_being_away() -> None:
    """Every base keeps the probability of arms that are not there, whatever is told the others."""
    rng = np.random.default_rng(5)
    learner = Turncoat(5, seed=5)
    for _ in range(200):
        decision = learner.ask()
        learner.tell(decision, loss_of(rng, decision.index))
    plain = Turncoat._from_state(learner.state())
    before = rows(learner)
    for _ in range(100):
        decision = learner.ask(allowed=[1, 2, 4])
        learner.tell(decision, 1.0)
        plain.observe(decision.index, 1.0, decision.propensity)
    assert worst(rows(learner)[:, [0, 3]], before[:, [0, 3]]) < 1e-11
    inside = rows(learner)[:, [1, 2, 4]]
    assert worst(inside.sum(axis=1), before[:, [1, 2, 4]].sum(axis=1)) < 1e-11
    assert np.abs(inside / before[:, [1, 2, 4]] - 1.0).max(axis=1).min() > 0.01  # those that were there did move
    there = rows(plain)[:, [1, 2, 4]].sum(axis=1)
    less = np.where(np.arange(len(there)) == SLOW, 0.95, 0.9)
    assert (there < less * before[:, [1, 2, 4]].sum(axis=1)).all()  # the plain rule: absent arms gain


@jit
def charge(buffer: Vector, among: Ints, arm: int, q: float, loss: float, b: float, out: Vector) -> None:
    """eta d_h of every base."""
    state = view_of(TurncoatState, buffer)
    step_master_among(state, no_plan(state), among, arm, q, loss, b)
    out[:] = state.x


@pytest.mark.jit_off
def test_what_bases_are_charged_is_unbiased_inside_the_set() -> None:
    """Summed over the arms that are there: sum_a q(a|A) d_h(a) = sum_k P_h(k|A) l(k), for every base and set.

    The slow base is charged its mix loss, whose mean is less by at most xi/2 times the sum of P(k|A) l(k)²/q(k|A).
    """
    rng = np.random.default_rng(8)
    learner = Turncoat(4, seed=8)
    for _ in range(60):
        decision = learner.ask()
        learner.tell(decision, loss_of(rng, decision.index))
    losses, b, eta = rng.random(4), 0.4, float(learner.view().eta[0])
    oracle = Sleeping(4, PRIOR, N_CLIPPED, N_SIGNED)
    oracle.rows[:] = rows(learner)
    sets = [A for size in (2, 3, 4) for A in itertools.combinations(range(4), size)]
    for A in sets:
        q = learner.probabilities(allowed=A)
        mean, x = np.zeros(len(PRIOR)), np.zeros(len(PRIOR))
        for a in A:
            charge(learner._buffer.copy(), np.array(A), a, q[a], losses[a], b, x)
            mean += q[a] * x / eta
        inside = oracle.inside(indices(learner).tolist(), A)
        owed = (inside @ losses).astype(float)
        np.testing.assert_allclose(np.delete(mean, SLOW), np.delete(owed, SLOW), atol=1e-12)
        there = list(A)
        most = learner.view().rates[SLOW] / 2 * (inside[SLOW, there] * losses[there] ** 2 / q[there]).sum()
        assert 0.0 < owed[SLOW] - mean[SLOW] <= most
    assert len(sets) == 11


@pytest.mark.jit_off
def test_an_ask_among_some_arms_moves_the_random_numbers_alone() -> None:
    rng = np.random.default_rng(2)
    learner = Turncoat(6, seed=2)
    for _ in range(40):
        decision = learner.ask()
        learner.tell(decision, loss_of(rng, decision.index))
    room = ("rng", "chance", "covered", "x", "rest")
    before = {name: np.copy(value) for name, value in learner.view().items() if name not in room}
    learner.ask(allowed=[1, 4])
    learner.probabilities(allowed=[3])
    for name, value in before.items():
        assert np.array_equal(value, getattr(learner.view(), name)), name


@pytest.mark.jit_off
def test_sets_inside_sets_press_no_weight_down_to_nothing() -> None:
    """After 1e12 rounds floors are small, and each set presses the arms of the next one by another such factor."""
    K = 32
    learner = Turncoat(K, seed=1)
    learner.view().guess[0] = 2.0**40
    for size in range(K, 1, -1):
        for arm in range(size - 1):
            learner.observe(arm, 1.0, 1e-9, allowed=range(size))
    assert 1e-101 < rows(learner)[:, 0].min() < 1e-99
    assert np.isfinite(rows(learner)).all() and learner.probabilities(allowed=[0, 1]).sum() == pytest.approx(1.0)
