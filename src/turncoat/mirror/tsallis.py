"""Weights and steps under the 1/2-Tsallis entropy, Psi(p) = -(4/eta) sum_i sqrt(p_i).

* `weights` follows the regularised leader on the whole simplex: argmin_w <estimates, w> + Psi(w), which is

    w_i = 4 / (eta (estimate_i - x))²  with x such that sum w = 1.                                              (1)

* `step_one_hot` is mirror descent on the clipped simplex {q : sum q = 1, q ≥ floor}, in the same scaling. The gradient
  of Psi is -(2/eta) p^(-1/2), so the exact solution of  min_q loss · q_a + D_Psi(q, p)  is

    1/sqrt(q_i) = 1/sqrt(p_i) + (eta/2) (loss_i - lam)  above the floor, with lam such that sum q = 1.          (2)

  The loss is one-hot and ≥ 0. At lam = 0 the sum is at most 1, so lam ≥ 0: every other coordinate rises, and only the
  charged one can end at the floor. There the others fill 1 - floor ≥ 1 - p_a, so lam ≥ 0 again.

Both are one equation. Measured from the lowest y_m of the y_i (the right-hand side without lam), with gaps
g_i = y_i - y_m ≥ 0 and d = y_m - (eta/2) lam = 1/sqrt(q_m) ≥ 1,

    q_i = max(floor, 1 / (g_i + d)²),  and (sum of the free q)^(-1/2) is concave in d:                          (3)

Newton's steps on it, from d = 1, only grow and never pass the root; they need no bracket, and one is enough if all
gaps are equal. The y_i of a step are held to twice a float's precision, since their differences cancel.

After a step sum q = 1 up to rounding and every q_i ≥ floor; a coordinate on the floor is the floor exactly.

Reference: J. Zimmert, Y. Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", JMLR 22
(2021).
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit
from turncoat.mirror.log_barrier import exact_product, exact_sum
from turncoat.types import Vector

_MOST_STEPS = 100  # a cap that was never met: see the tests
_FARTHEST = 1e140  # 1/sqrt of a coordinate that is all but zero


@jit
def weights(estimates: Vector, eta: float, out: Vector) -> None:
    """Write the weights (1) of estimated cumulative losses, at the rate eta > 0, to `out`."""
    lowest = estimates[0]
    for i in range(1, estimates.size):
        lowest = min(lowest, estimates[i])
    for i in range(estimates.size):
        out[i] = min(0.5 * eta * (estimates[i] - lowest), _FARTHEST)
    settle(out, 0.0)


@jit
def step_one_hot(p: Vector, a: int, loss: float, eta: float, floor: float) -> None:
    """Charge coordinate a of the distribution p with loss ≥ 0, in place. A loss of 0 changes nothing."""
    if loss <= 0.0 or p.size == 1:
        return
    if p[a] <= floor:
        p[a] = floor  # it can sink no further
        return
    lowest = _FARTHEST
    tail = 0.0
    for i in range(p.size):
        high, low = _charged(p[i], 0.5 * eta, loss if i == a else 0.0)
        if high < lowest or (high == lowest and low < tail):
            lowest = high
            tail = low
    for i in range(p.size):
        high, low = _charged(p[i], 0.5 * eta, loss if i == a else 0.0)
        p[i] = max(0.0, (high - lowest) + (low - tail))
    settle(p, floor)


@jit
def _charged(probability: float, rate: float, loss: float) -> tuple[float, float]:
    """1/sqrt(probability) + rate · loss, as a float and the float that is missing."""
    if probability < 1.0 / (_FARTHEST * _FARTHEST):
        return _FARTHEST, 0.0
    y = 1.0 / math.sqrt(probability)
    square, square_tail = exact_product(y, y)
    one, one_tail = exact_product(probability, square)
    y_tail = 0.5 * y * (((1.0 - one) - one_tail) - probability * square_tail)
    x, x_tail = exact_product(rate, loss)
    high, low = exact_sum(y, x)
    return exact_sum(high, low + (y_tail + x_tail))


@jit
def settle(gaps: Vector, floor: float) -> int:
    """Replace gaps by the probabilities of (3); the number of Newton steps it took."""
    d = 1.0
    n_steps = 0
    while n_steps < _MOST_STEPS:
        free = 0.0
        slope = 0.0
        target = 1.0
        for i in range(gaps.size):
            root = 1.0 / (gaps[i] + d)
            if root * root > floor:
                free += root * root
                slope += root * root * root
            else:
                target -= floor
        if free <= target or slope == 0.0:
            break
        step = free * (free - target) / (target * (1.0 + math.sqrt(free / target)) * slope)
        if d + step == d:
            break
        d += step
        n_steps += 1
    for i in range(gaps.size):
        root = 1.0 / (gaps[i] + d)
        gaps[i] = max(floor, root * root)
    return n_steps
