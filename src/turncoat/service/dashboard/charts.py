"""Charts as SVG, written in Python: sharp at any width, light or dark by the style sheet, readable without a script.

A chart is as wide as its container. Curves are drawn in a box of 1000 × 1000 that is stretched; text and marks are
positioned in per cent, so that they are not. Colours are classes: c0 … c11 for arms, by their place, cx for all others.
The tooltip's data is JSON in the attribute data-readout.

Escaping: fragments are strings of numbers and fixed classes; all other text is escaped where it is inserted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import msgspec
from markupsafe import Markup, escape

from turncoat.service.clock import as_datetime
from turncoat.service.dashboard.formats import figure, plain
from turncoat.service.experiments.estimates import Estimate

BOX = 1000
FOOT = 22  # pixels below a chart, for the time axis
MORE = ' class="more"'  # a tick label that is hidden on narrow screens
TIMES = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000),
)
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
DAY = 86_400
DATED = 3 * DAY  # a longer axis has dates for labels, and no two ticks on one day
ENDS = 0.05  # of the axis: a label nearer to an end would be cut off


class Mark(NamedTuple):
    """A mark on the time axis: a switch or a manual change."""

    at: float
    kind: str  # switch, event
    text: str


class Caption(NamedTuple):
    """The title of a chart, and its description for screen readers."""

    title: str
    about: str


class Layer(NamedTuple):
    """One arm of a stacked chart: its name, its colour's class, its share at each time."""

    name: str
    colour: str
    shares: Sequence[float]


def stacked(
    caption: Caption, axis: Axis, times: Sequence[float], layers: Sequence[Layer], marks: Iterable[Mark], end: float
) -> Markup:
    """Shares that add up to 1, each from its time on, the last until `end`; the first layer is at the bottom."""
    if not times:
        return Markup("")
    drawn = areas([axis.place(time) for time in (*times, end)], layers)
    rows = [[layer.name, layer.colour, [round(100.0 * one, 1) for one in layer.shares]] for layer in layers]
    ticks = [("100 %", 1.0), ("50 %", 0.5), ("0 %", 0.0)]
    readout = _readout(axis, [*times, end], rows, " %")
    return _figure(caption, axis, ticks, drawn, readout, 220, _marks(marks, axis, 220))


def areas(places: Sequence[float], layers: Sequence[Layer]) -> str:
    """Areas from the top layer down, each from 0 to its upper edge: later ones cover earlier ones.

    `places`: where each share begins, and where the last ends.
    """
    xs = [round(BOX * place) for place in places]
    tops = [0.0] * (len(xs) - 1)
    found: list[str] = []
    for layer in layers:
        tops = [top + one for top, one in zip(tops, layer.shares, strict=True)]
        points = zip(xs, (round(BOX * (1.0 - min(top, 1.0))) for top in tops), strict=False)
        steps = "".join(f"H{next(run)[0]}V{y}" for y, run in groupby(points, key=itemgetter(1)))
        found.append(f'<path class="area {layer.colour}" d="M{xs[0]},{BOX}{steps}H{xs[-1]}V{BOX}Z"/>')
    return "".join(reversed(found))


def banded(
    caption: Caption,
    edges: Sequence[float],
    estimates: Sequence[Estimate | None],
    colour_class: str,
    *,
    others: Sequence[Estimate | None] = (),
    y: Axis | None = None,
    height: int = 120,
) -> Markup:
    """A curve with its interval: estimates[i] is of the window edges[i] … edges[i + 1]. Thin ones are grey."""
    if len(edges) < 2:
        return Markup("")
    axis = time_axis(edges[0], edges[-1], most=4 if height < 150 else 8)
    y = y or reach(estimates, most=6)
    xs = [(axis.place(a) + axis.place(b)) / 2.0 for a, b in pairwise(edges)]
    drawn = _curve(xs, others, y, "line other") if others else ""
    if y.low < 0.0 < y.high:
        drawn += f'<path class="zero" d="M0,{_y(0.0, y)}H{BOX}"/>'
    drawn += _bands(xs, estimates, y, colour_class) + _curve(xs, estimates, y, f"line {colour_class}")
    readout = _readout(axis, edges, [["", colour_class, [short(one) for one in estimates]]], "")
    ticks = [(plain(tick), y.place(tick)) for tick in reversed(y.ticks)]
    return _figure(caption, axis, ticks, drawn, readout, height)


