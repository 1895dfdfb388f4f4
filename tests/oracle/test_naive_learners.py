"""The oracles of the learners on cases worked by hand, two or three rounds each."""

from __future__ import annotations

from math import e, exp, log, sqrt

import pytest

from tests.naive.learners import ClippedOMD, Exp3, Exp3S, Uniform
from tests.naive.masters import AdaptiveMasterBase, MasterBase


def near(expected: object) -> object:
    return pytest.approx(expected, rel=4e-15, abs=0)


# Single learners


def test_uniform() -> None:
    learner = Uniform(4, 10)
    learner.tell(1, 1.0, 0.25)
    assert learner.probabilities() == [0.25] * 4


def test_exp3_on_losses() -> None:
    # K = 2, T = 4: eta = sqrt(2 ln 2/8) = 0.416277. Loss 1 at arm 0, served 1/2: estimates (2, 0),
    # p0 = 1/(1 + exp(2 eta)) = 1/3.299185 = 0.303105. Then 0.5 at arm 1, served 0.25: (2, 2), p0 = 1/2 again.
    eta = sqrt(log(2) / 4)
    learner = Exp3(2, 4)
    learner.tell(0, 1.0, 0.5)
    assert learner.probabilities() == near([1 / (1 + exp(2 * eta)), 1 / (1 + exp(-2 * eta))])
    assert learner.probabilities()[0] == pytest.approx(0.303105, abs=1e-6)
    learner.tell(1, 0.5, 0.25)
    assert learner.probabilities() == [0.5, 0.5]


def test_exp3_without_a_horizon_weighs_all_again_at_the_new_rate() -> None:
    # After n tells eta = sqrt(ln 2/(2 (n + 1))): 0.416277 after one, 0.339889 after two. The second tell has loss 0,
    # so the estimates stay (2, 0), yet p0 goes up from 0.303105 to 1/(1 + exp(0.679778)) = 0.336311.
    learner = Exp3(2)
    learner.tell(0, 1.0, 0.5)
    assert learner.probabilities()[0] == near(1 / (1 + exp(2 * sqrt(log(2) / 4))))
    learner.tell(1, 0.0, learner.probabilities()[1])
    assert learner.probabilities()[0] == near(1 / (1 + exp(2 * sqrt(log(2) / 6))))
    assert learner.probabilities()[0] == pytest.approx(0.336311, abs=1e-6)


def test_exp3_on_gains() -> None:
    # K = 2, T = 100: g = sqrt(2 ln 2/171.828) = 0.089822. Loss 0.25 at arm 0, served 1/2: gain 0.75/0.5 = 1.5,
    # w = (exp(1.5 g/2), 1) = (1.069687, 1), p0 = (1 - g) 0.516835 + g/2 = 0.515323.
    g = sqrt(2 * log(2) / ((e - 1) * 100))
    learner = Exp3(2, 100, form="gain")
    learner.tell(0, 0.25, 0.5)
    w = exp(1.5 * g / 2)
    assert learner.probabilities() == near([(1 - g) * w / (w + 1) + g / 2, (1 - g) / (w + 1) + g / 2])
    assert learner.probabilities()[0] == pytest.approx(0.515323, abs=1e-6)
    # Gain 1 at arm 1, served 0.4: 2.5.
    learner.tell(1, 0.0, 0.4)
    v = exp(2.5 * g / 2)
    assert learner.probabilities()[0] == near((1 - g) * w / (w + v) + g / 2)


@pytest.mark.parametrize(
    "n_switches, g", [(None, sqrt(2 * log(200) / 100)), (4, sqrt(2 * (5 * log(200) + e) / ((e - 1) * 100)))]
)
def test_exp3_s(n_switches: int | None, g: float) -> None:
    # K = 2, T = 100, s = 1/100: g = 0.325525 untuned, 0.583086 for S = 4. Loss 0 at arm 0, served 1/2: gain 2,
    # factor exp(2 g/2) = exp(g); share (e/200) of the old total 2 to each: w = (exp(g) + e/100, 1 + e/100).
    learner = Exp3S(2, 100, n_switches)
    learner.tell(0, 0.0, 0.5)
    w0, w1 = exp(g) + e / 100, 1 + e / 100
    assert learner.probabilities() == near([(1 - g) * w0 / (w0 + w1) + g / 2, (1 - g) * w1 / (w0 + w1) + g / 2])
    # Loss 1 at arm 1: no gain; both get e/200 of w0 + w1.
    learner.tell(1, 1.0, 0.3)
    share = e / 200 * (w0 + w1)
    assert learner.probabilities()[0] == near((1 - g) * (w0 + share) / (w0 + w1 + 2 * share) + g / 2)


