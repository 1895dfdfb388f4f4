"""The oracles of `tests/naive/adversarial.py` on cases worked by hand."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from tests.naive.adversarial import Exp3IX, Exp3P, Exp3SIX, RestartedExp3, SharingOMD, TsallisINF


def near(expected: object) -> object:
    return pytest.approx(expected, rel=4e-15, abs=0)


def test_exp3_ix() -> None:
    # K = 2, T = 4: eta = sqrt(2 ln 2/8) = 0.416277, gamma = 0.208139. Loss 1 at arm 0, served 1/2: the estimate
    # is 1/0.708139 = 1.412152, p0 = 1/(1 + exp(0.416277 x 1.412152)) = 1/(1 + exp(0.587847)) = 0.357129.
    eta = sqrt(log(2) / 4)
    learner = Exp3IX(2, 4)
    learner.tell(0, 1.0, 0.5)
    assert learner.probabilities()[0] == near(1 / (1 + exp(eta / (0.5 + eta / 2))))
    assert learner.probabilities()[0] == pytest.approx(0.357129, abs=1e-6)
    # Loss 0.5 at arm 1, served 0.25: the estimates differ by 1/(0.5 + g) - 0.5/(0.25 + g) = 0.320780, p0 = 0.466666.
    learner.tell(1, 0.5, 0.25)
    assert learner.probabilities()[0] == near(1 / (1 + exp(eta * (1 / (0.5 + eta / 2) - 0.5 / (0.25 + eta / 2)))))
    assert learner.probabilities()[0] == pytest.approx(0.466666, abs=1e-6)


def test_exp3_ix_without_a_horizon() -> None:
    # The estimate of round 1 has 2 g = sqrt(ln 2/2) = 0.588705, the weights of round 2 have eta = sqrt(ln 2/4).
    learner = Exp3IX(2)
    learner.tell(0, 1.0, 0.5)
    first = 1 / (0.5 + sqrt(log(2) / 2) / 2)
    assert learner.probabilities()[0] == near(1 / (1 + exp(first * sqrt(log(2) / 4))))
    # Round 2: g = sqrt(ln 2/4)/2; round 3 weighs with sqrt(ln 2/6).
    learner.tell(0, 0.5, 0.4)
    second = 0.5 / (0.4 + sqrt(log(2) / 4) / 2)
    assert learner.probabilities()[0] == near(1 / (1 + exp((first + second) * sqrt(log(2) / 6))))


def test_exp3_six_shares() -> None:
    # K = 2, T = 3, S = 1: share 1/2, C = 2 ln 2 + 2 ln 2 = 4 ln 2, eta = sqrt(8 ln 2/6) = 0.961351. Loss 1 at arm 0,
    # served 1/2: odds exp(-0.961351/0.980676) = 0.375200; half of (0.272833, 0.727167) and 1/4 each: 0.386417.
    eta = sqrt(8 * log(2) / 6)
    learner = Exp3SIX(2, 3)
    learner.tell(0, 1.0, 0.5)
    odds = exp(-eta / (0.5 + eta / 2))
    assert learner.probabilities() == near([0.5 * odds / (1 + odds) + 0.25, 0.5 / (1 + odds) + 0.25])
    assert learner.probabilities()[0] == pytest.approx(0.386417, abs=1e-6)
    # A loss of 0 only shares: half way to 1/2.
    p0 = learner.probabilities()[0]
    learner.tell(1, 0.0, 0.3)
    assert learner.probabilities()[0] == near(0.5 * p0 + 0.25)


def test_exp3_six_where_all_is_shared_and_where_nothing_is() -> None:
    always = Exp3SIX(3, 4, n_switches=3)
    always.tell(0, 1.0, 0.5)
    assert always.probabilities() == near([1 / 3] * 3)
    never, ix = Exp3SIX(3, 100, n_switches=0), Exp3IX(3, 100)
    for a, loss, served in ((0, 1.0, 1 / 3), (2, 0.5, 0.4), (0, 1.0, 0.2)):
        never.tell(a, loss, served)
        ix.tell(a, loss, served)
        assert never.probabilities() == near(ix.probabilities())
    assert Exp3SIX(2, 1).share == 0 and float(Exp3SIX(2, 1).rate) == near(sqrt(log(2)))


def two(gap: float) -> float:
    """The smaller of two weights 1/y^2 and 1/(y + gap)^2 with sum 1, by a bisection of its own."""
    low, high = 1.0, 2.0
    for _ in range(200):
        y = (low + high) / 2
        low, high = (y, high) if 1 / y**2 + 1 / (y + gap) ** 2 > 1 else (low, y)
    return 1 / (y + gap) ** 2


def test_tsallis_inf_with_importance_weighting() -> None:
    # K = 2. Loss 1 at arm 0, served 1/2: L = (2, 0); round 2 has eta = sqrt 2, and 1/sqrt(w_i) = (eta/2) (L_i - x): the
    # two differ by sqrt 2.
    learner = TsallisINF(2)
    learner.tell(0, 1.0, 0.5)
    assert learner.probabilities()[0] == near(two(sqrt(2)))
    assert sum(learner.probabilities()) == near(1.0)
    # Weights 1/4, 3/8, 3/8 have 1/sqrt(w) = 2, sqrt(8/3), sqrt(8/3). In round 4 eta/2 = 1/2, so the sums that lead to
    # them are L = (2 (2 - sqrt(8/3)), 0, 0).
    learner = TsallisINF(3)
    learner.t = 4
    learner.estimates.total[0] = 2 * (2 - sqrt(8 / 3))
    assert learner.probabilities() == near([1 / 4, 3 / 8, 3 / 8])


def test_tsallis_inf_with_less_variance() -> None:
    # K = 2: up to round 31 no weight of 1/2 reaches 16/t, so there is no baseline; a loss of 1/4, served 1/2, is 1/2.
    learner = TsallisINF(2, estimator="rv")
    learner.tell(0, 0.25, 0.5)
    assert learner.estimates.total.tolist() == [0.5, 0.0]
    # In round 33 both are above it (1/2 > 16/33, when nothing was lost so far); loss 1/4, served 1/2:
    # (1/4 - 1/2)/(1/2) + 1/2 = 0 for arm 0, and 1/2 for arm 1. Round 34 has eta/2 = 2/sqrt 34.
    learner = TsallisINF(2, estimator="rv")
    learner.t = 33
    learner.tell(0, 0.25, 0.5)
    assert learner.estimates.total.tolist() == [0.0, 0.5]
    assert learner.probabilities()[1] == near(two(2 / sqrt(34) * 0.5))
    # Arm 0 at 3/4 or more has a baseline in round 25 (16/25 = 0.64), arm 1 has none: only arm 0's sum moves.
    learner.t = 25
    learner.estimates.total[:] = [0.0, 3.0]
    assert learner.probabilities()[0] > 0.64
    learner.tell(1, 1.0, 0.25)
    assert learner.estimates.total.tolist() == [0.5, 7.0]


def test_restarted_exp3() -> None:
    # K = 2, T = 40, S = 5: (2 ln 2 x 64)^(1/3) = 88.7228^(1/3) = 4.46, so D = 5 and eta = sqrt(2 ln 2/10).
    learner = RestartedExp3(2, 40, n_switches=5)
    assert learner.block == 5
    for _ in range(4):
        learner.tell(0, 0.5, 0.5)
    assert learner.probabilities()[0] == near(1 / (1 + exp(4 * sqrt(log(2) / 5))))
    learner.tell(0, 0.5, 0.5)
    assert learner.probabilities() == [0.5, 0.5]
    learner.tell(1, 1.0, 0.5)
    assert learner.probabilities()[1] == near(1 / (1 + exp(2 * sqrt(log(2) / 5))))
    assert RestartedExp3(2, 40, n_switches=0).block == 40
    assert RestartedExp3(50, 40).block == 40  # (195.6 x 1600)^(1/3) = 67.9


@pytest.mark.parametrize("risk, b", [(None, sqrt(log(2) / 200)), (0.05, sqrt(log(40) / 200))])
def test_exp3_p(risk: float | None, b: float) -> None:
    # K = 2, T = 100: eta = 0.95 sqrt(ln 2/200) = 0.055927, g = 1.05 sqrt(2 ln 2/100) = 0.123628. Loss 0.25 at arm 0,
    # served 1/2: 1.5 for arm 0, and 2 b for both, which says nothing yet.
    eta, g = 0.95 * sqrt(log(2) / 200), 1.05 * sqrt(2 * log(2) / 100)
    learner = Exp3P(2, 100, risk)
    learner.tell(0, 0.25, 0.5)
    p0 = (1 - g) / (1 + exp(-1.5 * eta)) + g / 2
    assert learner.probabilities() == near([p0, (1 - g) / (1 + exp(1.5 * eta)) + g / 2])
    # Loss 1 at arm 1: no gain, but the bonuses differ now, b/p0 and b/(1 - p0): arm 1, less likely, gains more.
    learner.tell(1, 1.0, 0.3)
    ahead = eta * (1.5 + b / p0 - b / (1 - p0))
    assert learner.probabilities()[0] == near((1 - g) / (1 + exp(-ahead)) + g / 2)
    assert learner.probabilities()[0] < p0


def test_sharing_omd() -> None:
    # K = 2, T = 4, S = 1: xi = sqrt(2 (ln 8 + ln 2)/8) = sqrt(ln 2) = 0.832555. Loss 1 at arm 0, served 1/2: 0.159077,
    # as for ClippedOMD; then each gives a quarter away: 0.75 x 0.159077 + 1/8 = 0.244308.
    learner = SharingOMD(2, 4)
    learner.tell(0, 1.0, 0.5)
    p0 = 0.75 / (1 + exp(2 * sqrt(log(2)))) + 1 / 8
    assert learner.probabilities() == near([p0, 1 - p0])
    assert p0 == pytest.approx(0.244308, abs=1e-6)
    learner.tell(0, 0.0, 0.5)  # nothing lost, and yet something shared
    assert learner.probabilities()[0] == near(0.75 * p0 + 1 / 8)
