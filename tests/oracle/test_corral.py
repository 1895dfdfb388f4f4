"""Corral against its oracle, teacher-forced; and that what bases are fed is unbiased, summed over the draw."""

from __future__ import annotations

import copy
import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.contract.makers import MIXED
from tests.naive import corral as naive
from tests.naive import learners as naive_learners
from tests.naive.driver import PATTERNS
from tests.naive.index import UCB1
from tests.naive.solve import REAL, floats, reals
from tests.oracle.scribes import Scribe, StableScribe
from turncoat._compile.jit import _inside
from turncoat.learners import ClippedOMD, Corral
from turncoat.learners.base.base_stack import ask_base, row_kernels, row_of
from turncoat.learners.masters.corral import grid
from turncoat.types import Vector

CLOSE = 1e-12
RATE = 0.3


def default_oracle(K: int, T: int, rate: float) -> naive.Corral:
    bases = [naive.Fed(partial(naive_learners.ClippedOMD, K, T, n_switches=S), "kept") for S in grid(T)]
    return naive.Corral(bases, T, rate)


def mixed_oracle(K: int, T: int, rate: float) -> naive.Corral:
    exp3 = naive.Fed(partial(naive_learners.Exp3, K, T), "half")
    clipped = naive.Fed(partial(naive_learners.ClippedOMD, K, max(T, 2), n_switches=0), "kept")
    ucb1 = naive.Fed(lambda: naive.Indexed(UCB1(K)), "none")
    return naive.Corral([exp3, clipped, ucb1, exp3], T, rate)


def of_two_rounds_at_least(arms: Any, horizon: int, *, seed: Any) -> ClippedOMD:
    """The oracle's floor for one round is 1/K, the learner's that of two rounds."""
    return ClippedOMD(arms, max(horizon, 2), n_switches=0, seed=seed)


def played(learner: Corral, i: int, arm: int, p_arm: float) -> list[tuple[int, float]]:
    """What every base plays in the round that is told next: base i what was drawn, the others what they will draw."""
    state = copy.deepcopy(learner).view()
    return [(arm, p_arm) if j == i else ask_base(state, j, state.dice) for j in range(state.p.size)]


def numbers(learner: Corral) -> dict[str, Any]:
    return {
        "master": learner.master_probabilities,
        "rates": learner.master_rates,
        "rho": learner.rho,
        "bases": learner.base_probabilities,
        "probabilities": learner.probabilities(),
    }


def assert_close(learner: Corral, oracle: naive.Corral, n: int) -> None:
    for name, exact in oracle.numbers().items():
        error = np.max(np.abs(numbers(learner)[name] - np.array(exact)) / (np.abs(exact) + 1e-290))
        assert error <= CLOSE, f"{name}: {error:.2e} after {n} rounds"


def play_both(learner: Corral, oracle: naive.Corral, losses: Any, delay: int = 0, every: int = 1) -> None:
    """Play the learner, tell the oracle the same, compare; up to delay + 1 rounds are outstanding."""
    chance = random.Random(1)
    outstanding: list[Any] = []
    for n, row in enumerate(losses, 1):
        arm, q, i, p_i, p_arm = learner._ask(learner._buffer)
        outstanding.append((arm, float(row[arm]), q, i, p_i, p_arm))
        if len(outstanding) > delay:
            arm, loss, q, i, p_i, p_arm = outstanding.pop(chance.randrange(len(outstanding)))
            oracle.tell(i, p_i, loss, played(learner, i, arm, p_arm))
            assert learner._tell(learner._buffer, arm, loss, q, i, p_i, p_arm) > 0
            if n % every == 0:
                assert_close(learner, oracle, n)
    assert_close(learner, oracle, n)


@pytest.mark.parametrize("K", [1, 2, 10])
def test_the_default_corral(K: int) -> None:
    learner = Corral(K, 1000, seed=3)
    play_both(learner, default_oracle(K, 1000, learner.rate), PATTERNS["one_then_another"](400, K, 1), every=20)


@pytest.mark.parametrize(("K", "pattern"), [(2, "bernoulli"), (3, "all_ones"), (10, "real_valued"), (1, "alternating")])
def test_a_corral_of_three_kinds(K: int, pattern: str) -> None:
    learner, oracle = Corral(K, 600, seed=4, bases=MIXED, rate=RATE), mixed_oracle(K, 600, RATE)
    play_both(learner, oracle, PATTERNS[pattern](300, K, 1), every=10)
    if pattern != "alternating":
        assert oracle.n_restarts > 1  # or less was compared than it seems


def test_late_and_shuffled_tells() -> None:
    learner, oracle = Corral(4, 600, seed=5, bases=MIXED, rate=RATE), mixed_oracle(4, 600, RATE)
    play_both(learner, oracle, PATTERNS["real_valued"](200, 4, 2), delay=20, every=10)


@pytest.mark.jit_off
@pytest.mark.parametrize("T", [1, 2, 3, 8])
def test_the_smallest_horizons_and_rounds_beyond_them(T: int) -> None:
    bases = [MIXED[0], of_two_rounds_at_least, *MIXED[2:]]
    learner, oracle = Corral(3, T, bases=bases, seed=1, rate=0.5), mixed_oracle(3, T, 0.5)
    play_both(learner, oracle, PATTERNS["all_ones"](12, 3, 1))