def reach(estimates: Iterable[Estimate | None], most: int = 4) -> Axis:
    """An axis for values and their intervals, without the wide intervals of thin ones."""
    known = [one for one in estimates if one is not None]
    firm = [one for one in known if not one.is_thin] or known
    ends = [end for one in firm for end in (one.low, one.high)] or [0.0, 1.0]
    return value_axis(min(ends), max(ends), most=most)


def short(one: Estimate | None) -> str | None:
    """An estimate as short text."""
    if one is None:
        return None
    return f"{figure(one.value)} ({figure(one.low)} to {figure(one.high)}){', few decisions' if one.is_thin else ''}"


def _runs(xs: Sequence[float], estimates: Sequence[Estimate | None]) -> Iterable[list[tuple[float, Estimate]]]:
    """Runs of neighbouring values of equal thinness; each begins where the one before ended."""
    run: list[tuple[float, Estimate]] = []
    for x, one in zip(xs, estimates, strict=False):
        if run and (one is None or one.is_thin != run[-1][1].is_thin):
            yield run
            run = [] if one is None else [run[-1]]
        if one is not None:
            run.append((x, one))
    if run:
        yield run


def _y(value: float, y: Axis) -> int:
    return round(BOX * (1.0 - y.place(value)))


def _curve(xs: Sequence[float], estimates: Sequence[Estimate | None], y: Axis, classes: str) -> str:
    found = ""
    for run in _runs(xs, estimates):
        points = [f"{round(BOX * x)},{_y(one.value, y)}" for x, one in run]
        if len(points) == 1:  # a path of one point would be invisible
            points.append(f"{round(BOX * run[0][0]) + 2},{_y(run[0][1].value, y)}")
        found += f'<path class="{classes}{_thin(run)}" d="M{"L".join(points)}"/>'
    return found


def _bands(xs: Sequence[float], estimates: Sequence[Estimate | None], y: Axis, colour_class: str) -> str:
    found = ""
    for run in _runs(xs, estimates):
        upper = [f"{round(BOX * x)},{_y(one.high, y)}" for x, one in run]
        lower = [f"{round(BOX * x)},{_y(one.low, y)}" for x, one in reversed(run)]
        found += f'<path class="band {colour_class}{_thin(run)}" d="M{"L".join(upper + lower)}Z"/>'
    return found


def _thin(run: Sequence[tuple[float, Estimate]]) -> str:
    return " thin" if run[-1][1].is_thin else ""


def _marks(marks: Iterable[Mark], axis: Axis, height: int) -> str:
    """Vertical lines: a switch has its arrow at the top, a manual change at the bottom."""
    found = ""
    for mark in marks:
        if axis.low <= mark.at <= axis.high:
            x, top = f"{100.0 * axis.place(mark.at):.2f}%", 0 if mark.kind == "switch" else height - 8
            found += (
                f'<g class="mark {mark.kind}"><title>{escape(mark.text)}</title>'
                f'<line class="{mark.kind}" x1="{x}" x2="{x}" y1="0" y2="{height}"/>'
                f'<svg class="corner" x="{x}" y="{top}" width="1" height="1" overflow="visible">'
                f'<path class="{mark.kind}" d="M-5,0L5,0L0,8Z"/></svg></g>'
            )
    return found


def _readout(axis: Axis, times: Sequence[float], rows: object, unit: str) -> object:
    return {"ends": [axis.low, axis.high], "times": [round(time, 3) for time in times], "rows": rows, "unit": unit}


