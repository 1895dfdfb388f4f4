"""The oracle of Turncoat's rule, on cases worked by hand."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from tests.naive.solve import REAL, reals
from tests.naive.turncoat_band import Recipe, TurncoatBand, kl_upper, means_around_a_change, step_with_floors

SMALL = Recipe(
    n_clipped=2,
    n_signed=2,
    n_detectors=1,
    windows=(2.0,),
    prior=(3.0,) * 6,
    first_guess=4.0,
    eta=1.0,
    most_eta=0.5,
    few=1,
    detector_floor=0.3,
    detector_index=0.3,
    alarm=0.5,
    test_every=2,
    least_pulls=2.0,
    noise_prior=0.125,
    least_noise=1.0,  # none is less
    recalled=0.5,
    doubted=0.25,
    follower_index=(0.2,),
    pseudo_samples=2.0,
    largest=1e30,
    slow_rate=1.0,
    most_slow_rate=0.5,
    all_planned=4,
    most_planned=8,
    many=1024,
)


def near(expected: object) -> object:
    return pytest.approx(expected, rel=1e-14, abs=0)


def no_lot(i: int, k: int) -> float:
    raise AssertionError("nothing begins anew here")


def test_the_index() -> None:
    # kl(0, q) = -ln(1 - q). kl(1/2, q) = -ln(4 q (1 - q))/2, which is ln(5/4) at q = 4/5.
    assert float(kl_upper(REAL(0), REAL(0.7))) == near(1 - exp(-0.7))
    assert float(kl_upper(REAL(0.5), np.log(REAL(1.25)))) == near(0.8)
    assert float(kl_upper(REAL(1), REAL(0.7))) == 1.0


def test_a_step_with_floors() -> None:
    # Weights 4/8, 1/8, 2/8 are 4/7, 1/7, 2/7. A floor of 3/10 under the second leaves 7/10 to the others, two to one.
    p, x = reals([0.5, 0.25, 0.25]), reals([5.0, 5.0 + np.log(REAL(2)), 5.0])
    assert step_with_floors(p, x, reals([0.1, 0.1, 0.1])).astype(float).tolist() == near([4 / 7, 1 / 7, 2 / 7])
    assert step_with_floors(p, x, reals([0.1, 0.3, 0.1])).astype(float).tolist() == near([7 / 15, 3 / 10, 7 / 30])
    assert step_with_floors(p, x, reals([0.6, 0.3, 0.0])).astype(float).tolist() == near([0.6, 0.3, 0.1])
    assert step_with_floors(p, reals([0, 1e9, 1e9]), reals([0.1, 0.2, 0.3])).astype(float) == near([0.5, 0.2, 0.3])


def test_the_first_round() -> None:
    # Two arms: mirrors say 1/2, 1/2, both leaders are arm 0, so q = 2/3, 1/3. Arm 1 costs 1. The baseline is 1/2; arm 0
    # is likely enough for it, 2/3 ≥ 1/2 · 1/2. Charges: mirrors 1/2 · 3 + 1/2 · 1/2 = 7/4, leaders 1/2; rate 1/2. The
    # slow base, with rate 1/4, has its mix loss in the place of 1/2 · 3.
    band = TurncoatBand(2, SMALL)
    assert band.probabilities().astype(float).tolist() == near([2 / 3, 1 / 3])
    slow = 0.25 - 4 * log(0.5 + 0.5 * exp(-0.75))
    assert band.charges(1, REAL(1) / 3, 1.0).astype(float).tolist() == near([slow] + [1.75] * 3 + [0.5] * 2)
    assert band.floors() == near([1 / 24] * 4 + [0.15, 1 / 24])
    assert band.rates() == near([1 / 4, sqrt(sqrt(2) / 8), sqrt(log(16) / 4), sqrt((4**0.9 * log(8) + log(2)) / 4)])
    zetas = band.rates()[2:]
    band.tell(1, 1 / 3, 1.0, no_lot)
    first, w = exp(-0.5 * (slow - 0.5)), exp(-0.5 * 1.25)
    total = first + 3 * w + 2
    assert band.p.astype(float).tolist() == near([first / total] + [w / total] * 3 + [1 / total] * 2)
    # Clipped: exp(-3 xi). Signed: exp(-3/2 zeta), then a quarter is shared.
    for P, xi in zip(band.mirrors[:2], band.rates()[:2], strict=True):
        assert float(P[1]) == near(exp(-3 * xi) / (1 + exp(-3 * xi)))
    for P, zeta in zip(band.mirrors[2:], zetas, strict=True):
        v = exp(-1.5 * zeta)
        assert float(P[1]) == near(0.75 * v / (1 + v) + 1 / 8)
    # Arm 1, in turn too, has one reward of 0: kl-UCB's 1 - 2^-0.3, and for the follower 0 of 1 + 2 samples, ln 1 = 0.
    assert band.indices.tolist() == [[2.0, near(1 - 2**-0.3)], [2.0, 0.0]]
    assert band.leaders == [0, 0]
    assert float(band.slow()) == near(0.75) and float(band.fast) == near(0.75)


def test_a_clipped_base_never_gives_an_arm_up() -> None:
    slow, other = TurncoatBand(2, SMALL).mirrors_after(1, REAL("0.001"), 1.0)[:2]
    assert slow.astype(float).tolist() == near([3 / 4, 1 / 4])  # beta = 1/(2 K), which is less than 1/sqrt(K N)
    assert other.astype(float).tolist() == near([7 / 8, 1 / 8])  # beta = 1/(K N)


def test_an_arm_is_charged_above_as_much_of_the_baseline_as_it_is_likely() -> None:
    # Arm 0 leads: with q = 2/3 it is charged P(0) (l - 1/2) 3/2 + P(0)/2; with q = 1/5 the baseline is only 2/5, and it
    # is P(0) (l - 2/5) 5 + 2/5 P(0). The slow base has -4 ln(1/2 + exp(-l/(4 q))/2) for P(0) l/q in this.
    band = TurncoatBand(2, SMALL)
    at_5, at_3 = (-4 * log(0.5 + 0.5 * exp(-estimate / 4)) for estimate in (5, 3))
    assert band.charges(0, REAL(2) / 3, 0.0).astype(float).tolist() == near([-0.125] * 4 + [-0.25] * 2)
    assert band.charges(0, REAL(1) / 5, 1.0).astype(float).tolist() == near([at_5 - 0.8] + [1.7] * 3 + [3.4] * 2)
    assert band.charges(0, REAL(1) / 5, 0.0).astype(float).tolist() == near([-0.8] * 4 + [-1.6] * 2)
    # If all arms have one, arm 1 at q = 1/3 too: mirrors 1/2 (1 - 1/2) 3 + 1/2, leaders 1/2.
    all_arms = TurncoatBand(2, SMALL._replace(few=2))
    assert all_arms.charges(1, REAL(1) / 3, 1.0).astype(float).tolist() == near([at_3 - 0.25] + [1.25] * 3 + [0.5] * 2)
    slow, *others = band.charges(0, REAL("1e-40"), 1.0).astype(float).tolist()
    assert others == [1e30] * 5 and slow == near(4 * log(2) - 1)  # the mix loss is near its limit; 1/2 · 2 comes off


def test_baselines_and_the_guess() -> None:
    # Losses 1 1 1 1 1: slow 5.5/6. Fast, over 2, 3, 4, 5, 6 rounds: 1 - 1/2 · 1/2 · 2/3 · 3/4 · 4/5 · 5/6 = 11/12.
    band = TurncoatBand(2, SMALL)
    for t in range(5):
        assert band.N == 4.0, t
        band.tell(0, 0.5, 1.0, no_lot)
    assert band.N == 8.0
    assert float(band.slow()) == near(11 / 12) and float(band.fast) == near(11 / 12)
    # Far apart, they differ by 0.2 at most.
    band.fast = REAL(0)
    assert float(band.baseline()) == near(0.2)
    band.fast = REAL(5)
    assert float(band.baseline()) == near(4.8)


def test_a_follower_forgets() -> None:
    # Window 2: half is kept. Rewards 1 of arm 0, then 0 of arm 1: n = 1/2 and 1, 3/2 in all, mean 1/3.
    band = TurncoatBand(2, SMALL)
    band.tell(0, 0.5, 0.0, no_lot)
    band.tell(1, 0.5, 1.0, no_lot)
    wide = sqrt(0.2 * log(1.5))
    assert band.indices[1].tolist() == near([(0.5 + 2 / 3) / 2.5 + wide / sqrt(2.5), 2 / 9 + wide / sqrt(3)])


def test_a_change_is_found_and_all_but_an_idea_forgotten() -> None:
    # Rewards 0 1/2 of arm 0: ln(4/3) + ln(4/3)/2 = 0.43, above ln(0.5 · 2 · 4^(1/4)) = 0.35. Before, 1/4 1/4 of arm 1:
    # no evidence. Arm 0 moved from 0 to 1/2, so arm 1 is thought at 3/4, and a quarter of the way to 1/2: 11/16.
    band = TurncoatBand(3, SMALL)
    for a, loss in ((1, 0.75), (1, 0.75), (0, 1.0)):
        band.tell(a, 0.5, loss, no_lot)
    band.tell(0, 0.5, 0.5, lambda i, k: 0.5 + 0.125 * k)
    assert band.n_restarts == [1] and band.since == [[4, 4, 4]]
    assert [[float(n), float(total)] for n, total in band.recalled[0]] == [[0.0, 0.0], [0.5, 11 / 32], [0.0, 0.0]]
    assert band.history(0, 0) == band.history(0, 1) == []
    assert band.indices[0, [0, 2]].tolist() == [2.5, 2.75] and band.leaders[0] == 2
    assert band.indices[0, 1] == float(kl_upper(REAL(11) / 16, np.log(REAL(2)) * 0.6))
    # Then a reward of 1 of arm 1: 1.5 samples, 43/32 in all.
    band.tell(1, 0.5, 0.0, no_lot)
    assert [float(number) for number in band.known(0, 1)] == [1.5, 43 / 32]
    assert band.indices[0, 1] == near(float(kl_upper(REAL(43) / 48, np.log(REAL(2)) * 0.2)))


def test_rewards_of_little_noise_count_for_more() -> None:
    # Rewards 1/4 1/4 of arm 1: r(1 - r) sums to 3/8, so does m(1 - m): rho = 1 - (3/8)/(1/2) = 1/4, they count as 8.
    band = TurncoatBand(3, SMALL._replace(least_noise=0.02, alarm=2.0))
    for _ in range(2):
        band.tell(1, 0.5, 0.75, no_lot)
    assert band.noise(0, 1) == 0.25 and band.noise(0, 0) == 1.0
    assert band.indices[0, 1] == near(float(kl_upper(REAL(0.25), np.log(REAL(2)) * REAL(0.3) / 8)))
    # Rewards 0 1/2 of arm 0: 1/4 against 3/16, rho = 1/5. Evidence 0.43, above ln(2 · 2 · 4^(1/4))/5 = 0.35.
    for loss in (1.0, 0.5):
        band.tell(0, 0.5, loss, lambda i, k: 0.5 + 0.125 * k)
    assert float(band.noise(0, 0)) == near(0.2) and band.n_restarts == [1]
    # Arm 1 is recalled at 11/16. Reward 1/2: 5/8 against 5/8, rho = 1/6, so it counts as 6 beside the half sample.
    band.tell(1, 0.5, 0.5, no_lot)
    assert float(band.noise(0, 1)) == near(1 / 6)
    assert band.indices[0, 1] == near(float(kl_upper(REAL(107) / 208, np.log(REAL(2)) * REAL(0.3) / 6.5)))
    # The noise is never thought to be less than is allowed.
    calm = TurncoatBand(2, SMALL._replace(least_noise=0.75))
    calm.tell(0, 0.5, 0.5, no_lot)
    assert calm.noise(0, 0) == 0.75


def test_the_means_around_a_change() -> None:
    assert [float(m) for m in means_around_a_change([1.0, 1.0, 0.5, 0.0])] == near([1.0, 0.25])
    assert [float(m) for m in means_around_a_change([0.0, 0.0, 0.0, 1.0])] == [0.0, 1.0]


def test_only_two_arms_are_looked_at_again() -> None:
    # Arm 3 is told each time; arms 1, 2, 3, 0, 1 have their turn.
    band = TurncoatBand(4, SMALL._replace(test_every=100))
    for t in range(1, 6):
        before = band.indices.copy()
        band.tell(3, 0.5, 0.5, no_lot)
        moved = set(np.flatnonzero((band.indices != before).any(axis=0)).tolist())
        assert moved <= {3, t % 4} and 3 in moved


def test_one_arm_is_only_counted() -> None:
    band = TurncoatBand(1, SMALL)
    p = band.p.tolist()
    for _ in range(9):
        band.tell(0, 1.0, 1.0, no_lot)
    assert band.p.tolist() == p and band.probabilities().astype(float).tolist() == near([1.0])
    assert (band.t, band.N) == (9, 16.0)


def test_planned_shares_by_hand() -> None:
    """Two arms, rewards of 1/2: the first arm's, then the second's. All means are 1/2, so samples are brought level.

    The follower of a window of 2 rounds then has 1/2 and 1 of them, and 2 more of each.
    """
    band = TurncoatBand(2, SMALL)
    assert band.planned(0, 4) == near([0.5, 0.5]) and band.planned(1, 4) == near([0.5, 0.5])
    band.tell(0, 0.5, 0.5, no_lot)
    assert band.planned(0, 4) == near([0.5, 0.5])  # the second has no reward yet: ceil(4/2) pulls
    band.tell(1, 0.5, 0.5, no_lot)
    assert band.planned(0, 8) == near([0.5, 0.5])
    assert band.planned(1, 8) == near([4.25 / 8, 3.75 / 8])
    rows = np.array([*band.mirrors, band.planned(0, 8), band.planned(1, 8)])
    assert band.probabilities(8) == near(band.p @ rows)