def test_exp3_s_on_a_short_horizon_is_uniform() -> None:
    learner = Exp3S(2, 2)  # sqrt(2 ln 4/2) = 1.18 > 1, so g = 1
    learner.tell(0, 0.0, 0.5)
    assert learner.probabilities() == [0.5, 0.5]


def test_clipped_omd_meets_its_floor() -> None:
    # K = 2, T = 4, S = 1: floor 1/8, xi = sqrt(2 (ln 8 + ln 2)/8) = sqrt(ln 2) = 0.832555.
    xi = sqrt(log(2))
    learner = ClippedOMD(2, 4)
    # Loss 1 at arm 0, served 1/2: w = (exp(-2 xi), 1)/2, p0 = 1/(1 + exp(2 xi)) = 1/6.286251 = 0.159077.
    learner.tell(0, 1.0, 0.5)
    first = 1 / (1 + exp(2 * xi))
    assert learner.probabilities() == near([first, 1 - first])
    assert first == pytest.approx(0.159077, abs=1e-6)
    # Again, served 0.159077: exponent 5.233647, p0 would be 0.001: the floor.
    learner.tell(0, 1.0, first)
    assert learner.probabilities() == [1 / 8, 7 / 8]
    # Loss 1 at arm 1, served 7/8: exponent 8 xi/7 = 0.951491, p0 = 1/(1 + 7 exp(-0.951491)) = 0.270040.
    learner.tell(1, 1.0, 7 / 8)
    assert learner.probabilities()[0] == near(1 / (1 + 7 * exp(-8 * xi / 7)))
    assert learner.probabilities()[0] == pytest.approx(0.270040, abs=1e-6)


def test_clipped_omd_without_switches() -> None:
    learner = ClippedOMD(2, 4, n_switches=0)  # xi = sqrt(2 ln 2/8)
    learner.tell(0, 1.0, 0.5)
    assert learner.probabilities()[0] == near(1 / (1 + exp(2 * sqrt(log(2) / 4))))


def test_clipped_omd_with_three_arms_and_one_on_the_floor() -> None:
    # K = 3, T = 2: floor 1/6. Arm 0 sinks to 1/6, the rest share 5/6. Then arm 1 sinks: the free arms 0 and 2 grow by
    # the same factor, (5/6)/(1/6 + 5/12) = 10/7.
    learner = ClippedOMD(3, 2, n_switches=40)
    learner.tell(0, 1.0, 1 / 3)
    assert learner.probabilities() == near([1 / 6, 5 / 12, 5 / 12])
    learner.tell(1, 1.0, 5 / 12)
    assert learner.probabilities() == near([10 / 42, 1 / 6, 50 / 84])


# Algorithm 1. K = 2, T = 8: ceil(ln 8) = 3, candidates 1, 2, 4, 8, H = 4. The paper's alpha = (2/8)^(1/3)/2 = 0.315 is
# above 1/4, so 1/8. beta = 1/16, eta = 1/sqrt(32), xi(h) = sqrt(h)/(4 * 2^(1/3)).

ETA = 1 / sqrt(32)
XI = [sqrt(h) / (4 * 2 ** (1 / 3)) for h in (1, 2, 4, 8)]


def test_master_base_starts_as_computed() -> None:
    learner = MasterBase(2, 8)
    assert [float(h) for h in learner.candidates] == near([1, 2, 4, 8])
    assert learner.master_rates() == near([ETA] * 4)
    assert learner.base_rates() == near(XI)
    assert learner.alpha == 1 / 8
    assert float(MasterBase(2, 20).alpha) == near((2 / 20) ** (1 / 3) / 2)  # H = 4, 0.232: feasible
    assert float(MasterBase(2, 16).alpha) == near(1 / 4)  # exactly 1/H: still the paper's
    assert MasterBase(2, 1).base_rates() == MasterBase(2, 2).base_rates()  # T = 1 is treated as 2