def _figure(
    caption: Caption,
    axis: Axis,
    ticks: Sequence[tuple[str, float]],
    drawn: str,
    readout: object,
    height: int,
    marks: str = "",
) -> Markup:
    """The frame: value labels at the left, time labels below, grid lines."""
    labels = "".join(f"<span>{label}</span>" for label, _ in ticks)
    heights = [round(height * (1.0 - place), 1) for _, place in ticks]
    lines = "".join(f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>' for y in heights)
    times = "".join(
        f'<text x="{100.0 * axis.place(tick):.2f}%" y="{height + 16}"{MORE * (i % 2)}>{time_label(tick, axis)}</text>'
        for i, tick in enumerate(axis.ticks)
    )
    title, about = escape(caption.title), escape(caption.about)
    return Markup(
        f'<div class="chart" data-readout="{escape(msgspec.json.encode(readout).decode())}">'
        f'<div class="y" aria-hidden="true">{labels}</div>'
        f'<svg class="picture" width="100%" height="{height + FOOT}" role="img" aria-label="{title}. {about}">'
        f"<title>{title}</title><desc>{about}</desc>{lines}"
        f'<svg class="box" width="100%" height="{height}" viewBox="0 0 {BOX} {BOX}" preserveAspectRatio="none">'
        f'{drawn}</svg>{marks}<g class="times">{times}</g></svg></div>'
    )


# --- axes: ticks at round numbers and round times ---


class Axis(NamedTuple):
    """An axis from low to high, with evenly spaced ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """The position of a value: 0 at the low end, 1 at the high one, clamped."""
        if self.high <= self.low:
            return 0.5
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def value_axis(low: float, high: float, most: int = 5) -> Axis:
    """At most `most` ticks at round values that cover low … high."""
    if not high - low > max(1e-7 * max(abs(low), abs(high)), 1e-30):  # flat, at the precision of the labels
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
    """The axis from start to end, with ticks at round times."""
    end = max(end, start + 1.0)
    least = DAY if end - start > DATED else 1
    step = next((step for step in TIMES if step >= least and (end - start) / step <= most), TIMES[-1])
    first = math.ceil((start + ENDS * (end - start)) / step)
    last = math.floor((end - ENDS * (end - start)) / step)
    return Axis(start, end, tuple(float(i * step) for i in range(first, last + 1)))


def time_label(moment: float, axis: Axis) -> str:
    """A time, as precise as the ticks need."""
    when = as_datetime(moment)
    if axis.high - axis.low > DATED:
        return f"{when:%-d %b}"
    if axis.high - axis.low > 600:
        return f"{when:%H:%M}" if moment % DAY else f"{when:%-d %b}"
    return f"{when:%H:%M:%S}"


# --- sparklines for table cells ---


def strip(title: str, times: Sequence[float], layers: Sequence[Layer], end: float) -> Markup:
    """Shares over time, without axes."""
    if not times:
        return Markup("")
    axis = Axis(times[0], max(end, times[0] + 1.0), ())
    drawn = areas([axis.place(time) for time in (*times, axis.high)], layers)
    return Markup(
        f'<svg class="strip" viewBox="0 0 {BOX} {BOX}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{drawn}</svg>'
    )


def whisker(one: Estimate | None, axis: Axis, colour_class: str = "") -> Markup:
    """A point and its interval, on the axis of the whole table; with a line at zero if the axis contains it."""
    if one is None:
        return Markup("")
    low, high, value, zero = (f"{100.0 * axis.place(x):.1f}%" for x in (one.low, one.high, one.value, 0.0))
    line = f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="16"/>' if axis.low < 0.0 < axis.high else ""
    return Markup(
        f'<svg class="whisker{" thin" if one.is_thin else ""}" width="100%" height="16" role="img" '
        f'aria-label="{short(one)}">{line}<line class="range" x1="{low}" x2="{high}" y1="8" y2="8"/>'
        f'<circle class="{colour_class or "ink"}" cx="{value}" cy="8" r="4"/></svg>'
    )


def meter(part: float) -> Markup:
    """A share as a bar."""
    return Markup(
        '<svg class="meter" width="100%" height="8" aria-hidden="true">'
        '<rect class="rail" width="100%" height="8" rx="4"/>'
        f'<rect class="accent" width="{100.0 * min(max(part, 0.0), 1.0):.1f}%" height="8" rx="4"/></svg>'
    )


def bars(title: str, counts: Sequence[int], classes: str = "") -> Markup:
    """One bar per hour."""
    most, width = max(*counts, 1), 100.0 / len(counts)
    heights = [max(round(32 * n / most), 2 if n else 0) for n in counts]
    drawn = "".join(
        f'<rect x="{i * width:.2f}%" width="{0.8 * width:.2f}%" y="{32 - height}" height="{height}"/>'
        for i, height in enumerate(heights)
        if height
    )
    return Markup(
        f'<svg class="bars {classes}" width="100%" height="32" role="img" aria-label="{escape(title)}">'
        f'<line class="rail" x1="0" x2="100%" y1="31.5" y2="31.5"/>{drawn}</svg>'
    )
