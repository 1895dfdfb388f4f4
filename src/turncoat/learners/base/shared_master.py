"""Shared feedback: the baseline and the charges of a master whose bases all learn from every round.

All bases learn from every round, through the probability q(a) with which the mixture served arm a. With p_h(k) the
chance of arm k under base h, b a guess of the loss made before the arm was drawn, and `high` a set of arms chosen
before it too, base h is charged
    d_h = p_h(a) (loss - b 1{a high})/q(a) + b sum over high k of p_h(k)                 (1)
which is unbiased for base h's expected loss, sum_k p_h(k) loss(k), whatever b is and whichever arms are high: in
expectation over a ~ q, the first term subtracts of b exactly what the second adds. A good b makes d_h small.
An arm may be high only if
    q(k) ≥ eta b                                                                         (2)
Then eta d_h ≥ -1: its one negative term is -eta b p_h(a)/q(a), for a high arm a. This is what mirror descent needs, so
that exp(-x) ≤ 1 - x + x². Told late, an arm is high by the q it was served with, and the bound stays.
    b = fast - clip(fast - slow, -0.2, 0.2)                                              (3)
        slow = (0.5 + sum of all losses)/(1 + t);  fast starts at 0.5, += (loss - fast)/min(64, t + 2)
that is, the slow mean where the two differ by at most 0.2, else the fast one moved by 0.2 towards the slow one.

Band charges by all of this. Turncoat has its baseline from (3), and a charge of its own (turncoat/rule.py): where (2)
gives an arm all of b or nothing, there it has as much as q(k)/eta allows.

Reference: for learning through the mixture, A. Agarwal, H. Luo, B. Neyshabur, R. Schapire, "Corralling a band of bandit
algorithms", COLT 2017 (a remark), and O.-A. Maillard, R. Munos, "Adaptive bandits", AISTATS 2011. The threshold (2) and
the two means (3) are our own.
"""

from __future__ import annotations

from turncoat._compile.jit import jit
from turncoat.learners.parts.importance_weights import LARGEST
from turncoat.types import Vector

N_SEEN = 2  # the numbers of `seen`: 0.5 + the sum of all losses, and the fast mean
FIRST = 0.5  # both of them at first
FAST = 64.0  # rounds the fast mean looks back on
APART = 0.2  # how far it may be from the slow one before it counts
BOLD = 0.8  # of the baseline, where nothing is proven anyway


@jit
def slow_baseline(seen: Vector, t: int) -> float:
    """The mean of the t losses seen so far, and of one more of 0.5."""
    return float(seen[0]) / (1.0 + t)


@jit
def baseline(seen: Vector, t: int) -> float:
    """(3), after t losses: between 0 and 1."""
    fast = float(seen[1])
    return fast - max(-APART, min(APART, fast - slow_baseline(seen, t)))


@jit
def see(seen: Vector, t: int, loss: float) -> None:
    """Count a loss, after t others."""
    seen[0] += loss
    seen[1] += (loss - seen[1]) / min(FAST, t + 2.0)  # (3)


@jit
def may_be_high(eta: float, b: float, q: float) -> bool:
    """(2)."""
    return q >= eta * b


@jit
def charge(eta: float, b: float, q: float, loss: float, is_high: bool, chance: float, covered: float) -> float:
    """x_h = eta d_h, for mirror descent.

    `is_high` says whether the arm that was played is, `chance` is p_h of it, and `covered` the sum of p_h over all high
    arms. At least -1 by (2); at most 1e30, which only a q below 1e-30 can reach: then nothing overflows.
    """
    offset = b if is_high else 0.0
    return min(eta * (chance * (loss - offset) / q + b * covered), LARGEST)  # (1)


@jit
def bold_charge(eta: float, b: float, q: float, loss: float, chance: float) -> float:
    """max(-1, eta p_h(a) (loss - 0.8 b)/q(a)): smaller in practice, and biased where the cap is met."""
    return max(min(eta * (chance * (loss - BOLD * b) / q), LARGEST), -1.0)
