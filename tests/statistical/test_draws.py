"""What is drawn is what is promised: frequencies of a frozen state against the propensities it reports.

Asking moves nothing but the random numbers, so asking one state again and again draws from one distribution.
Null: arms (and bases) are drawn with the stated probabilities. n = 40,000 asks a state. Chi-square over cells of at
least 5 expected draws, the rest pooled; a p-value below 1e-7 is an alarm, so this file raises a false one with
probability below 2e-5 in `make test` (under 200 p-values), and below 5e-5 in `make test-all` (under 500). Power: an
effect of noncentrality 140 is caught with 99 % at up to 65 cells. Tried: halving the exploration of EXP3 or of EXP3.S
fails the first test at every K above 1, and halving the uniform part of a mixing base fails the second for every mixing
master.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from tests.contract.makers import MAKERS, MASTERS, Maker, case, each, tell_row
from turncoat.learners import Learner
from turncoat.learners.base.master import Master
from turncoat.types import Ints, Vector

N = 40_000
ALARM = 1e-7
HORIZON = 40  # short, so that exploration is large enough to be seen

# `make test` tries each learner in one mode with few, some and many arms, and the other modes with some.
SIZES = [
    case(MAKERS, name, make, K, label=f"{name}-{K}", modes=K == 10)
    if K in (2, 10, 65)
    else pytest.param(make, K, id=f"{name}-{K}", marks=pytest.mark.exhaustive)
    for name, make in MAKERS
    for K in (1, 2, 3, 10, 65)
]


def trained(make: Maker, K: int, horizon: int, n_rounds: int) -> Learner:
    """A learner that has seen arm 0 lose less than the others."""
    learner = make(K, horizon, seed=5)
    losses = np.where(np.arange(K) == 0, 0.1, 1.0)
    for _ in range(n_rounds):
        tell_row(learner, learner.ask(), losses)
    return learner


def p_value(counts: Ints, probabilities: Vector) -> float:
    expected = probabilities * counts.sum()
    large = expected >= 5.0
    seen = np.append(counts[large], counts[~large].sum())
    meant = np.append(expected[large], expected[~large].sum())
    if meant[-1] < 5.0:  # too little to test: it joins the largest cell
        top = int(meant[:-1].argmax())
        seen[top] += seen[-1]
        meant[top] += meant[-1]
        seen, meant = seen[:-1], meant[:-1]
    if len(meant) == 1:
        return 1.0
    return float(chi2.sf(((seen - meant) ** 2 / meant).sum(), len(meant) - 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::turncoat.errors.TuningWarning")
@pytest.mark.parametrize(("make", "K"), SIZES)
def test_arms_come_as_often_as_promised(make: Maker, K: int) -> None:
    learner = trained(make, K, HORIZON, HORIZON)
    promised = learner.probabilities()
    counts = np.bincount([learner.ask().index for _ in range(N)], minlength=K)
    assert p_value(counts, promised) > ALARM


@pytest.mark.filterwarnings("ignore::turncoat.errors.TurncoatWarning")
@pytest.mark.parametrize("K", [2, 10])
@each(MASTERS)
def test_bases_come_as_often_as_promised_and_arms_within_them(make: Maker, K: int) -> None:
    # Far past a horizon of 8 rounds, bases are sure of themselves and their floors, 1/(8K), are large.
    learner = trained(make, K, 8, 400)
    assert isinstance(learner, Master)
    promised = learner.master_probabilities[:, None] * learner.base_probabilities
    counts = np.zeros(promised.shape, dtype=np.int64)
    for _ in range(N):
        decision = learner.ask()
        assert decision.base is not None
        counts[decision.base, decision.index] += 1
    assert p_value(counts.sum(axis=1), promised.sum(axis=1)) > ALARM
    assert p_value(counts.ravel(), promised.ravel()) > ALARM


def test_the_test_can_fail() -> None:
    p = np.array([0.5, 0.3, 0.2])
    counts = np.random.default_rng(1).multinomial(N, [0.51, 0.3, 0.19])
    assert p_value(counts, p) < 1e-3
    assert p_value(np.random.default_rng(1).multinomial(N, p), p) > 1e-3
