"""The oracles' mirror-descent steps against the optimality conditions, solved again in 60-digit decimals."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from tests.naive.distributions import ClippedEntropy, MixedEntropy
from tests.naive.solve import REAL, Sums, entropy_projection, entropy_step, falling_softmax, log_barrier_step, reals

DIGITS = 60
HALVINGS = 250

pytestmark = pytest.mark.skipif(np.finfo(REAL).nmant < 63, reason="a long double is no longer than a double here")


def crossing(total: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    """Where an increasing function of one number crosses 1."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < 1 else (low, middle)
    return high


def entropy_in_decimals(p: list[Decimal], loss: list[Decimal], rate: Decimal, floor: Decimal) -> list[Decimal]:
    w = [x * (-rate * y).exp() for x, y in zip(p, loss, strict=True)]
    c = crossing(lambda c: sum((max(floor, c * x) for x in w), Decimal(0)), Decimal(0), 1 / sum(w, Decimal(0)))
    return [max(floor, c * x) for x in w]


def barrier_in_decimals(p: list[Decimal], loss: list[Decimal], rates: list[Decimal], floor: Decimal) -> list[Decimal]:
    c = [1 / x + rate * y for x, y, rate in zip(p, loss, rates, strict=True)]

    def q(z: Decimal) -> list[Decimal]:
        return [max(floor, 1 / (x - rate * z)) for x, rate in zip(c, rates, strict=True)]

    highest = min((x - 1) / rate for x, rate in zip(c, rates, strict=True))
    return q(crossing(lambda z: sum(q(z), Decimal(0)), min(loss), highest))


def instance(chance: random.Random) -> tuple[list[float], list[float], float]:
    """A distribution above its floor, a loss (one-hot or dense, from 1e-3 to 1e5), the floor."""
    n = chance.randint(2, 7)
    floor = 10 ** chance.uniform(-7, -0.03) / n
    raw = [10 ** chance.uniform(-8, 0) if chance.random() < 0.7 else 0.0 for _ in range(n - 1)] + [1.0]
    p = [(1 - n * floor) * x / sum(raw) + floor for x in raw]
    size = 10 ** chance.uniform(-3, 5)
    loss = [size * chance.random() for _ in range(n)]
    if chance.random() < 0.5:
        played = chance.randrange(n)
        loss = [x if i == played else 0.0 for i, x in enumerate(loss)]
    return p, loss, floor


# The barrier's 1/q = 1/p - rate z loses digits when a coordinate rises from 1e-8 to much of 1 in one step.
@pytest.mark.parametrize("kind, bound", [("entropy", 2e-17), ("barrier", 1e-15)])
def test_steps_against_decimals(kind: str, bound: float) -> None:
    chance = random.Random(5)
    worst, n_floored = 0.0, 0
    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(200):
            p, loss, floor = instance(chance)
            rates = [10 ** chance.uniform(-4, 1) for _ in p]
            exact = [Decimal(x) for x in p], [Decimal(x) for x in loss]
            if kind == "entropy":
                q = entropy_step(reals(p), reals(loss), REAL(rates[0]), REAL(floor))
                expected = entropy_in_decimals(*exact, Decimal(rates[0]), Decimal(floor))
            else:
                q = log_barrier_step(reals(p), reals(loss), reals(rates), REAL(floor))
                expected = barrier_in_decimals(*exact, [Decimal(x) for x in rates], Decimal(floor))
            n_floored += int((q == REAL(floor)).sum())
            for x, y in zip(q, expected, strict=True):
                digits = np.format_float_positional(x, unique=False, precision=40)
                worst = max(worst, abs(float((Decimal(digits) - y) / y)))
    assert worst < bound
    assert n_floored > 50


def test_a_projection_by_hand() -> None:
    # Floor 1/10, weights 1, 3, 6, 90: c = 1/100 leaves 1, 3, 6 below; three floors leave 7/10 for the last.
    q = entropy_projection(reals([3.0, 1.0, 90.0, 6.0]), REAL(1) / 10)
    assert q == pytest.approx([0.1, 0.1, 0.7, 0.1], rel=1e-15)
    # Floor 1/10, weights 1, 12, 12, 25: 1/50 < 1/10, so c = 0.9/49; 12 c = 0.22 stays free.
    q = entropy_projection(reals([12.0, 1.0, 12.0, 25.0]), REAL(1) / 10)
    assert q == pytest.approx([10.8 / 49, 0.1, 10.8 / 49, 22.5 / 49], rel=1e-15)
    # A floor of 1/n leaves one distribution only.
    assert entropy_projection(reals([1.0, 5.0]), REAL(1) / 2) == pytest.approx([0.5, 0.5], rel=1e-15)


def test_mixing_without_floor_is_clipping_without_floor() -> None:
    chance = random.Random(1)
    clipped, mixed = ClippedEntropy(4, REAL(0)), MixedEntropy(4, REAL(0))
    for _ in range(300):
        loss = reals([chance.random() if chance.random() < 0.5 else 0.0 for _ in range(4)])
        rate = REAL(chance.random())
        clipped.step(loss, rate)
        mixed.step(loss, rate)
    assert mixed.served() == pytest.approx(clipped.served(), rel=1e-14, abs=0)


def test_a_mixed_weight_comes_back_from_below_the_smallest_float() -> None:
    mixed = MixedEntropy(2, REAL(0.01))
    mixed.step(reals([5000.0, 0.0]), REAL(1))
    assert mixed.served() == pytest.approx([0.01, 0.99], rel=1e-15)
    mixed.step(reals([0.0, 5000.0]), REAL(1))
    assert mixed.served() == pytest.approx([0.5, 0.5], rel=1e-15)


def test_sums_lose_nothing() -> None:
    sums = Sums(2)
    for x in (1e25, 1.0, -1e25):  # 1 is lost beside 1e25, even in a long double
        sums.add(0, REAL(x))
    assert list(sums.above_least()) == [1.0, 0.0]
    assert list(sums.below_greatest()) == [0.0, 1.0]
    assert falling_softmax(reals([0.0, 0.0])) == pytest.approx([0.5, 0.5])
