"""Planned pulls beside their oracle: shares, what is served, what a tell charges, after random histories.

The oracle is given what a base knows, read from the learner's state, and works out the shares by itself. What is played
of these is checked against the same sum over bases, written out here. Histories come from games in which arms are added
and retired, decisions are late, and some are among a few arms only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.naive.planning import Known, largest, spread
from tests.naive.sleeping import Sleeping
from tests.naive.solve import REAL, Reals, reals
from tests.oracle.test_sleeping import baseline, indices, loss_of, rows, tuning
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.constants import (
    DETECTOR_INDEX,
    FOLLOWER_INDEX,
    LEAST_NOISE,
    N_CLIPPED,
    N_DETECTORS,
    N_LEADERS,
    N_SIGNED,
    NOISE_PRIOR,
    PRIOR,
    PSEUDO_SAMPLES,
)
from turncoat.learners.turncoat.planning import ALL, MOST

CLOSE = 1e-10  # of a share
PULLS = (2, 8, 64, 1024)


def known(state: Any, i: int, arms: Sequence[int]) -> Known:
    """What base i knows of these arms."""
    k, f = list(arms), i - N_DETECTORS
    if f < 0:
        below, spread_out = reals(state.noise[i, k, 0]), reals(state.noise[i, k, 1])
        rho = np.maximum(1 - below / (spread_out + NOISE_PRIOR), REAL(LEAST_NOISE))
        pulls = reals(state.counts[i, k]) + rho * reals(state.recalled[i, k])
        sums = reals(state.sums[i, k]) + rho * reals(state.recalled_sums[i, k])
        since = np.maximum(reals(state.starts[i, k]), REAL(int(state.restarted[i])))
        c = rho * DETECTOR_INDEX * np.log(np.maximum(int(state.clock[0]) - since, 2))
        return Known(sums / np.where(pulls > 0, pulls, 1), pulls, c, (pulls > 0).tolist())
    large, n_all, total = reals(state.fading[f])
    mean = total / n_all if n_all > 0 else REAL(0)
    pulls = reals(state.samples[f, k]) / large
    means = (reals(state.rewards[f, k]) / large + PSEUDO_SAMPLES * mean) / (pulls + PSEUDO_SAMPLES)
    c = np.full(len(k), FOLLOWER_INDEX[f] * np.log(max(n_all / large, REAL(2))))
    return Known(means, pulls + PSEUDO_SAMPLES, c, (pulls > 0).tolist())


def living(learner: Turncoat) -> list[int]:
    """The indices of the arms that are there."""
    there: list[int] = np.flatnonzero(learner.view().place >= 0.0).tolist()
    return there


def proposals(learner: Turncoat, m: int, among: Sequence[int] | None = None) -> Reals:
    """P_h(k), or P_h(k|A), of every base, for the next m pulls."""
    state, index, K = learner.view(), indices(learner), learner.n_arms
    A = living(learner) if among is None else list(among)
    mirrors = np.zeros((len(rows(learner)), K), dtype=REAL)
    mirrors[:, A] = rows(learner)[:, A]
    P = [row / row.sum() for row in mirrors]
    for i in range(N_LEADERS):
        if m == 1:
            P.append(np.eye(K, dtype=REAL)[max(A, key=lambda k: (index[i, k], -k))])
        else:
            arms = A if among is not None else largest(index[i].tolist(), A, m, ALL, MOST)
            P.append(spread(known(state, i, arms), arms, m, len(A), K, with_kl=i < N_DETECTORS))
    return np.array(P)


def served(learner: Turncoat, m: int, among: Sequence[int] | None = None) -> Reals:
    """q."""
    q: Reals = reals(learner.master_probabilities.tolist()) @ proposals(learner, m, among)
    return q


def history(K: int, n_rounds: int, *, changing: bool, late: int, seed: int) -> Turncoat:
    """A learner after a random game: means jump, tells are late, some are lost; arms come and go."""
    rng, learner, waiting = np.random.default_rng(seed), Turncoat(K, seed=seed), []
    for t in range(n_rounds):
        if changing and t % 60 == 25:
            learner.add_arm()
        if changing and t % 60 == 45 and len(learner.living) > 2:
            learner.retire_arm(learner.living[int(rng.integers(len(learner.living)))])
        some = rng.permutation(living(learner))[: rng.integers(1, len(learner.living) + 1)]
        waiting.append(learner.ask(allowed=some.tolist() if t % 5 == 0 else None))
        while len(waiting) > late * ((t // 50) % 2):
            decision = waiting.pop(int(rng.integers(len(waiting))))
            learner.tell(decision, loss_of(rng, (decision.index + t // 80) % K))
    return learner


GAMES = [(2, 0), (2, 5), (2, 300), (3, 1), (3, 150), (10, 12), (10, 400), (64, 90), (65, 30), (65, 500), (200, 700)]


@pytest.mark.parametrize(("K", "n_rounds"), GAMES)
@pytest.mark.parametrize("changing", [False, True])
def test_what_is_served_is_the_oracles(K: int, n_rounds: int, changing: bool) -> None:
    learner = history(K, n_rounds, changing=changing, late=40, seed=K + n_rounds)
    rng, there = np.random.default_rng(1), living(learner)
    sets = [sorted(rng.permutation(there)[:n].tolist()) for n in (1, 2, 1 + len(there) // 2)]
    for m in (1, *PULLS):
        q = learner.probabilities(m=m)
        assert q.sum() == pytest.approx(1.0, abs=1e-12) and np.abs(q - served(learner, m)).max() < CLOSE
        for A in sets:
            q = learner.probabilities(allowed=A, m=m)
            assert np.abs(q - served(learner, m, A)).max() < CLOSE
            assert np.array_equal(q.nonzero()[0], A)
    before = learner.probabilities(m=1)
    plain = Turncoat._from_state(learner.state())
    assert np.array_equal(before, plain.probabilities(m=1))  # looking left no trace


def test_rare_states() -> None:
    """Means of 0, of 1, near 1 and equal; arms without a reward; arms that came since; a restart just now."""
    for losses in ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.0), (1e-9, 0.5, 1e-3), (0.5, 0.5, 0.5)):
        for n in (1, 4, 40, 400):
            learner = Turncoat(5, seed=1)
            for t in range(n):
                learner.observe(t % 3, losses[t % 3], 0.3)
            for m in PULLS:
                assert np.abs(learner.probabilities(m=m) - served(learner, m)).max() < CLOSE, (losses, n, m)
    learner = Turncoat(3, seed=1)
    while not learner.view().n_restarts[0]:
        learner.observe(learner.n_told % 2, float(learner.n_told > 60), 0.5)
    for m in PULLS:
        assert np.abs(learner.probabilities(m=m) - served(learner, m)).max() < CLOSE


@pytest.mark.parametrize("K", [2, 10, 65])
def test_untried_arms_are_planned_no_more_than_their_part(K: int) -> None:
    """At most max(1, ceil(m/K)) of m pulls by every base, untried arms alike, until an arm's first reward."""
    rng = np.random.default_rng(K)
    for n_tried in (K - 1, K // 2, 1):
        learner = Turncoat(K, seed=1)
        for t in range(5 * n_tried):
            learner.observe(t % n_tried, float(rng.random()), 0.5)
        for m in PULLS:
            P = proposals(learner, m)[-N_LEADERS:, n_tried:]
            limit = max(1, math.ceil(m / K))
            assert (P[0] == P[0, 0]).all()
            assert (limit / m * (1 + 1e-12) >= P).all()
            assert np.abs(learner.probabilities(m=m) - served(learner, m)).max() < CLOSE


@pytest.mark.parametrize(("K", "n_rounds"), [(2, 60), (5, 200), (14, 150), (40, 120), (70, 300)])
def test_a_tell_charges_what_is_planned_now_for_its_m(K: int, n_rounds: int) -> None:
    """One tell at a time, from the learner's own state: the master's step and those of the mirror-descent bases.

    Between ask and tell others are told, so what a base is charged is not what it proposed at the ask.
    """
    learner = history(K, n_rounds, changing=K > 2, late=20, seed=K)
    rng = np.random.default_rng(K)
    moved = 0.0
    for m in (1, *PULLS, 1, *PULLS):
        for among in (False, True):
            there = living(learner)
            A: list[int] = sorted(rng.permutation(there)[: 1 + len(there) * 2 // 3].tolist()) if among else there
            decision = learner.ask(allowed=A if among else None, m=m)
            assert decision.m == m and decision.propensity is not None
            for k in rng.choice(there, 3):
                learner.observe(int(k), float(rng.random()), 1.0 / len(there))
            oracle = Sleeping(learner.n_arms, PRIOR, N_CLIPPED, N_SIGNED)
            oracle.p, oracle.rows = reals(learner.master_probabilities.tolist()), rows(learner).astype(REAL)
            rule, planned, b = (
                indices(learner),
                proposals(learner, m, A if among else None)[-N_LEADERS:],
                baseline(learner),
            )
            loss, q = loss_of(rng, decision.index), decision.propensity
            now = float((oracle.p @ oracle.inside(rule.tolist(), A, planned))[decision.index])
            learner.tell(decision, loss)
            oracle.tell(rule.tolist(), A, decision.index, q, loss, tuning(learner, b), planned)
            assert np.abs(learner.master_probabilities - oracle.p).max() < CLOSE
            assert np.abs(rows(learner) - oracle.rows).max() < CLOSE
            moved = max(moved, abs(now - q))
    assert moved > 1e-3