@pytest.mark.jit_off
def test_one_base_plays_as_alone_on_losses_divided_by_the_root_of_two() -> None:
    # With M = 1 the base is always served and rho stays 2: all that is left of the master is that factor.
    corral, alone = Corral(3, 500, bases=[ClippedOMD], seed=1), ClippedOMD(3, 500)
    for t, row in enumerate(PATTERNS["real_valued"](60, 3, 1)):
        arm, q, i, p_i, p_arm = corral._ask(corral._buffer)
        assert (i, p_i, q) == (0, 1.0, p_arm)
        corral._tell(corral._buffer, arm, row[arm], q, i, p_i, p_arm)
        alone._tell(alone._buffer, arm, row[arm] / np.sqrt(2.0), p_arm)
        assert np.allclose(corral.probabilities(), alone.probabilities(), rtol=1e-13), t


@pytest.mark.jit_off
def test_the_oracle_by_hand() -> None:
    # p = (1/2, 1/2), rates 1, loss 3/2 at 0: with x = 1/q_1 and 1/q_0 = x + 3/2, 1/x + 1/(x + 3/2) = 1 has x = 3/2.
    step = naive.barrier_root(reals([0.5, 0.5]), 0, REAL(1.5), reals([1.0, 1.0]))
    assert floats(step) == pytest.approx([1 / 3, 2 / 3], rel=1e-15)
    # T = 2: g = 1/2, q = p/2 + 1/4. A loss of 3/4 at base 0, drawn with 1/2, is that step; 12/5 is below rho = 4.
    oracle = naive.Corral([naive.Fed(partial(naive_learners.Exp3, 2, 2), "half")] * 2, 2, 1.0)
    oracle.tell(0, 0.5, 0.75, [(1, 0.5), (0, 0.5)])
    assert oracle.numbers()["master"] == pytest.approx([5 / 12, 7 / 12], rel=1e-15)
    assert oracle.numbers()["rho"] == [4.0, 4.0]
    # Base 0 was told 3/2 divided by sqrt 4, over 1/2, for arm 1; base 1 was told nothing.
    assert floats(oracle.bases[0].estimates.total) == [0.0, 1.5]  # type: ignore[attr-defined]
    assert floats(oracle.bases[1].estimates.total) == [0.0, 0.0]  # type: ignore[attr-defined]


# -- what bases are fed -------------------------------------------------------------------------------------------


def sums(learner: Corral) -> Vector:
    """What every scribe was told so far, and how often."""
    state = learner.view()
    return np.array([row_of(state, j)[-2:].view(np.float64) for j in range(len(learner.bases))])


@pytest.mark.jit_off
def test_what_a_base_is_fed_is_unbiased_summed_over_the_draw() -> None:
    """SMPyBandits' CORRAL feeds the base that was drawn the bare loss: here that sums to served(j) · loss, not loss."""
    learner = Corral(3, 200, bases=[Scribe, StableScribe, Scribe, StableScribe], seed=2, rate=0.4)
    for t in range(40):
        decision = learner.ask()
        learner.tell(decision, loss=float(decision.base in (1, 2) or t % 3 == 0))
    served, rho, before, loss = learner.master_probabilities, learner.rho, sums(learner), 0.0625
    assert served.max() > 2 * served.min()  # or bare losses would look nearly right
    scale = np.where([base["learner"] == "scribe" for base in learner.bases], rho, np.sqrt(rho))
    fed = np.zeros(4)
    for i, p_i in enumerate(served):
        again = copy.deepcopy(learner)  # its bases are found by name, though they are not in the package
        again._tell(again._buffer, 1, loss, 1 / 3, i, p_i, 1 / 3)
        told = sums(again) - before
        assert (again.rho == rho).all()  # or a base would have been restarted, and shown nothing
        assert (told[:, 1] == 1).all()  # every base is told every round
        fed += p_i * told[:, 0] * scale
    assert fed == pytest.approx(np.full(4, loss), rel=1e-12)


@pytest.mark.jit_off
def test_a_base_begins_anew_when_rho_grows_unless_it_is_kept() -> None:
    learner = Corral(2, 300, bases=[Scribe, StableScribe, Scribe], seed=1, rate=0.5)
    grown: set[int] = set()
    while grown != {0, 1}:
        rho = learner.rho
        decision = learner.ask()
        learner.tell(decision, loss=float(decision.base != 2))
        state = learner.view()
        for j in map(int, np.flatnonzero(learner.rho > rho)):
            anew = bool(np.array_equal(row_of(state, j), row_of(state, j, fresh=1)))
            assert anew == (j == 0), f"base {j} in round {learner.n_told}"
            grown.add(j)
    assert int(row_of(learner.view(), 1)[4]) == learner.n_told  # the clock of a base that is kept


def test_a_kind_is_compiled_once_however_many_bases_are_of_it() -> None:
    learner = Corral(3, 10_000, seed=1)
    learner.tell(learner.ask(), loss=0.5)
    kernels = row_kernels(ClippedOMD.state_type)
    assert len(learner.bases) == 11
    for kernel in (kernels.ask, kernels.tell, kernels.chance):
        assert len(getattr(_inside.get(kernel), "signatures", [])) <= 1  # none where the corral was found on disk
