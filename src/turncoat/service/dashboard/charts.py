"""Pictures as SVG, written in Python: sharp at any width, light or dark by the style sheet, readable without a script.

A picture is as wide as its place. Curves are drawn in a box of 1000 × 1000 that is stretched; words and marks are
placed by per cent, so that they are not. Colours are classes: c0 … c11 for arms, by their place, cx for all others.
What the script shows at the pointer is in the figure's data-readout, as JSON.

Pieces are plain strings of numbers and of our own classes; names and words of others are escaped where they go in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
from markupsafe import Markup, escape

from turncoat.service.dashboard.data.estimates import Estimate
from turncoat.service.dashboard.formats import figure, plain
from turncoat.service.dashboard.scales import Axis, time_axis, time_label, value_axis

COLOURS = 12
BOX = 1000
FOOT = 22  # pixels under a picture, for the times
MORE = ' class="more"'  # a time that is left out where there is little room


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment in a picture: a switch, or something that somebody did."""

    at: float
    kind: str  # switch, event
    text: str


@dataclass(frozen=True, slots=True)
class Caption:
    """What a picture is called, and what somebody who cannot see it should know."""

    title: str
    about: str


@dataclass(frozen=True, slots=True)
class Layer:
    """One arm of a stacked picture: its name, its colour's class, its share at each time."""

    name: str
    colour: str
    shares: Sequence[float]


def colour(place: int) -> str:
    """The class of the arm at this place."""
    return f"c{place % COLOURS}"


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
    """From the top layer down, each from the floor to its upper edge: what is drawn later covers the rest.

    `places`: where each share begins, and where the last ends.
    """
    xs = [round(BOX * place) for place in places]
    tops = [0.0] * (len(xs) - 1)
    found: list[str] = []
    for layer in layers:
        tops = [top + one for top, one in zip(tops, layer.shares, strict=True)]
        steps = "".join(_steps(xs, [round(BOX * (1.0 - min(top, 1.0))) for top in tops]))
        found.append(f'<path class="area {layer.colour}" d="M{xs[0]},{BOX}{steps}H{xs[-1]}V{BOX}Z"/>')
    return "".join(reversed(found))


def _steps(xs: Sequence[int], ys: Sequence[int]) -> Iterable[str]:
    """Up or down at each time, and level until the next; nothing where nothing changes."""
    before = None
    for x, y in zip(xs, ys, strict=False):
        if y != before:
            yield f"H{x}V{y}"
            before = y


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
    """One curve with its interval, a value a window: estimates[i] is of edges[i] … edges[i + 1]. Thin ones in grey."""
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
    """An axis for values and their intervals; those of thin ones would leave no room for the others."""
    known = [one for one in estimates if one is not None]
    firm = [one for one in known if not one.is_thin] or known
    ends = [end for one in firm for end in (one.low, one.high)] or [0.0, 1.0]
    return value_axis(min(ends), max(ends), most=most)


def short(one: Estimate | None) -> str | None:
    """An estimate in a few words."""
    if one is None:
        return None
    return f"{figure(one.value)} ({figure(one.low)} to {figure(one.high)}){', few decisions' if one.is_thin else ''}"


def _runs(xs: Sequence[float], estimates: Sequence[Estimate | None]) -> Iterable[list[tuple[float, Estimate]]]:
    """Neighbours with a value, and as thin as one another; each run begins where the one before ended."""
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
        if len(points) == 1:  # a point alone would not be seen
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
    """Lines across: of a switch with its head at the top, of what somebody did at the bottom."""
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
    """The frame: names of values at the left, of times below, lines across."""
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
