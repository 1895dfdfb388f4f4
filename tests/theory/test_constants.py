"""The constants of docs/guarantee.md: none can be much smaller, and the rates are as the proof wants them."""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path

import pytest

from tests.naive import guarantee as naive
from tests.naive.guarantee import Tuning
from tests.theory.games import TUNINGS

pytestmark = pytest.mark.jit_off  # nothing here is compiled


class Base:
    """A clipped base of two arms with arbitrary charges, against the corner of one arm after another."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning, self.P, self.left, self.variance = tuning, [0.5, 0.5], 0.0, 0.0

    def charge(self, a: int, estimate: float, N: int, n: int, path: int) -> None:
        """Arm a is charged n times at the rates of N, while the path is on the arm `path`."""
        xi, beta = self.tuning.xi(0, N), self.tuning.beta(N)
        u = naive.inside(path, [beta] * 2)
        for _ in range(n):
            self.left += (self.P[a] - u[a]) * estimate
            self.variance += xi / 2 * self.P[a] * estimate**2
            self.P = naive.entropy_step(self.P, [xi * estimate * (k == a) for k in range(2)], [beta] * 2)


def test_every_switch_costs_what_the_lemma_says() -> None:
    tuning, N = Tuning(K=2, n_clipped=2, n_specialists=0, first=2**14), 2**14
    base, n = Base(tuning), 2500
    for segment in range(4):
        base.charge(1 - segment % 2, 2.0, N, n, path=segment % 2)
    allowed = naive.base_switches(tuning, 0, 4 * n, 3) + base.variance
    assert 0.95 * allowed < base.left <= allowed


def test_a_falling_rate_costs_more_than_ln_K_over_the_last_rate() -> None:
    # An arm is charged down to the first floor at the first rate; much later, at the last rate, it is the best.
    tuning, T = Tuning(K=2, n_clipped=2, n_specialists=0), 16 * 2**10
    base = Base(tuning)
    base.charge(0, 2.0, 16, 16, path=0)
    base.charge(1, 0.5, T, T // 2, path=0)
    assert base.left > 4 * math.log(2) / tuning.xi(0, T) + base.variance
    assert base.left <= naive.base_switches(tuning, 0, T, 0) + base.variance


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
                assert tuning.beta(2 * N) / tuning.xi(j, 2 * N) <= tuning.beta(N) / tuning.xi(j, N)
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


SHARES = (0.01,) * 9 + (1.0, 0.03, 0.03, 0.03, 0.08)
SHIPPED = Tuning(K=10, n_clipped=3, n_specialists=11, most=0.04, grid=0.25, shares=SHARES, detector=9)
PAGE = Path(__file__).parents[2] / "docs" / "guarantee.md"


def row_of_the_page(tuning: Tuning, T: int) -> list[str]:
    """T, and the terms of the theorem divided by it, the master's variance at its largest and V = K."""
    rates = math.fsum(n * tuning.eta(N) for N, n in tuning.guesses(T))
    variance = naive.curve(1 + tuning.eta(tuning.first)) * rates * (min(tuning.K, tuning.H) - 0.75)
    starts = [naive.master_start(tuning, h, T) for h in (0, SHARES.index(1.0))]
    floors = naive.master_floors(tuning, T)
    bases = []
    for S in (0, 10):
        costs = []
        for j in range(tuning.n_clipped):
            half = math.fsum(n * tuning.xi(j, N) / 2 * tuning.K for N, n in tuning.guesses(T))
            costs.append(naive.base_clipping(tuning, T) + naive.base_switches(tuning, j, T, S) + half)
        bases.append(min(costs))
    terms = [*starts, floors, variance, *(start + floors + variance for start in starts), *bases]
    return [f"1e{round(math.log10(T))}", *(f"{term / T:.2g}" for term in terms)]


@pytest.mark.parametrize("T", [10**3, 10**4, 10**5, 10**6, 10**7])
def test_the_table_of_the_page(T: int) -> None:
    # When this fails because constants changed: the row it prints belongs into docs/guarantee.md.
    row = "| " + " | ".join(row_of_the_page(SHIPPED, T)) + " |"
    assert row in PAGE.read_text().splitlines(), row