def test_master_base_with_own_feedback() -> None:
    learner = MasterBase(2, 8)
    # Base 3, arm 0, loss 1: L1 = 1/(1/4) = 4, exponent 4/sqrt(32) = 0.707107; w = exp(-0.707107) = 0.493069 against 3:
    # p(3) = 0.493069/3.493069 = 0.141156. L2 = 4/(1/2) = 8, exponent 8 xi(8) = 4.489848: base 3 sits on its floor 1/16.
    learner.tell(0, 1.0, 3, 1 / 4, 1 / 2, 1 / 2)
    w = exp(-sqrt(0.5))
    assert learner.master() == near([1 / (3 + w)] * 3 + [w / (3 + w)])
    assert learner.bases() == near_rows([[1 / 2, 1 / 2]] * 3 + [[1 / 16, 15 / 16]])
    assert learner.probabilities()[0] == near(3 / (3 + w) / 2 + w / (3 + w) / 16)
    # Base 3 again, arm 1, loss 1, served p(3), 15/16: w e^(-eta/p(3)) would leave it 0.045: the master's floor 1/8.
    # Base 3's exponent is xi(8)/(p(3) 15/16).
    p3 = w / (3 + w)
    learner.tell(1, 1.0, 3, p3, 15 / 16, learner.probabilities()[1])
    assert learner.master() == near([7 / 24] * 3 + [1 / 8])
    moved = 15 * exp(-XI[3] / (p3 * 15 / 16))
    assert learner.bases()[3] == near([1 / (1 + moved), moved / (1 + moved)])


def near_rows(rows: list[list[float]]) -> object:
    return [near(row) for row in rows]


def test_master_base_with_shared_feedback() -> None:
    learner = MasterBase(2, 8, feedback="shared")
    # Arm 0, loss 1, q = 1/2: every base is charged (1/2)/(1/2) = 1, so the master stays; every base steps by 2 xi(h).
    learner.tell(0, 1.0, 2, 1 / 4, 1 / 2, 1 / 2)
    assert learner.master() == near([1 / 4] * 4)
    odds = [exp(-2 * xi) for xi in XI]
    p0 = [x / (1 + x) for x in odds]
    assert learner.bases() == near_rows([[p, 1 - p] for p in p0])
    # Arm 0 once more, loss 1, q = mean of p0: base h is charged p0[h]/q, and steps by xi(h)/q.
    q = sum(p0) / 4
    learner.tell(0, 1.0, 0, 1 / 4, p0[0], q)
    weights = [exp(-ETA * p / q) for p in p0]
    assert learner.master() == near([w / sum(weights) for w in weights])
    odds = [x * exp(-xi / q) for x, xi in zip(odds, XI, strict=True)]
    assert learner.bases() == near_rows([[max(1 / 16, x / (1 + x)), min(15 / 16, 1 / (1 + x))] for x in odds])
    assert learner.bases()[3] == [1 / 16, 15 / 16]


def test_master_base_with_mixing() -> None:
    learner = MasterBase(2, 8, projection="mixing")
    # As in the exact case, but without floors inside: served p = (1 - 4/8) inner + 1/8, bases (1 - 2/16) inner + 1/16.
    learner.tell(0, 1.0, 3, 1 / 4, 1 / 2, 1 / 2)
    w, x = exp(-sqrt(0.5)), exp(-8 * XI[3])
    assert learner.master() == near([0.5 / (3 + w) + 1 / 8] * 3 + [0.5 * w / (3 + w) + 1 / 8])
    assert learner.bases()[3] == near([0.875 * x / (1 + x) + 1 / 16, 0.875 / (1 + x) + 1 / 16])
    # Once more with arm 1: exponents add up.
    p3, p31 = learner.master()[3], learner.bases()[3][1]
    learner.tell(1, 1.0, 3, p3, p31, 0.5)
    w, y = w * exp(-ETA / p3), exp(-XI[3] / (p3 * p31))
    assert learner.master()[3] == near(0.5 * w / (3 + w) + 1 / 8)
    assert learner.bases()[3] == near([0.875 * x / (x + y) + 1 / 16, 0.875 * y / (x + y) + 1 / 16])


def test_a_late_tell_meets_the_present_state() -> None:
    # Two decisions of the first round, told one after the other: both were served 1/2 (and q = 1/2).
    shared = MasterBase(2, 8, feedback="shared")
    shared.tell(0, 1.0, 0, 1 / 4, 1 / 2, 1 / 2)
    shared.tell(0, 0.5, 1, 1 / 4, 1 / 2, 1 / 2)
    # The second charges base h its present p_h(0) x 0.5/(1/2) = p_h(0), and moves it by xi(h) 0.5/(1/2) = xi(h).
    weights = [exp(-ETA / (1 + exp(2 * xi))) for xi in XI]
    assert shared.master() == near([w / sum(weights) for w in weights])
    assert shared.bases()[0] == near([1 / (1 + exp(3 * XI[0])), 1 / (1 + exp(-3 * XI[0]))])
    alone = ClippedOMD(2, 40, n_switches=0)
    alone.tell(0, 1.0, 0.5)
    alone.tell(0, 1.0, 0.5)
    assert alone.probabilities()[0] == near(1 / (1 + exp(4 * sqrt(2 * log(2) / 80))))


