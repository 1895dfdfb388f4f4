"""Estimators are unbiased: every possible draw is told to a copy of the learner, and what the rule *used* is read back.

No sampling: a draw (base h, arm a) has probability p(h) p_h(a), so the expectation of an estimate is a finite sum. The
estimate is read from the change of state by undoing the step: with entropy, ln(w'/w) = -rate · estimate + the same
constant for all; with the log-barrier, 1/p' - 1/p = rate · (estimate - the same constant). A coordinate that was not
charged, whose estimate is 0, gives the constant away. No floor may be met on the way, which is asserted.

"Late" tells: the draw comes from an older state than the one it is told to, so what was served is not what stands.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.naive.driver import PATTERNS, Round
from tests.oracle.pairs import MASTERS, SINGLES, UNLISTED, feed, record
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
)
from turncoat.types import Matrix

pytestmark = pytest.mark.jit_off

Masters = MasterBase | AdaptiveMasterBase

K, T = 4, 100_000
TRUE = np.array([0.9, 0.35, 1.0, 0.2])
CLOSE = 1e-10  # what is left of 1e-16 after division by rates of 1e-3 and sums of some fifty estimates
READABLE = [name for name in MASTERS if not name.endswith("theorem")]


def played(name: str) -> Learner:
    """A learner whose distributions are no longer uniform, and nowhere near a floor."""
    learner = {**SINGLES, **MASTERS}[name].make(K, T, seed=3)
    if isinstance(learner, MasterBase | AdaptiveMasterBase):
        learner.view().xi[:] = np.linspace(0.002, 0.01, learner.candidates.size)  # lively, but far from the floors
    for _ in record(learner, PATTERNS["real_valued"](120, K, 5)):
        pass
    return learner


def told(learner: Learner, one: Round) -> Learner:
    """A copy of the learner that was told one round more."""
    after = copy.deepcopy(learner)
    feed(after, one)
    return after


# -- single learners ------------------------------------------------------------------------------------------------


def single_estimates(before: Learner, after: Learner, a: int) -> Any:
    """What the rule took for the losses of all arms (for gains: for the gains), read from the weights."""
    old, new = before.view(), after.view()
    if isinstance(before, Exp3S):
        W = old.tree[:K].sum() + K * old.offset[0]
        shared = math.e * old.share / K * W
        return K / old.gamma * np.log((new.tree[:K] + new.offset[0] - shared) / (old.tree[:K] + old.offset[0]))
    if isinstance(before, TsallisINF):  # its sums are at hand
        return (new.scores[:K] - old.scores[:K]) + (new.scores[K:] - old.scores[K:])
    if isinstance(before, Exp3P):
        gains = ((old.scores[:K] - new.scores[:K]) + (old.scores[K:] - new.scores[K:])) / old.eta
        return gains - old.beta / before.probabilities()  # without the bonus
    if (isinstance(before, Exp3SIX) and old.share > 0.0) or (isinstance(before, ClippedOMD) and old.sharing):
        share, rate = (old.share, old.eta) if isinstance(before, Exp3SIX) else (K * old.beta, old.xi)
        taken_back = (new.tree[:K] - share / K) / (1.0 - share)  # what was shared
        losses = -np.log(taken_back / old.tree[:K]) / rate
        return losses - losses[(a + 1) % K]
    ratios = np.log(new.tree[:K] / old.tree[:K])
    if isinstance(before, Exp3) and old.gain:
        return K / old.gamma * ratios
    if isinstance(before, Exp3 | Exp3IX) and old.eta == 0.0:  # anytime: the rate itself has moved
        t = before.n_told
        rates = [math.sqrt(math.log(K) / (K * n)) for n in (t + 1, t + 2)]
        losses = np.log(old.tree[:K]) / rates[0] - np.log(new.tree[:K]) / rates[1]
    else:
        losses = -ratios / (old.eta if isinstance(before, Exp3 | Exp3IX | Exp3SIX | RestartedExp3) else old.xi)
    return losses - losses[(a + 1) % K]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", [name for name in SINGLES if name not in {"uniform", *UNLISTED}])
def test_single_learners(name: str, late: bool) -> None:
    learner = played(name)
    served = learner.probabilities()
    if late:
        for _ in record(learner, PATTERNS["bernoulli"](40, K, 6)):
            pass
        assert np.abs(learner.probabilities() / served - 1).max() > 1e-3
    expected = np.zeros(K)
    for a in range(K):
        after = told(learner, Round(a, None, None, None, float(served[a]), float(TRUE[a])))
        expected += served[a] * single_estimates(learner, after, a)
    if isinstance(learner, Exp3IX | Exp3SIX):  # implicit exploration is biased, by just this factor
        eta = float(learner.view().eta) or math.sqrt(math.log(K) / (K * (learner.n_told + 1)))
        assert expected == pytest.approx(TRUE * served / (served + eta / 2), abs=CLOSE)
        return
    gains = isinstance(learner, Exp3S | Exp3P) or (isinstance(learner, Exp3) and learner.form == "gain")
    assert expected == pytest.approx(1 - TRUE if gains else TRUE, abs=CLOSE)


# -- masters --------------------------------------------------------------------------------------------------------


def draws(master: Masters) -> Iterator[tuple[float, Round]]:
    """Every (base, arm) that can be drawn now, with its probability and the loss it would bring."""
    p, bases = master.master_probabilities, master.base_probabilities
    q = p @ bases
    for h in range(p.size):
        for a in range(K):
            one = Round(a, h, float(p[h]), float(bases[h, a]), float(q[a]), float(TRUE[a]))
            yield float(p[h] * bases[h, a]), one


def base_estimates(before: Any, after: Any, a: int) -> Matrix:
    """What each base took for the losses of the arms (H, K)."""
    losses: Matrix = -np.log(after.trees[:, :K] / before.trees[:, :K]) / before.xi[:, None]
    return losses - losses[:, [(a + 1) % K]]


def master_estimates(master: Masters, before: Any, after: Any) -> Any:
    """What the master took for the losses of the bases (H,), up to one constant for all."""
    if isinstance(master, AdaptiveMasterBase):
        return (1.0 / after.inner - 1.0 / before.inner) / before.eta
    return -np.log(after.inner / before.inner) / before.eta


def above_the_floors(master: Masters, state: Any) -> bool:
    if state.mixing:
        return True
    return bool(state.p.min() > state.alpha * 1.0001 and master.base_probabilities.min() > state.beta * 1.0001)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", READABLE)
def test_masters(name: str, late: bool) -> None:
    master: Any = played(name)
    possible = list(draws(master))
    assert sum(p for p, _ in possible) == pytest.approx(1, abs=1e-14)
    if late:
        served = master.base_probabilities
        for _ in record(master, PATTERNS["bernoulli"](40, K, 6)):
            pass
        assert np.abs(master.base_probabilities / served - 1).max() > 1e-3
    H = master.candidates.size
    before, now = master.view(), master.base_probabilities
    of_bases, of_master, charged = np.zeros((H, K)), np.zeros(H), np.zeros(H)
    for p, one in possible:
        learner: Any = told(master, one)
        after = learner.view()
        assert above_the_floors(learner, after)
        of_bases += p * base_estimates(before, after, one.a)
        losses = master_estimates(master, before, after)
        assert one.base is not None
        of_master += p * (losses - losses[(one.base + 1) % H])
        charged += p * after.charges / (before.eta if isinstance(master, MasterBase) else 1.0)
    assert of_bases == pytest.approx(np.tile(TRUE, (H, 1)), abs=CLOSE)
    if master.feedback == "shared":  # charged is each base as it stands now; the step shows this up to a constant
        assert charged == pytest.approx(now @ TRUE, abs=CLOSE)
        assert of_master - of_master[0] == pytest.approx(now @ TRUE - now[0] @ TRUE, abs=CLOSE)
    elif not late:  # the loss is of the base that was drawn, as it was then
        assert of_master == pytest.approx(now @ TRUE, abs=CLOSE)
    else:
        assert of_master == pytest.approx(served @ TRUE, abs=CLOSE)


def test_a_biased_rule_would_be_noticed() -> None:
    # The same sums with a propensity that was not served: off by far more than the tolerance.
    master: Any = played("master-base shared exact")
    before, total = master.view(), 0.0
    for p, one in draws(master):
        after = told(master, one._replace(q=one.q + 1e-4)).view()
        total += p * base_estimates(before, after, one.a)[0, 0]
    assert abs(total - TRUE[0]) > 1e-5
