"""The constants of docs/guarantee.md: none can be much smaller, and the rates are as the proof wants them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from tests.cases import compiles_nothing
from tests.naive import guarantee as naive
from tests.naive.guarantee import Tuning
from tests.theory.games import TUNINGS
from turncoat.bounds import turncoat_bound
from turncoat.learners.turncoat import constants

pytestmark = compiles_nothing


class Base:
    """The slow base with two arms and arbitrary charges, against the corner of one arm after another."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning, self.P, self.left, self.refunds = tuning, [0.5, 0.5], 0.0, 0.0

    def charge(self, a: int, estimate: float, N: int, n: int, path: int) -> None:
        """Arm a is charged n times at the rates of N, while the path is on the arm `path`."""
        xi, beta = self.tuning.xi(0, N), self.tuning.beta(0, N)
        u = naive.inside(path, [beta] * 2)
        for _ in range(n):
            self.left += (self.P[a] - u[a]) * estimate
            self.refunds += self.P[a] * estimate - naive.mix_loss(self.P[a], estimate, xi)
            self.P = naive.entropy_step(self.P, [xi * estimate * (k == a) for k in range(2)], [beta] * 2)


def test_every_switch_costs_what_the_lemma_says() -> None:
    tuning, N = Tuning(K=2, n_clipped=2, n_specialists=0, first=2**14), 2**14
    base, n = Base(tuning), 2500
    for segment in range(4):
        base.charge(1 - segment % 2, 2.0, N, n, path=segment % 2)
    allowed = naive.base_switches(tuning, 0, 4 * n, 3) + base.refunds
    assert 0.95 * allowed < base.left <= allowed


