"""Mirror-descent steps under the log-barrier with one rate per coordinate, on the clipped simplex.

The clipped simplex is {q : sum q = 1, q ≥ floor}.

The potential is G(p) = -sum_i ln(p_i) / eta_i. Each step is the exact solution of  min_q <losses, q> + D_G(q, p):

    1/q_i = 1/p_i + eta_i (loss_i - lam)  above the floor, with lam such that sum q = 1.                        (1)

* One-hot loss ≥ 0: then lam ≥ 0, so every other coordinate rises, and only the charged one can end at the floor.
* The near way. A shift of lam acts on each coordinate by itself, and shifts add up:

    q_i <- q_i / (1 - eta_i q_i lam).                                                                           (2)

  So the charge and every correction work in place. With s = eta q and S, A, B = sum q, sum s q, sum s² q the root of
  sum q = 1 is near  lam = (1 - S) A / (A² + B (1 - S)),                                                        (3)
  exact if all s are equal and of third order else. One division of the array suffices when losses are small.
* The far way, for steps where some coordinate grows more than twofold, or meets the floor: there 1/p - eta lam cancels.
  With poles z_i = 1/(eta_i p_i) + loss_i, the lowest z_m, gaps g_i = z_i - z_m ≥ 0 and d = z_m - lam > 0:

    q_i = max(floor, 1 / (eta_i (g_i + d))).                                                                    (4)

  Nothing cancels here, if the gaps are right; so poles are held to twice a float's precision. The sum falls with d and
  is convex, and 1/(sum of the free q) is concave: Newton's steps on the latter, from a d where some q_i = 1, only grow
  and never pass the root. No bracket, no bisection.

After a step sum q = 1 up to rounding and every q_i ≥ floor; a coordinate on the floor is the floor exactly.
A coordinate of 0 may stay 0, or become about 1e-280; nothing becomes NaN.

Reference: A. Agarwal, H. Luo, B. Neyshabur, R. Schapire, "Corralling a band of bandit algorithms", COLT 2017.
"""

from __future__ import annotations

from turncoat._compile.jit import jit
from turncoat.types import Vector

_MOST_STEPS = 100  # a cap that was never met: see the tests
_NEAR = 0.5  # the near way is for shifts with eta q lam at most this: no coordinate grows more than twofold
_SMALL = 5e-6  # a last correction of this relative size needs no division: its cube is below rounding
_SPLIT = 134217729.0  # 2^27 + 1 cuts a float in two halves (Dekker 1971)
_FARTHEST = 1e280  # the pole of a coordinate that is all but zero


@jit
def step_one_hot(p: Vector, a: int, loss: float, eta: Vector, floor: float) -> None:
    """Charge coordinate a of the distribution p with loss ≥ 0, in place. A loss of 0 changes nothing."""
    if loss <= 0.0 or p.size == 1:
        return
    if p[a] <= floor:
        p[a] = floor  # it can sink no further
        return
    before = p[a]
    x = eta[a] * before * loss
    if before >= floor * (1.0 + x):  # q_a ≥ p_a / (1 + x), so it stays above the floor
        p[a] = before / (1.0 + x)  # (2) with lam = -loss
        if _balance(p, eta, floor, False) >= 0:
            return
        p[a] = before
    _far_step(p, p[:0], a, loss, eta, floor)


@jit
def step_dense(p: Vector, losses: Vector, eta: Vector, floor: float) -> None:
    """Charge every coordinate of the distribution p with a loss of any sign, in place. Equal losses change nothing."""
    lowest = losses[0]
    highest = losses[0]
    for i in range(1, p.size):
        lowest = min(lowest, losses[i])
        highest = max(highest, losses[i])
    if lowest == highest or p.size == 1:
        return
    near = True
    squares = 0.0
    charges = 0.0
    steepest = 0.0
    for i in range(p.size):
        s = eta[i] * p[i]
        x = s * (losses[i] - lowest)
        near = near and p[i] >= floor * (1.0 + x)
        squares += s * p[i]
        charges += x * p[i]
        steepest = max(steepest, s)
    if near and steepest * charges <= _NEAR * squares:  # lam - lowest ≤ charges / squares, by 1/(1 + y) ≥ 1 - y in (1)
        for i in range(p.size):
            p[i] /= 1.0 + eta[i] * p[i] * (losses[i] - lowest)  # (2)
        _balance(p, eta, floor, True)
        return
    _far_step(p, losses, 0, 0.0, eta, floor)


