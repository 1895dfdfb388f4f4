"""What a master with shared feedback charges its bases: unbiased by enumeration, never below -1, never too large."""

from __future__ import annotations

import numpy as np
import pytest

from tests.naive.bands import Baseline
from turncoat.learners.base.shared_master import N_SEEN, baseline, charge, may_be_high, see, slow_baseline

pytestmark = pytest.mark.jit_off


def test_the_baseline_agrees_with_the_oracle() -> None:
    """Level jumps, so that the fast mean leaves the slow one on both sides and comes back."""
    rng = np.random.default_rng(1)
    seen, oracle = np.full(N_SEEN, 0.5), Baseline()
    n_apart = 0
    for t in range(3_000):
        b = baseline(seen, t)
        assert b == pytest.approx(oracle.value(), rel=1e-12)
        assert slow_baseline(seen, t) == pytest.approx(oracle.slow(), rel=1e-12)
        assert 0.0 < b < 1.0
        n_apart += abs(b - slow_baseline(seen, t)) > 1e-9
        loss = float(rng.random() < (0.9 if t // 500 % 2 else 0.1))
        see(seen, t, loss)
        oracle.see(loss)
    assert 300 <= n_apart <= 2_700


def test_the_baseline_by_hand() -> None:
    seen = np.full(N_SEEN, 0.5)
    assert baseline(seen, 0) == 0.5
    see(seen, 0, 1.0)  # slow 1.5/2, fast 0.5 + 0.5/2
    assert (slow_baseline(seen, 1), baseline(seen, 1)) == (0.75, 0.75)
    seen[:] = [10.0, 0.9]  # after 19 losses slow is 0.5, and fast is 0.4 above: 0.2 of that counts
    assert baseline(seen, 19) == pytest.approx(0.7)
    seen[:] = [10.0, 0.1]
    assert baseline(seen, 19) == pytest.approx(0.3)


@pytest.mark.parametrize("which", ["every arm that may be", "some", "none"])
def test_charges_are_unbiased_for_every_base(which: str) -> None:
    """sum_a q(a) d_h(a) = sum_k p_h(k) loss(k), summed over all arms, with q down to 1e-9; and x ≥ -1 throughout."""
    rng = np.random.default_rng(2)
    n_low = 0
    for _ in range(200):
        H, K = int(rng.integers(1, 8)), int(rng.integers(1, 9))
        p = rng.dirichlet(np.full(H, 0.3))
        bases = rng.dirichlet(np.full(K, 0.3), H)
        bases[0] = np.eye(K)[rng.integers(K)]  # one that is certain
        bases = np.maximum(bases, 1e-9)
        bases /= bases.sum(axis=1, keepdims=True)
        q, losses = p @ bases, rng.random(K)
        eta, b = float(rng.uniform(0.001, 0.5)), float(rng.random())
        high = np.array([may_be_high(eta, b, q_k) for q_k in q])
        n_low += not high.all()
        if which != "every arm that may be":
            high &= rng.random(K) < (0.5 if which == "some" else 0.0)
        for P in bases:
            covered = float(P[high].sum())
            x = np.array([charge(eta, b, q[a], losses[a], bool(high[a]), P[a], covered) for a in range(K)])
            assert np.all(x >= -1.0)
            assert q @ x / eta == pytest.approx(P @ losses, rel=1e-9)
    assert n_low >= 50


def test_charges_stay_finite_and_bounded_below() -> None:
    """The bound below is met: an arm at the threshold, certain under the base, with no loss."""
    assert charge(0.5, 0.8, 0.4, 0.0, True, 1.0, 0.0) == -1.0
    for q in (1e-300, 5e-324):
        assert charge(0.5, 0.5, q, 1.0, False, 1.0, 1.0) == 1e30
        assert charge(0.5, 0.5, q, 1.0, False, 0.0, 0.0) == 0.0
        assert charge(0.5, 0.5, q, 0.0, False, 1.0, 0.5) == 0.125
