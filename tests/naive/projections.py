"""Slow, obvious mirror-descent steps on the clipped simplex, in 60-digit decimals. Every loss is a dense vector here.

Problem: min_q <losses, q> + D(q, p) over {q : sum q = 1, q ≥ floor}. The KKT conditions say that q is
max(floor, what the gradient of the potential asks for at one common multiplier); the multiplier is found by counting
(entropy, where sorting the weights is enough) or by bisection to the end (everything else).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

DIGITS = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
WIDTH = Decimal("1e-40")

Numbers = Iterable[float]


def one_hot(n: int, a: int, loss: float) -> list[float]:
    """A loss at coordinate a and 0 elsewhere."""
    return [loss if i == a else 0.0 for i in range(n)]


def entropy_step(p: Numbers, x: Numbers, floor: float) -> list[Decimal]:
    """min <x, q> + KL(q || p): q_i = max(floor, c w_i) with w_i = p_i exp(-x_i)."""
    with localcontext(DIGITS):
        w = [Decimal(float(p_i)) * (-Decimal(float(x_i))).exp() for p_i, x_i in zip(p, x, strict=True)]
        return clip_by_sorting(w, Decimal(float(floor)))


def clip_by_sorting(w: Sequence[Decimal], floor: Decimal) -> list[Decimal]:
    """max(floor, c w_i) with c such that the sum is 1: the fewest of the smallest weights go to the floor."""
    ascending = sorted(w)
    for m in range(len(w)):
        c = (1 - m * floor) / sum(ascending[m:])
        if c * ascending[m] >= floor:
            return [max(floor, c * w_i) for w_i in w]
    return [1 / Decimal(len(w))] * len(w)  # the floor leaves no room


def entropy_step_floors(p: Numbers, x: Numbers, floors: Numbers) -> list[Decimal]:
    """min <x, q> + KL(q || p) with q_i ≥ floor_i: q_i = max(floor_i, c w_i), w_i = p_i exp(-x_i)."""
    with localcontext(DIGITS):
        w = [Decimal(float(p_i)) * (-Decimal(float(x_i))).exp() for p_i, x_i in zip(p, x, strict=True)]
        low = [Decimal(float(floor)) for floor in floors]
        first = sorted(range(len(w)), key=lambda i: w[i] / low[i] if low[i] else Decimal("Infinity"))
        for m in range(len(w)):  # on the floor are those whose weight is least beside it
            c = (1 - sum((low[i] for i in first[:m]), Decimal(0))) / sum((w[i] for i in first[m:]), Decimal(0))
            if c * w[first[m]] >= low[first[m]]:
                return [max(floor, c * w_i) for floor, w_i in zip(low, w, strict=True)]
        raise ValueError("the floors leave no room")


def log_barrier_step(p: Numbers, losses: Numbers, eta: Numbers, floor: float) -> list[Decimal]:
    """D = sum_i (q_i/p_i - 1 - ln(q_i/p_i)) / eta_i: off the floor 1/q_i = 1/p_i + eta_i (loss_i - lam)."""
    with localcontext(DIGITS):
        low = Decimal(float(floor))
        rates = [Decimal(float(rate)) for rate in eta]
        charges = [rate * Decimal(float(ell)) for rate, ell in zip(rates, losses, strict=True)]
        c = [1 / Decimal(float(p_i)) + charge for p_i, charge in zip(p, charges, strict=True)]
        if low * len(c) >= 1:
            return [1 / Decimal(len(c))] * len(c)

        def q(lam: Decimal) -> list[Decimal]:
            return [max(low, 1 / (c_i - rate * lam)) for c_i, rate in zip(c, rates, strict=True)]

        top = min((c_i - 1) / rate for c_i, rate in zip(c, rates, strict=True))  # some q_i is 1 there, and none above
        return q(_bisect(lambda lam: sum(q(lam), Decimal(-1)), top))


def tsallis_weights(estimates: Numbers, eta: float) -> list[Decimal]:
    """min <estimates, w> - (4/eta) sum sqrt(w): w_i = 4 / (eta (estimate_i - x))²."""
    with localcontext(DIGITS):
        rate = Decimal(float(eta))
        totals = [Decimal(float(estimate)) for estimate in estimates]

        def w(x: Decimal) -> list[Decimal]:
            return [4 / (rate * (total - x)) ** 2 for total in totals]

        return w(_bisect(lambda x: sum(w(x), Decimal(-1)), min(totals) - 2 / rate))


def _bisect(f: Callable[[Decimal], Decimal], top: Decimal) -> Decimal:
    """The root, at or below `top`, of a non-decreasing f with f(top) ≥ 0."""
    reach = Decimal(1)
    while f(top - reach) > 0:
        reach *= 2
    below, above = top - reach, top
    while above - below > WIDTH * reach:
        middle = (below + above) / 2
        if f(middle) < 0:
            below = middle
        else:
            above = middle
    return above


def relative_error(found: Numbers, exact: Sequence[Decimal]) -> float:
    """The largest |found_i - exact_i| / exact_i."""
    with localcontext(DIGITS):
        pairs = zip((Decimal(float(value)) for value in found), exact, strict=True)
        return float(max(abs(value - truth) / truth for value, truth in pairs))
