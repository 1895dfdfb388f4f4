"""Where the ticks of an axis go: round numbers, round times."""

from __future__ import annotations

import math
from dataclasses import dataclass

from turncoat.service.clock import as_datetime

TIMES = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000),
)
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
ENDS = 0.05  # of the axis: a label nearer to an end is cut off


@dataclass(frozen=True, slots=True)
class Axis:
    """From low to high, with the values that are named: evenly apart, the ends among them."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one. What is outside lies at the end."""
        if self.high <= self.low:
            return 0.5
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def value_axis(low: float, high: float, most: int = 5) -> Axis:
    """Round values around low … high, at most so many."""
    if not high - low > max(1e-7 * max(abs(low), abs(high)), 1e-30):  # flat, to the eye and to the digits of a label
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    for step in (step * scale for scale in (power, 10.0 * power) for step in STEPS):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    after = max(1 - math.floor(math.log10(step)), 0)  # digits: 2.5 needs one more
    ticks = tuple(round(i * step, after) for i in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def time_axis(start: float, end: float, most: int = 8) -> Axis:
    """Exactly start … end, with round times in between."""
    end = max(end, start + 1.0)
    step = next((step for step in TIMES if (end - start) / step <= most), TIMES[-1])
    first = math.ceil((start + ENDS * (end - start)) / step)
    last = math.floor((end - ENDS * (end - start)) / step)
    return Axis(start, end, tuple(float(i * step) for i in range(first, last + 1)))


def time_label(moment: float, axis: Axis) -> str:
    """As much of a time as tells the ticks apart."""
    when = as_datetime(moment)
    if axis.high - axis.low > 3 * 86_400:
        return f"{when:%-d %b}"
    if axis.high - axis.low > 600:
        return f"{when:%H:%M}" if moment % 86_400 else f"{when:%-d %b}"
    return f"{when:%H:%M:%S}"
