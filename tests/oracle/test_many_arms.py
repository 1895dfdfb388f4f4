"""More than 64 arms, whose weights may be negative beside the offset: draws, restricted rounds, arms that change."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from tests import cases
from tests.contract.makers import contents
from tests.naive.driver import Round
from tests.naive.sleeping import Sleeping
from tests.naive.turncoat_band import TurncoatBand
from tests.oracle.pairs import feed
from tests.oracle.test_sleeping import baseline, indices, loss_of, rows, some, tuning, worst
from tests.oracle.test_turncoat_band import RECIPE, error, mirrors, shifting_rounds, tell
from turncoat import restore
from turncoat._compile.dispatch import view_of
from turncoat._compile.jit import jit
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.constants import N_CLIPPED, N_MIRRORS, N_SIGNED, PRIOR
from turncoat.learners.turncoat.mirror_bases import FOLDED, MOST_OFFSET, draw_by_nodes
from turncoat.learners.turncoat.state import SLOTS, TurncoatState
from turncoat.types import Vector

CLOSE = 1e-10


def lived(K: int, n: int = 400) -> Turncoat:
    """A learner after rounds decided elsewhere. Some of its weights are negative."""
    learner = Turncoat(K, seed=K)
    for one in shifting_rounds(K, n, seed=K):
        feed(learner, one)
    assert learner.view().weights.min() < 0.0
    return learner


@jit
def drawn(buffer: Vector, i: int, height: float) -> int:
    """The arm of base i at a height of all weights."""
    return draw_by_nodes(view_of(TurncoatState, buffer), i, height)


@pytest.mark.parametrize("n_retired", [0, 30])
def test_an_arm_is_drawn_in_proportion_to_its_weight(n_retired: int) -> None:
    """Exactly: each height belongs to the arm at which the cumulative sum of weights passes it."""
    learner = lived(130)
    for gone in range(1, 1 + 3 * n_retired, 3):
        learner.retire_arm(gone)
    state = learner.view()
    living = np.flatnonzero(state.place >= 0.0)
    assert living.size == 130 - n_retired > FOLDED
    for i in range(N_MIRRORS):
        weights = (state.weights[state.P + living, i] + state.offset[i]).astype(np.longdouble)
        above = np.cumsum(weights)
        within = np.array([0.01, 0.5, 0.99])
        for height, arm in zip((above - weights)[:, None] + weights[:, None] * within, living, strict=True):
            assert [drawn(learner._buffer, i, float(h)) for h in height] == [arm] * 3
        assert drawn(learner._buffer, i, 0.0) == living[0]
        assert drawn(learner._buffer, i, 2.0 * float(above[-1])) == living[-1]  # what rounding could ask for


@pytest.mark.parametrize("K", [70, 1100])
def test_rounds_among_some_arms_are_the_oracles(K: int) -> None:
    rng = np.random.default_rng(K)
    learner, oracle = Turncoat(K, seed=K), Sleeping(K, PRIOR, N_CLIPPED, N_SIGNED)
    for t in range(120):
        A = sorted(some(rng, 20 if t % 3 else K)) if t % 4 else list(range(K))
        rule = indices(learner)
        decision = learner.ask(allowed=A, m=1) if t % 4 else learner.ask(m=1)
        q = oracle.served(rule.tolist(), A)
        assert decision.propensity == pytest.approx(float(q[decision.index]), rel=CLOSE)
        loss, b = loss_of(rng, decision.index), baseline(learner)
        learner.tell(decision, loss)
        assert decision.propensity is not None
        oracle.tell(rule.tolist(), A, decision.index, decision.propensity, loss, tuning(learner, b))
        assert worst(learner.master_probabilities, oracle.p) < CLOSE
        assert worst(rows(learner), oracle.rows) < CLOSE
    assert learner.view().weights.min() < 0.0


@pytest.mark.parametrize("K", [FOLDED + 6, SLOTS + 2])
def test_arms_come_and_go_over_the_borders(K: int) -> None:
    """Each base keeps the proportions of the others, a new arm gets its share, and every state can be saved."""
    learner, n = lived(K), 12
    for arm in range(n):
        before = rows(learner)
        learner.retire_arm(arm)
        kept = before[:, arm + 1 :] / before[:, arm + 1 :].sum(axis=1)[:, None]
        assert worst(rows(learner)[:, arm + 1 :], kept) < CLOSE
        assert contents(restore(json.loads(json.dumps(learner.state())))) == contents(learner)
    assert FOLDED + n < K or learner.view().weights.min() >= 0.0
    for _ in range(n):
        before, living = rows(learner), K - n + (learner.n_arms - K)
        arm = learner.add_arm()
        assert worst(rows(learner)[:, n:arm], before[:, n:] * (living / (living + 1))) < CLOSE
        assert worst(rows(learner)[:, arm], 1.0 / (living + 1)) < CLOSE
        for one in shifting_rounds(learner.n_arms - n, 20, seed=arm):
            feed(learner, one._replace(a=one.a + n))
        assert contents(restore(json.loads(json.dumps(learner.state())))) == contents(learner)
    assert abs(learner.probabilities().sum() - 1.0) < 1e-12


def rising_and_falling(K: int, n: int) -> Iterator[Round]:
    """One arm after the other gets nearly all weight, and then all arms lose theirs, one in each round."""
    for t in range(n):
        cycle, place = divmod(t, K + 40)
        arm, q = (cycle, 0.02) if place < 40 else (place - 40, 1e-6)
        yield Round(arm, None, None, None, q, float(place >= 40))


@pytest.mark.parametrize("n", cases.some([600, 1200], 1))
def test_falls_of_all_weights_together_cost_few_digits(n: int) -> None:
    K, folds = 80, 0
    learner, oracle = Turncoat(K, seed=1), TurncoatBand(K, RECIPE)
    before = learner.view().offset[-1]
    for t, one in enumerate(rising_and_falling(K, n), 1):
        feed(learner, one)
        tell(learner, oracle, one)
        state = learner.view()
        folds += bool(0.0 < state.offset[-1] < 0.5 * before and state.weights.min() >= 0.0)
        before = state.offset[-1]
        if t % 20 == 0:
            limit = 2.0**-52 * MOST_OFFSET * state.guess[0]
            assert error(mirrors(state), oracle.mirrors) <= limit
    assert folds > 0