@jit
def _balance(p: Vector, eta: Vector, floor: float, surely_near: bool) -> int:
    """Shift p, whose sum is at most 1, by (2) until it is 1. The steps it took; -1, with p untouched, if it is far."""
    S = 0.0
    A = 0.0
    B = 0.0
    steepest = 0.0
    for i in range(p.size):
        s = eta[i] * p[i]
        S += p[i]
        A += s * p[i]
        B += s * p[i] * s
        steepest = max(steepest, s)
    lam = (1.0 - S) * A / (A * A + B * (1.0 - S))  # (3)
    if lam * steepest > _NEAR:
        if not surely_near:
            return -1
        lam = _NEAR / steepest
    n_steps = 0
    while abs(lam) * steepest > _SMALL and n_steps < _MOST_STEPS:
        n_steps += 1
        steepest /= 1.0 - steepest * lam
        S = 0.0
        A = 0.0
        B = 0.0
        for i in range(p.size):
            q = p[i] / (1.0 - eta[i] * p[i] * lam)  # (2)
            p[i] = q
            s = eta[i] * q
            S += q
            A += s * q
            B += s * q * s
        lam = min((1.0 - S) * A / (A * A + B * (1.0 - S)), _NEAR / steepest)  # (3)
    for i in range(p.size):
        y = eta[i] * p[i] * lam
        p[i] = max(floor, p[i] + p[i] * (y + y * y))  # (2), as a series
    return n_steps


@jit
def _far_step(p: Vector, losses: Vector, a: int, loss: float, eta: Vector, floor: float) -> None:
    """The far way. `losses` is empty when coordinate a alone is charged."""
    pole = _FARTHEST
    tail = 0.0
    for i in range(p.size):
        high, low = _pole(p[i], eta[i], losses[i] if losses.size > 0 else (loss if i == a else 0.0))
        if high < pole or (high == pole and low < tail):
            pole = high
            tail = low
    for i in range(p.size):
        high, low = _pole(p[i], eta[i], losses[i] if losses.size > 0 else (loss if i == a else 0.0))
        p[i] = max(0.0, (high - pole) + (low - tail))
    _settle(p, eta, floor)


@jit
def _pole(probability: float, rate: float, loss: float) -> tuple[float, float]:
    """1/(rate · probability) + loss, as a float and the float that is missing."""
    s, s_tail = exact_product(rate, probability)
    if s < 1.0 / _FARTHEST:
        return _FARTHEST, 0.0
    y = 1.0 / s
    one, one_tail = exact_product(y, s)
    y_tail = y * (((1.0 - one) - one_tail) - y * s_tail)
    high, low = exact_sum(y, loss)
    return exact_sum(high, low + y_tail)


@jit
def _settle(gaps: Vector, eta: Vector, floor: float) -> int:
    """Replace gaps by the probabilities of (4); the number of Newton steps it took."""
    d = 0.0
    for i in range(gaps.size):
        d = max(d, 1.0 / eta[i] - gaps[i])
    n_steps = 0
    while n_steps < _MOST_STEPS:
        free = 0.0
        slope = 0.0
        target = 1.0
        for i in range(gaps.size):
            q = 1.0 / (eta[i] * (gaps[i] + d))
            if q > floor:
                free += q
                slope += eta[i] * q * q
            else:
                target -= floor
        if free <= target or slope == 0.0:
            break
        step = (free - target) * free / (target * slope)
        if d + step == d:
            break
        d += step
        n_steps += 1
    for i in range(gaps.size):
        gaps[i] = max(floor, 1.0 / (eta[i] * (gaps[i] + d)))
    return n_steps


@jit
def exact_sum(x: float, y: float) -> tuple[float, float]:
    """The rounded sum, and the error of its rounding (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@jit
def exact_product(x: float, y: float) -> tuple[float, float]:
    """The rounded product, and the error of its rounding (Dekker)."""
    product = x * y
    cut = _SPLIT * x
    x_high = cut - (cut - x)
    x_low = x - x_high
    cut = _SPLIT * y
    y_high = cut - (cut - y)
    y_low = y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
