"""Floors and caps: laws, and a slower way to the same numbers."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import shares as naive
from turncoat.service.experiments.floors_caps import served

cp: Any = import_module("cvxpy")  # its annotations are incomplete

part = st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 1.0]) | st.floats(0.0, 1.0)
Settings = tuple[list[float], list[float], list[float]]


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    """Weights that sum to 1, floors that sum to at most 1, caps from the floor to 1: what checks let through."""
    n = draw(st.integers(1, 6))
    several = st.lists(part, min_size=n, max_size=n)
    raw, wanted, above = draw(several), draw(several), draw(several)
    weights = [one / math.fsum(raw) for one in raw] if math.fsum(raw) > 1e-290 else [1.0 / n] * n
    floors = [draw(st.sampled_from([0.0, 1.0])) * one / max(math.fsum(wanted), 1.0) for one in wanted]
    caps = [max(floor, cap) for floor, cap in zip(floors, above, strict=True)]
    return weights, floors, caps


@given(settings())
def test_laws(chosen: Settings) -> None:
    weights, floors, caps = chosen
    p = served(weights, floors, caps)
    assert all(math.isfinite(one) and one >= 0.0 for one in p)
    assert abs(math.fsum(p) - 1.0) <= 1e-12
    assert all(one >= floor * (1.0 - 1e-12) for one, floor in zip(p, floors, strict=True))
    if math.fsum(caps) > 1.0:
        assert all(one <= cap + 1e-15 for one, cap in zip(p, caps, strict=True))


@given(settings())
def test_it_is_what_halving_finds(chosen: Settings) -> None:
    assert served(*chosen) == pytest.approx(naive.served(*chosen), rel=1e-9, abs=1e-12)


@given(settings())
def test_without_floors_and_caps_it_is_what_the_learner_says(chosen: Settings) -> None:
    weights, n = chosen[0], len(chosen[0])
    assert served(weights, [0.0] * n, [1.0] * n) == pytest.approx(weights, rel=1e-15, abs=0.0)


@given(settings())
def test_caps_keep_the_order_of_what_is_below_them(chosen: Settings) -> None:
    weights, _, caps = chosen
    p = served(weights, [0.0] * len(caps), caps)
    free = [i for i in range(len(p)) if p[i] < caps[i] * (1.0 - 1e-9) and weights[i] > 0.0]
    assert math.fsum(caps) <= 1.0 or all(weights[i] >= weights[j] or p[i] <= p[j] for i in free for j in free)


@pytest.mark.parametrize(
    "weights, floors, caps, expected",
    [
        ([0.5, 0.5], [0.2, 0.0], [1.0, 1.0], [0.6, 0.4]),  # 0.2 + 0.8 / 2
        ([1.0, 0.0], [0.1, 0.1], [1.0, 1.0], [0.9, 0.1]),  # the floor is on top, not instead
        ([0.6, 0.3, 0.1], [0.0] * 3, [0.4, 1.0, 1.0], [0.4, 0.45, 0.15]),  # 0.2 goes to the others, three to one
        ([0.6, 0.3, 0.1], [0.0] * 3, [0.4, 0.4, 1.0], [0.4, 0.4, 0.2]),  # and what is then above goes on
        ([1.0, 0.0, 0.0], [0.0] * 3, [0.4, 0.6, 0.3], [0.4, 0.4, 0.2]),  # to those who have nothing, by their caps
        ([0.9, 0.1], [0.0] * 2, [0.3, 0.1], [0.75, 0.25]),  # caps that cannot hold
        ([0.9, 0.1], [0.0] * 2, [0.0, 0.0], [0.5, 0.5]),
        ([0.3, 0.7], [0.5, 0.5], [1.0, 1.0], [0.5, 0.5]),
    ],
)
def test_by_hand(weights: list[float], floors: list[float], caps: list[float], expected: list[float]) -> None:
    assert served(weights, floors, caps) == pytest.approx(expected, abs=1e-12)
    assert naive.served(weights, floors, caps) == pytest.approx(expected, abs=1e-12)


def test_it_is_the_nearest_distribution_that_keeps_the_caps() -> None:
    """In relative entropy, as a convex solver finds it."""
    weights, caps = [0.5, 0.3, 0.15, 0.05], [0.35, 0.9, 0.16, 0.2]
    p = cp.Variable(4)
    distance = cp.sum(cp.rel_entr(p, weights))
    cp.Problem(cp.Minimize(distance), [cp.sum(p) == 1.0, p <= caps, p >= 0.0]).solve()
    assert served(weights, [0.0] * 4, caps) == pytest.approx(list(p.value), abs=1e-4)


def test_caps_with_no_room_but_a_rounding_error() -> None:
    """Everyone at the cap, a rounding error left over, and a last arm whose cap is 0: it used to be divided by 0."""
    caps = [0.5014424587157877, 0.112147085051751, 0.3864104562324614, 0.0]
    assert math.fsum(caps) > 1.0
    p = served([0.2526666061273495, 0.74693197716291, 0.00040141670974054355, 0.0], [0.0] * 4, caps)
    assert p == pytest.approx(caps, abs=1e-12)
