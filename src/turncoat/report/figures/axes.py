"""Axes that know where a value lands, in pixels: labels can then be placed beside lines without touching one another.

Three kinds: linear, log, and symlog (sign(x) log(1 + |x|/constant): logarithmic far from 0, linear near it, so that a
negative regret has a place too).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import altair as alt

# 20k for 20,000 and 0.5 for 0.5, where SI letters alone would say 500m
SHORT = "datum.value != 0 && abs(datum.value) < 1 ? format(datum.value, '~g') : format(datum.value, '~s')"


class Axis(NamedTuple):
    """One direction of a panel: its words, its kind, its ends, and the constant of a symlog."""

    title: str
    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    constant: float = 1.0
    at: tuple[float, ...] = ()  # where the ticks go, if not where they usually do

    def _forward(self, value: float) -> float:
        if self.kind == "log":
            return math.log(max(value, self.low * 1e-3))
        if self.kind == "symlog":
            return math.copysign(math.log1p(abs(value) / self.constant), value)
        return value

    def pixel(self, value: float, length: float) -> float:
        """How far from the low end the value is drawn, kept within the panel."""
        a, b = self._forward(self.low), self._forward(self.high)
        where = (self._forward(value) - a) / (b - a) if b > a else 0.0
        return min(max(where, 0.0), 1.0) * length

    def ticks(self) -> list[float]:
        """Few round numbers: powers of ten, with 2 and 5 between them where there is room."""
        if self.at or self.kind == "linear":
            return list(self.at)
        if self.kind == "log":
            return _powers(self.low, self.high)
        far = [x for x in _powers(self.constant, max(self.high, -self.low)) if x >= self.constant]
        return [*(-x for x in reversed(far) if -x >= self.low), 0.0, *(x for x in far if x <= self.high)]

    def scale(self) -> alt.Scale:
        """For the encoding."""
        extra: dict[str, Any] = {} if self.kind == "log" else {"zero": False}
        if self.kind == "symlog":
            extra["constant"] = self.constant
        return alt.Scale(type=self.kind, domain=[self.low, self.high], nice=False, **extra)

    def axis(self, *, grid: bool = True) -> alt.Axis:
        """For the encoding."""
        ticks = self.ticks()
        values: dict[str, Any] = {"values": ticks} if ticks else {"tickCount": 4}
        return alt.Axis(labelExpr=SHORT, grid=grid, labelOverlap="greedy", labelFlush=False, **values)

    def x(self, field: str) -> alt.X:
        """This axis as the x of a mark."""
        return alt.X(field, title=self.title, scale=self.scale(), axis=self.axis())

    def y(self, field: str) -> alt.Y:
        """This axis as the y of a mark."""
        return alt.Y(field, title=self.title, scale=self.scale(), axis=self.axis())


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten from low to high; 2 and 5 times them too if they are few; every other one if they are many."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    decades = math.log10(high / low)
    digits = (1, 2, 5) if decades < 2 else (1,)
    step = 1 if decades < 7 else 2 if decades < 13 else 3
    exponents = [e for e in range(first, last + 1) if e % step == 0]
    every = [digit * 10.0**e for e in exponents for digit in digits]
    return [x for x in every if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]


def log_axis(title: str, values: Sequence[float], floor: float = 0.0) -> Axis:
    """A log axis around the positive ones of these values, from `floor` on."""
    positive = [x for x in values if x > 0 and math.isfinite(x)] or [1.0]
    high = max(positive) * 1.15
    low = max(min(positive) / 1.15, floor, high * 1e-9)
    return Axis(title, "log", min(low, high / 4), high)


def symlog_axis(title: str, values: Sequence[float], constant: float) -> Axis:
    """A symlog axis around these values and 0."""
    finite = [x for x in values if math.isfinite(x)] or [0.0]
    return Axis(title, "symlog", min(0.0, min(finite) * 1.15), max(constant, max(finite) * 1.15), constant)


def spread(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move the heights as little as possible (least squares) until they are a gap apart, inside [low, high].

    Less i gaps, the sorted heights must not fall: an isotonic regression, by pooling neighbours that do. Where there is
    no room for all gaps, the heights share what there is.
    """
    n = len(heights)
    if n > 1:
        gap = min(gap, (high - low) / (n - 1))
    order = sorted(range(n), key=lambda i: heights[i])
    pools: list[tuple[float, int]] = []  # (mean, how many)
    for place, i in enumerate(order):
        mean, size = heights[i] - place * gap, 1
        while pools and pools[-1][0] > mean:
            before, n_before = pools.pop()
            mean, size = (before * n_before + mean * size) / (n_before + size), n_before + size
        pools.append((mean, size))
    flat = [mean for mean, size in pools for _ in range(size)]
    placed = [0.0] * n
    for place, i in enumerate(order):
        placed[i] = min(max(flat[place], low), high - (n - 1) * gap) + place * gap
    return placed