def test_a_falling_rate_costs_more_than_ln_K_over_the_last_rate() -> None:
    # An arm is charged down to the first floor at the first rate; much later, at the last rate, it is the best.
    tuning, T = Tuning(K=2, n_clipped=2, n_specialists=0), 16 * 2**10
    base = Base(tuning)
    base.charge(0, 2.0, 16, 16, path=0)
    base.charge(1, 0.5, T, T // 2, path=0)
    assert base.left > 2 * math.log(2) / tuning.xi(0, T) + base.refunds
    assert base.left <= naive.base_switches(tuning, 0, T, 0) + base.refunds


def test_sums_over_doublings() -> None:
    tuning = Tuning(K=3, n_clipped=1, n_specialists=1)
    guesses = [tuning.guess(t) for t in range(1, 2**17 + 1)]
    for T in (1, 16, 17, 1000):
        assert [N for N, n in tuning.guesses(T) for _ in range(n)] == guesses[:T]
    roots, inverses = accumulate(N**-0.5 for N in guesses), accumulate(1 / N for N in guesses)
    for t, (root, inverse) in enumerate(zip(roots, inverses, strict=True), 1):
        assert root <= (1 + math.sqrt(0.5)) * math.sqrt(t)
        assert inverse <= 1 + math.log2(max(t, 16) / 16) / 2 + 1e-9
        if t in (2**10, 2**17):
            assert root == pytest.approx((1 + math.sqrt(0.5)) * math.sqrt(t) - math.sqrt(8))
            assert inverse == pytest.approx(1 + math.log2(t / 16) / 2)
    assert 2 * inverse > 14  # so that no constant such as 2 pays for both small floors


def test_rates_and_floors_are_as_the_proof_wants_them() -> None:
    for tuning in [*TUNINGS, SHIPPED]:
        N = tuning.first
        assert all(share >= floor for share, floor in zip(tuning.prior(), tuning.floors(N), strict=True))
        assert math.fsum(tuning.floors(N)) <= 1
        for _ in range(20):
            assert tuning.eta(2 * N) <= tuning.eta(N) <= 0.5
            for before, after in zip(tuning.floors(N), tuning.floors(2 * N), strict=True):
                assert after <= before
                assert after / tuning.eta(2 * N) <= before / tuning.eta(N) * (1 + 1e-12)
            for j in range(tuning.n_clipped):
                assert tuning.xi(j, 2 * N) <= tuning.xi(j, N)
                assert tuning.beta(j, 2 * N) <= tuning.beta(j, N) <= 1 / tuning.K
                ratios = [tuning.beta(j, n) / tuning.xi(j, n) for n in (N, 2 * N)]
                assert ratios[1] <= ratios[0] * (1 + 1e-12)
            N *= 2


def test_the_master_can_owe_what_its_start_says() -> None:
    # Base 0 is charged down to the floor of every guess but the last; at the last it is the best.
    tuning, doublings, eps = Tuning(K=2, n_clipped=2, n_specialists=1), 10, 0.05
    p, left, gaps = tuning.prior(), 0.0, 0.0

    def step(x: list[float], N: int) -> None:
        nonlocal p, left, gaps
        v = naive.inside(0, tuning.floors(N))
        left += math.fsum((p_i - v_i) * x_i for p_i, v_i, x_i in zip(p, v, x, strict=True)) / tuning.eta(N)
        gaps += naive.gap(p, x) / tuning.eta(N)
        p = naive.entropy_step(p, x, tuning.floors(N))

    for m in range(doublings):
        N = 16 * 2**m
        while p[0] > tuning.floors(N)[0]:
            step([eps, 0.0, 0.0], N)
    T = 16 * 2**doublings
    for _ in range(T // 2):
        step([0.0, eps, eps], T)
    start = naive.master_start(tuning, 0, T)
    assert 0.75 * start < left - gaps and left <= start + gaps


SHIPPED = Tuning(
    K=10,
    n_clipped=constants.N_CLIPPED,
    n_specialists=constants.N_BASES - constants.N_CLIPPED,
    pace=constants.ETA,
    most=constants.MOST_ETA,
    trust=constants.DETECTOR_FLOOR,
    first=int(constants.FIRST_GUESS),
    grid=0.25,
    shares=tuple(constants.PRIOR),
    detector=constants.N_MIRRORS,
    slow=constants.SLOW_RATE,
    cap=constants.MOST_SLOW_RATE,
)
PAGE = Path(__file__).parents[2] / "docs" / "guarantee.md"


@pytest.mark.parametrize("N", [16, 2**11, 2**20])
@pytest.mark.parametrize("K", [2, 10, 1000])
def test_what_is_shipped_has_the_rates_of_the_proof(K: int, N: int) -> None:
    tuning = replace(SHIPPED, K=K)
    assert constants.master_rate(N) == pytest.approx(tuning.eta(N), rel=1e-15)
    for h, floor in enumerate(tuning.floors(N)):
        assert constants.base_floor(h, N) == pytest.approx(floor, rel=1e-15)
    for j in range(constants.N_CLIPPED):
        assert constants.clipped_rate(j, K, N) == pytest.approx(tuning.xi(j, N), rel=1e-15)
        assert constants.arm_floor(j, K, N) == pytest.approx(tuning.beta(j, N), rel=1e-15)
    assert constants.SLOW_RATE >= 2 * constants.MOST_SLOW_RATE  # so that beta/xi never rises


def row_of_the_page(K: int, S: int, T: int) -> str:
    """The terms of Theorem W divided by T, and their sum."""
    tuning = replace(SHIPPED, K=K)
    etas = math.fsum(n * tuning.eta(N) for N, n in tuning.guesses(T))
    xis = math.fsum(n * tuning.xi(0, N) for N, n in tuning.guesses(T))
    terms = [
        naive.master_start(tuning, 0, T),
        naive.master_floors(tuning, T, 0),
        naive.base_clipping(tuning, 0, T),
        naive.base_switches(tuning, 0, T, S),
        naive.curve(naive.below(tuning)) * (min(K, tuning.H) + 1) * etas,
        K / 2 * xis,
    ]
    cells = [f"1e{round(math.log10(T))}", str(K), str(S), *(f"{x / T:.2g}" for x in terms)]
    return "| " + " | ".join([*cells, f"{naive.worst_case(tuning, T, S) / T:.2g}"]) + " |"


@pytest.mark.parametrize(
    ("K", "S", "T"),
    [(10, 0, 10**4), (10, 0, 10**5), (10, 10, 10**6), (10, 10, 10**7), (10, 100, 10**9), (2, 10, 10**5)],
)
def test_the_table_of_the_page(K: int, S: int, T: int) -> None:
    # When this fails because constants changed: the row it prints belongs into docs/guarantee.md.
    row = row_of_the_page(K, S, T)
    assert row in PAGE.read_text().splitlines(), row


def closed_form(T: int, K: int, S: int) -> float:
    """The display of section 4 of docs/guarantee.md."""
    N = 16 * 2 ** max(0, math.ceil(math.log2(T / 16)))
    beta, first = min(1 / math.sqrt(K * N), 0.5 / K), min(1 / math.sqrt(16 * K), 0.5 / K)
    xi = min(1 / math.sqrt(16 * K), 1 / (150 * K))
    far = math.log(2 * K * T)
    return (
        math.sqrt(K * T) * (0.708 * (S + 1) * far + 2.57)
        + math.sqrt(T) * (0.708 * math.log(9 * T) + 2.54 * (min(K, 9) + 1) + 0.52)
        + 8
        + math.log2(T / 16) / 2
        + max(0.0, math.log(K) - (1 - K * first) * math.log(1 / beta)) / xi
        + (75 * K * (S + 1) * far if N < 22500 * K else 0.0)
    )


@pytest.mark.parametrize("K", [1, 2, 3, 9, 10, 16, 100, 5000, 200_000])
@pytest.mark.parametrize("S", [0, 1, 10, 1000])
def test_the_closed_form_is_above_the_exact_sums_and_near_them(K: int, S: int) -> None:
    ratios = []
    for power in range(11, 40):
        for T in (2**power - 1, 2**power, 2**power + 1, 3 * 2 ** (power - 1)):
            ratios.append(turncoat_bound(T, K, S).total / closed_form(T, K, S))
    assert 0.9 < max(ratios) <= 1.0


@pytest.mark.parametrize(("K", "S", "first"), [(10, 10, 143_777), (10, 0, 11_138), (2, 10, 19_566)])
def test_the_bound_is_below_T_for_good_from_the_round_that_the_page_names(K: int, S: int, first: int) -> None:
    assert turncoat_bound(first - 1, K, S).total >= first - 1
    jumps = [(16 << power) + 1 for power in range(40) if (16 << power) + 1 > first]  # between jumps W/T falls
    assert all(turncoat_bound(T, K, S).total < T for T in (first, *jumps))
