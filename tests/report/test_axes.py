"""Where values and names are drawn."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.report.figures.axes import Axis, log_axis, spread, symlog_axis


@given(st.lists(st.floats(-50, 350), min_size=1, max_size=20), st.floats(1, 20))
def test_spread_names_keep_their_order_a_gap_apart_and_inside(heights: list[float], gap: float) -> None:
    placed = spread(heights, gap, 0.0, 300.0)
    fits = min(gap, 300.0 / max(1, len(heights) - 1))
    ordered = [placed[i] for i in sorted(range(len(heights)), key=lambda i: heights[i])]
    assert all(b - a >= fits - 1e-9 for a, b in pairwise(ordered))
    assert min(placed) >= -1e-9 and max(placed) <= 300.0 + 1e-9


def test_names_that_are_far_apart_stay_where_they_are() -> None:
    assert spread([200.0, 10.0, 100.0], 13, 0, 300) == [200.0, 10.0, 100.0]


def test_names_at_one_height_part_to_both_sides() -> None:
    assert spread([100.0, 100.0, 100.0], 10, 0, 300) == [90.0, 100.0, 110.0]


def test_spread_moves_as_little_as_any_other_placement() -> None:
    """Against all placements on a grid: none with the gap kept is nearer in squares."""
    heights, gap = [3.0, 4.0, 9.0], 4.0
    placed = spread(heights, gap, 0.0, 20.0)
    grid = np.arange(0.0, 20.5, 0.5)
    best = min(
        (a - 3.0) ** 2 + (b - 4.0) ** 2 + (c - 9.0) ** 2
        for a in grid
        for b in grid[grid >= a + gap]
        for c in grid[grid >= b + gap]
    )
    assert sum((x - y) ** 2 for x, y in zip(placed, heights, strict=True)) <= best + 1e-9


def test_pixels_of_a_log_axis() -> None:
    axis = Axis("", "log", 1.0, 1000.0)
    assert [axis.pixel(x, 300) for x in (1, 10, 1000, 10_000, -5)] == pytest.approx([0, 100, 300, 300, 0])


def test_pixels_of_a_symlog_axis() -> None:
    axis = Axis("", "symlog", -99.0, 99.0, constant=1.0)
    assert axis.pixel(0.0, 200) == pytest.approx(100)
    assert axis.pixel(9.0, 200) == pytest.approx(150)
    assert axis.pixel(-9.0, 200) == pytest.approx(50)


def test_ticks_are_round_few_and_inside() -> None:
    assert Axis("", "log", 1.0, 20_000.0).ticks() == [1, 10, 100, 1000, 10_000]
    assert Axis("", "log", 180.0, 1200.0).ticks() == [200, 500, 1000]
    assert Axis("", "log", 1.0, 1e8).ticks() == [1, 100, 10_000, 1e6, 1e8]
    assert Axis("", "symlog", -250.0, 40_000.0, constant=100.0).ticks() == [-100, 0, 100, 1000, 10_000]
    assert Axis("", "log", 3.0, 70.0, at=(5.0, 50.0)).ticks() == [5, 50]


@pytest.mark.parametrize("values", [[], [-3.0, 0.0], [math.nan, 5.0], [1e9, 1e-9], [2.0, 2.0]])
def test_axes_have_ends_whatever_they_are_given(values: list[float]) -> None:
    for axis in (log_axis("", values), symlog_axis("", values, 1.0)):
        assert math.isfinite(axis.low) and math.isfinite(axis.high) and axis.low < axis.high
        assert axis.kind == "symlog" or axis.low > 0