# Algorithm 2. K = 2, T = 8: H = 4, alpha = 1/32, beta = 1/16, rho = 8, gamma = exp(1/ln 8) = 1.617527,
# xi(h) = sqrt(h/128).


def three_and_one(gap: float) -> float:
    """The x at which 3/x + 1/(x + gap) = 1: three bases at 1/q = x, one at x + gap. x^2 + (gap - 4) x - 3 gap = 0."""
    return (4 - gap + sqrt((gap - 4) ** 2 + 12 * gap)) / 2


def test_adaptive_master_base_starts_as_computed() -> None:
    learner = AdaptiveMasterBase(2, 8)
    assert learner.master_rates() == near([sqrt(1 / 2)] * 4)
    assert AdaptiveMasterBase(2, 8, rate="theorem").master_rates() == near([1 / 2] * 4)
    assert learner.rho() == [8] * 4
    assert learner.base_rates() == near([sqrt(h / 128) for h in (1, 2, 4, 8)])


def test_adaptive_master_base_with_own_feedback() -> None:
    learner = AdaptiveMasterBase(2, 8, rate="theorem")  # eta = 1/2
    # Base 3, arm 0, loss 1: L1 = 4, so 1/q = x for the others and x + 2 for base 3: x^2 - 2x - 6 = 0, x = 1 + sqrt 7,
    # q(3) = 1/(3 + sqrt 7) = 0.177124, and rho stays (5.65 < 8). L2 = 8, xi(8) = 1/4: odds of arm 0 are exp(-2).
    learner.tell(0, 1.0, 3, 1 / 4, 1 / 2, 1 / 2)
    assert learner.master() == near([1 / (1 + sqrt(7))] * 3 + [1 / (3 + sqrt(7))])
    assert learner.bases()[3] == near([1 / (1 + exp(2)), 1 / (1 + exp(-2))])
    assert learner.rho() == [8] * 4
    # Again with arm 1, loss 1: L1 = 3 + sqrt 7 = 5.645751, gap = 2 + L1/2 = 4.822876, x = 3.414514,
    # 1/q(3) = 8.237390 > 8: rho = 16.474780, eta(3) grows by gamma. The base still steps at xi = 1/4: exponent
    # L1 (1 + e^-2)/4 = 1.602455, odds of arm 0 exp(-2 + 1.602455).
    L1 = 3 + sqrt(7)
    gap = 2 + L1 / 2
    learner.tell(1, 1.0, 3, 1 / L1, 1 / (1 + exp(-2)), 0.5)
    x = three_and_one(gap)
    assert x + gap == pytest.approx(8.237390, abs=1e-6)
    assert learner.master() == near([1 / x] * 3 + [1 / (x + gap)])
    assert learner.rho() == near([8, 8, 8, 2 * (x + gap)])
    assert learner.master_rates() == near([1 / 2] * 3 + [exp(1 / log(8)) / 2])
    odds = exp(-2 + L1 * (1 + exp(-2)) / 4)
    assert learner.bases()[3] == near([odds / (1 + odds), 1 / (1 + odds)])
    # Now xi(8) = sqrt(8/(16 rho)) = 0.174211. Arm 0, loss 1: exponent 0.174211/(p(3) p_3(0)) = 3.57: the floor 1/16.
    assert learner.base_rates() == near([sqrt(h / 128) for h in (1, 2, 4)] + [1 / sqrt(2 * 2 * (x + gap))])
    learner.tell(0, 1.0, 3, 1 / (x + gap), odds / (1 + odds), 0.5)
    assert learner.bases()[3] == [1 / 16, 15 / 16]


def test_adaptive_master_base_meets_its_floor_and_leaves_rho_on_a_tie() -> None:
    # K = 2, T = 2: H = 2, alpha = 1/4, rho = 4, eta = 1. Base 0, loss 1: 1/x + 1/(x + 2) = 1, x = sqrt 2.
    learner = AdaptiveMasterBase(2, 2)
    learner.tell(0, 1.0, 0, 1 / 2, 1 / 2, 1 / 2)
    assert learner.master() == near([1 / (2 + sqrt(2)), 1 / sqrt(2)])
    # Again, L1 = 2 + sqrt 2: without a floor p(0) would be 0.15; so 1/4, and 1/p(0) = 4 is not above rho = 4.
    learner.tell(0, 1.0, 0, 1 / (2 + sqrt(2)), 1 / 4, 1 / 2)
    assert learner.master() == near([1 / 4, 3 / 4])
    assert learner.rho() == [4, 4]
    # Base 1, loss 1/2, served 3/4: 1/q = 4 - z and 4/3 + 2/3 - z = 2 - z: x = sqrt 2 for base 1, both free again.
    learner.tell(0, 0.5, 1, 3 / 4, 1 / 2, 1 / 2)
    assert learner.master() == near([1 / (2 + sqrt(2)), 1 / sqrt(2)])


