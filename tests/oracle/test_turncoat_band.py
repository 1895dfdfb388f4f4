"""Turncoat beside its oracle, told the same rounds: trust, bases, leaders, indices, restarts, baselines, rates.

The compiled learner plays, or is made to observe; the oracle is told those rounds. Where two indices are equal but for
rounding either may lead, and the oracle goes on with the learner's choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.naive.driver import PATTERNS, Round, Row
from tests.naive.turncoat_band import Recipe, TurncoatBand
from tests.oracle.pairs import TINY, feed, record
from tests.oracle.test_changes import changing
from turncoat.decision import Decision
from turncoat.learners.parts.importance_weights import LARGEST
from turncoat.learners.turncoat import Turncoat, constants, planning
from turncoat.learners.turncoat.mirror_bases import FOLDED
from turncoat.learners.turncoat.state import SLOTS

CLOSE = 1e-10
TIE = 1e-12  # indices nearer than this are equals

RECIPE = Recipe(
    n_clipped=constants.N_CLIPPED,
    n_signed=constants.N_SIGNED,
    n_detectors=constants.N_DETECTORS,
    windows=constants.WINDOWS,
    prior=constants.PRIOR,
    first_guess=constants.FIRST_GUESS,
    eta=constants.ETA,
    most_eta=constants.MOST_ETA,
    few=constants.FEW,
    detector_floor=constants.DETECTOR_FLOOR,
    detector_index=constants.DETECTOR_INDEX,
    alarm=constants.ALARM,
    test_every=constants.TEST_EVERY,
    least_pulls=constants.LEAST_PULLS,
    noise_prior=constants.NOISE_PRIOR,
    least_noise=constants.LEAST_NOISE,
    recalled=constants.RECALLED,
    doubted=constants.DOUBTED,
    follower_index=constants.FOLLOWER_INDEX,
    pseudo_samples=constants.PSEUDO_SAMPLES,
    largest=LARGEST,
    slow_rate=constants.SLOW_RATE,
    most_slow_rate=constants.MOST_SLOW_RATE,
    all_planned=planning.ALL,
    most_planned=planning.MOST,
    many=SLOTS,
)


def mirrors(state: Any) -> Any:
    """P of the mirror-descent bases, a row for each."""
    weights = state.weights[state.P : state.P + state.K].T + state.offset[:, None]
    return weights / (state.weights[1] + state.K * state.offset)[:, None]


def error(found: Any, exact: Any) -> float:
    """The largest relative error."""
    exact = np.array(exact, dtype=np.longdouble)
    return float(np.max(np.abs(np.array(found) - exact) / (np.abs(exact) + TINY), initial=0.0))


def tell(learner: Turncoat, oracle: TurncoatBand, one: Round, m: int = 1) -> None:
    """Tell the oracle what the learner has just been told, and compare what is decided."""
    state = learner.view()
    max_trees = state.max_trees[state.P : state.P + state.K].T
    oracle.tell(one.a, one.q, one.loss, lambda i, k: float(max_trees[i, k]) - 2.0, m)
    assert state.n_restarts.tolist() == oracle.n_restarts
    assert state.guess[0] == oracle.N
    for i, leader in enumerate(state.leaders.astype(int).tolist()):
        row = oracle.indices[i]
        assert row[leader] >= row.max() * (1.0 - TIE), f"leader {i}: {leader}, {row}"
        oracle.leaders[i] = leader


def errors(learner: Turncoat, oracle: TurncoatBand) -> dict[str, float]:
    """How far every number of the learner is from the oracle's."""
    state = learner.view()
    indices = state.max_trees[state.P : state.P + state.K].T
    slow = state.seen[0] / (1.0 + oracle.t)
    return {
        "trust": error(state.p, oracle.p),
        "mirrors": error(mirrors(state), oracle.mirrors),
        "probabilities": error(learner.probabilities(m=1), oracle.probabilities()),
        "indices": error(indices, oracle.indices),
        "baselines": error([slow, state.seen[1]], [oracle.slow(), oracle.fast]),
    }


def assert_close(learner: Turncoat, oracle: TurncoatBand, close: float = CLOSE) -> None:
    for name, value in errors(learner, oracle).items():
        assert value <= close, f"{name} after {oracle.t} rounds: {value}"


def assert_same_rates(learner: Turncoat, oracle: TurncoatBand) -> None:
    """Those of the last tell: the learner sets them at the tell that doubles its guess."""
    state = learner.view()
    assert error(state.rates, oracle.rates()) <= 1e-14 and error(state.floors, oracle.floors()) <= 1e-14
    assert error(state.eta, [oracle.master_rate()]) <= 1e-14


def play(K: int, rows: Iterable[Row], *, delay: int = 0, every: int = 50, seed: int = 1) -> Turncoat:
    """Play a game with both."""
    learner, oracle = Turncoat(K, seed=seed), TurncoatBand(K, RECIPE)
    for n, one in enumerate(record(learner, rows, delay, seed), 1):
        tell(learner, oracle, one)
        if n <= 20 or n % every == 0:
            assert_close(learner, oracle)
            assert_same_rates(learner, oracle)
    assert_close(learner, oracle)
    return learner


@pytest.mark.parametrize("K", [1, 2, 3, 10, 65])
def test_a_whole_game(K: int) -> None:
    learner = play(K, changing(700, K, 3))
    assert learner.view().guess[0] == 1024  # it has doubled six times
    assert learner.view().n_restarts.sum() > 0 or K == 65  # or there were no restarts to compare


