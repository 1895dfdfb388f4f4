"""The oracle of planned pulls, on cases worked by hand."""

from __future__ import annotations

import math

import pytest

from tests.naive.planning import Known, largest, shares
from tests.naive.solve import reals


def known(means: list[float], pulls: list[float], c: float, tried: list[bool] | None = None) -> Known:
    return Known(reals(means), reals(pulls), reals([c] * len(means)), tried or [True] * len(means))


def poured(one: Known, m: int, K: int, *, with_kl: bool) -> list[float]:
    return [float(x) for x in shares(one, m, K, with_kl=with_kl)]


@pytest.mark.jit_off
def test_roots() -> None:
    """c = 1: at L = 1 arms of means 0.5 and 0 have 4 pulls and 1."""
    assert poured(known([0.5, 0.0], [2.0, 0.0], 1.0), 3, 2, with_kl=False) == pytest.approx([2 / 3, 1 / 3])
    assert poured(known([0.5, 0.0], [2.0, 1.5], 1.0), 2, 2, with_kl=False) == pytest.approx([1.0, 0.0])


@pytest.mark.jit_off
def test_roots_with_an_arm_that_has_no_reward() -> None:
    """It wants all of 4 pulls and is planned 2."""
    one = known([0.5, 0.5], [100.0, 2.0], 1.0, [True, False])
    assert poured(one, 4, 2, with_kl=False) == pytest.approx([0.5, 0.5])
    assert poured(one._replace(tried=[True, True]), 4, 2, with_kl=False) == pytest.approx([0.0, 1.0])
    assert poured(one._replace(tried=[False, False]), 4, 2, with_kl=False) == [0.5, 0.5]


@pytest.mark.jit_off
def test_kl() -> None:
    """At L = 3/4 means 0 and 1/2 have c/ln 4 pulls and c/(ln(4/3)/2); these c make 8."""
    zero, half = math.log(4.0), 0.5 * math.log(4.0 / 3.0)
    c = 8.0 / (1.0 / zero + 1.0 / half)
    assert poured(known([0.0, 0.5], [0.0, 0.0], c), 8, 2, with_kl=True) == pytest.approx([c / zero / 8, c / half / 8])
    assert poured(known([0.5, 0.5, 0.1], [4.0, 10.0, 99.0], 1.0), 10, 3, with_kl=True) == pytest.approx([0.8, 0.2, 0.0])
    assert poured(known([1.0, 1.0, 0.5], [4.0, 1.0, 1.0], 1.0), 4, 3, with_kl=True) == [0.5, 0.5, 0.0]


@pytest.mark.jit_off
def test_kl_with_arms_that_have_no_reward() -> None:
    """Of 8 pulls of 3 arms such an arm gets 3. Where these arms take all, they take it evenly."""
    one = known([0.5, 0.5, 0.0], [4.0, 10.0, 0.0], 1.0, [True, True, False])
    assert poured(one, 8, 3, with_kl=True) == pytest.approx([5 / 8, 0.0, 3 / 8])
    assert poured(one._replace(tried=[True, False, False]), 2, 3, with_kl=True) == [0.0, 0.5, 0.5]
    assert poured(one._replace(tried=[False] * 3), 64, 3, with_kl=True) == pytest.approx([1 / 3] * 3)


@pytest.mark.jit_off
def test_the_largest_indices() -> None:
    indices = [0.5, 0.7, 0.7, 0.1, 0.9]
    assert largest(indices, range(5), 1, 5, 9) == [4, 1, 2, 0, 3]
    assert largest(indices, range(5), 1, 2, 9) == [4, 1]
    assert largest(indices, [0, 2, 3, 4], 3, 2, 9) == [4, 2, 0]
    assert largest(indices, range(5), 64, 1, 2) == [4, 1]