def test_adaptive_master_base_with_shared_feedback() -> None:
    # K = 2, T = 2, eta = 1, xi(h) = sqrt(h/16): 1/4 and sqrt(2)/4. Arm 0, loss 1, q = 1/2: both are charged 1: no move;
    # the bases step by 2 xi: p_0(0) = 1/(1 + exp(0.5)) = 0.377541, p_1(0) = 1/(1 + exp(0.707107)) = 0.330238.
    learner = AdaptiveMasterBase(2, 2, feedback="shared")
    learner.tell(0, 1.0, 1, 1 / 2, 1 / 2, 1 / 2)
    assert learner.master() == [0.5, 0.5]
    p = [1 / (1 + exp(0.5)), 1 / (1 + exp(sqrt(0.5)))]
    assert [row[0] for row in learner.bases()] == near(p)
    # Arm 0, loss 1, q = their mean: charges p/q; 1/x + 1/(x + g) = 1 with g = (p_0 - p_1)/q:
    # x = (2 - g + sqrt(4 + g^2))/2.
    q = (p[0] + p[1]) / 2
    learner.tell(0, 1.0, 0, 1 / 2, p[0], q)
    g = (p[0] - p[1]) / q
    x = (2 - g + sqrt(4 + g * g)) / 2
    assert learner.master() == near([1 / (x + g), 1 / x])
    assert learner.bases() == [[1 / 4, 3 / 4], [1 / 4, 3 / 4]]  # floors: exp(-0.5 - 0.25/q) leaves arm 0 0.23 at most


def test_adaptive_master_base_with_mixing() -> None:
    # K = 2, T = 2: served p = (1 - 2/4) inner + 1/4. Inner after base 0, loss 1: (1/(2 + sqrt 2), 1/sqrt 2) as above.
    learner = AdaptiveMasterBase(2, 2, projection="mixing")
    learner.tell(0, 1.0, 0, 1 / 2, 1 / 2, 1 / 2)
    p0 = 0.5 / (2 + sqrt(2)) + 1 / 4
    assert learner.master() == near([p0, 0.5 / sqrt(2) + 1 / 4])
    assert learner.bases()[0] == near([0.5 / (1 + e) + 1 / 4, 0.5 / (1 + 1 / e) + 1 / 4])  # xi L2 = (1/4) 4 = 1
    # Again, L1 = 1/p0: inner 1/q = sqrt 2 - z and 2 + sqrt 2 + 1/p0 - z: gap 2 + 1/p0.
    learner.tell(0, 1.0, 0, p0, 1 / 2, 1 / 2)
    gap = 2 + 1 / p0
    x = (2 - gap + sqrt(4 + gap * gap)) / 2
    assert learner.master() == near([0.5 / (x + gap) + 1 / 4, 0.5 / x + 1 / 4])


def test_adaptive_master_base_with_mixing_watches_what_it_serves() -> None:
    # K = 2, T = 8, eta = 1/2: served p = (1 - 4/32) inner + 1/32. Base 3, loss 1: inner 1/(3 + sqrt 7),
    # served 0.186234.
    learner = AdaptiveMasterBase(2, 8, projection="mixing", rate="theorem")
    learner.tell(0, 1.0, 3, 1 / 4, 1 / 2, 1 / 2)
    p3 = 0.875 / (3 + sqrt(7)) + 1 / 32
    assert learner.master()[3] == near(p3)
    # Again: gap = 2 + 1/(2 p3) = 4.684797; inside 1/q(3) = 8.106921 is above rho = 8, served 1/p(3) = 7.185 is not.
    learner.tell(0, 1.0, 3, p3, 1 / 2, 1 / 2)
    gap = 2 + 1 / p3 / 2
    inside = three_and_one(gap) + gap
    assert inside > 8
    p3 = 0.875 / inside + 1 / 32
    assert learner.master()[3] == near(p3)
    assert learner.rho() == [8] * 4
    # Once more, and what is served crosses too: rho = 2/p(3).
    learner.tell(0, 1.0, 3, p3, 1 / 2, 1 / 2)
    gap += 1 / p3 / 2
    p3 = 0.875 / (three_and_one(gap) + gap) + 1 / 32
    assert learner.rho() == near([8, 8, 8, 2 / p3])