@pytest.mark.jit_off
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_of_losses(pattern: str) -> None:
    for K in (1, 2, 5):
        play(K, PATTERNS[pattern](140, K, 2), delay=3)


def test_late_and_shuffled_tells() -> None:
    play(4, changing(500, 4, 2), delay=60)
    play(3, PATTERNS["real_valued"](500, 3, 2), delay=10)


@pytest.mark.parametrize("K", [2, 10, 65])
def test_decisions_that_were_planned_and_are_late(K: int) -> None:
    """Each ask plans 1 to 1,024 pulls, and each tell comes after up to 20 others: from all of the history."""
    rng = np.random.default_rng(K)
    learner, oracle = Turncoat(K, seed=K), TurncoatBand(K, RECIPE)
    waiting: list[tuple[Decision, float]] = []
    for t, row in enumerate(changing(150 if K < 64 else 80, K, 3)):
        decision = learner.ask(m=2 ** int(rng.integers(11)))
        waiting.append((decision, float(row[decision.index])))
        while len(waiting) > 20 * (t // 25 % 2):
            decision, loss = waiting.pop(int(rng.integers(len(waiting))))
            assert decision.propensity is not None
            learner.tell(decision, loss)
            tell(learner, oracle, Round(decision.index, None, None, None, decision.propensity, loss), decision.m)
        if t % 25 == 0:
            assert_close(learner, oracle)
            for m in (2, 64, 1024):
                assert np.abs(learner.probabilities(m=m) - oracle.probabilities(m)).max() <= CLOSE
    assert_same_rates(learner, oracle)


def test_a_thousand_arms_and_hardly_any_rounds() -> None:
    play(1000, PATTERNS["real_valued"](40, 1000, 2))


def shifting_rounds(K: int, n: int, seed: int, some: int = 7) -> Iterator[Round]:
    """Rounds decided elsewhere: mostly of a few arms, whose losses jump; the probabilities are those of no rule."""
    chance = np.random.default_rng(seed)
    for t in range(n):
        arm = int(chance.integers(some)) * (K // some) if chance.random() < 0.9 else int(chance.integers(K))
        loss = float(chance.random() < (0.9 if (arm + t // 90) % 3 else 0.1))
        yield Round(arm, None, None, None, float(chance.uniform(0.02, 1.0)), loss)


@pytest.mark.parametrize(("K", "n"), [(3, 500), (17, 500), (70, 900), (1500, 500)])
def test_rounds_of_changing_arms(K: int, n: int) -> None:
    """Detectors restart, weights rise and fall: of 70 arms and more they fall below their offset."""
    learner, oracle = Turncoat(K, seed=1), TurncoatBand(K, RECIPE)
    lowest = 0.0
    for t, one in enumerate(shifting_rounds(K, n, seed=K), 1):
        feed(learner, one)
        tell(learner, oracle, one)
        lowest = min(lowest, float(learner.view().weights.min()))
        if t <= 20 or t % 50 == 0:
            assert_close(learner, oracle)
            assert_same_rates(learner, oracle)
    assert oracle.n_restarts[0] >= 3
    assert (lowest < 0.0) == (K > FOLDED)


def rare_rounds(K: int, n: int, tiny: float, seed: int) -> Iterator[Round]:
    """Rounds decided elsewhere, every fifth one with hardly any probability."""
    chance = np.random.default_rng(seed)
    for t in range(n):
        q = tiny if t % 5 == 4 else float(chance.uniform(0.1, 1.0))
        yield Round(int(chance.integers(K)), None, None, None, q, float(chance.choice([0.0, 1.0, chance.random()])))


def adopt(learner: Turncoat, oracle: TurncoatBand) -> None:
    """Let the oracle go on from the learner's numbers, so that each round is compared by itself."""
    state = learner.view()
    oracle.p = np.array(state.p, dtype=np.longdouble)
    oracle.mirrors = list(np.array(mirrors(state), dtype=np.longdouble))


@pytest.mark.jit_off
@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-12, 1e-30, 1e-300, 5e-324])
def test_rounds_that_were_hardly_ever_served(tiny: float) -> None:
    """A charge of x moves trust by exp(-x), and x is known to a relative 1e-15 or so: trust is too, times x.

    At 5e-324 the estimate is infinite: a base that would never have played the arm was charged 0 times that.
    """
    for K in (2, 5):
        learner, oracle = Turncoat(K, seed=1), TurncoatBand(K, RECIPE)
        compared = 0
        for one in rare_rounds(K, 100, tiny, seed=K):
            charges = oracle.master_rate() * oracle.charges(one.a, np.longdouble(one.q), one.loss)
            below = charges[charges < 0.99 * oracle.master_rate() * LARGEST]  # all others are charged the same
            loose = 1e-14 * float(below.max(initial=0.0))
            feed(learner, one)
            tell(learner, oracle, one)
            found = errors(learner, oracle)
            assert found["mirrors"] <= CLOSE and found["indices"] <= CLOSE and found["baselines"] <= CLOSE
            if loose < 1e-3:
                assert found["trust"] <= CLOSE + loose
                compared += 1
            assert abs(float(state_sum(learner)) - 1.0) <= 1e-12
            adopt(learner, oracle)
        assert compared >= 80 if tiny in (1e-30, 1e-12) else compared == 100


def state_sum(learner: Turncoat) -> Any:
    p = learner.view().p
    assert np.isfinite(p).all() and (p >= learner.view().floors * (1 - 1e-12)).all()
    return p.sum()
