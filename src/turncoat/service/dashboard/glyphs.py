"""Small pictures that stand in a table: an interval, a share, counts by the hour, shares over time in little."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from turncoat.service.dashboard.charts import BOX, Layer, areas, short
from turncoat.service.dashboard.data.estimates import Estimate
from turncoat.service.dashboard.scales import Axis


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
    """A point and its interval on a scale that a whole table shares; with zero, where zero is on it."""
    if one is None:
        return Markup("")
    low, high, value, zero = (f"{100.0 * axis.place(x):.1f}%" for x in (one.low, one.high, one.value, 0.0))
    line = f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="16"/>' if axis.low < 0.0 < axis.high else ""
    return Markup(
        f'<svg class="whisker{" thin" if one.is_thin else ""}" width="100%" height="16" role="img" '
        f'aria-label="{short(one)}">{line}<line class="range" x1="{low}" x2="{high}" y1="8" y2="8"/>'
        f'<circle class="{colour_class or "ink"}" cx="{value}" cy="8" r="4"/></svg>'
    )


def meter(part: float, colour_class: str = "accent") -> Markup:
    """A share as a bar."""
    return Markup(
        '<svg class="meter" width="100%" height="8" aria-hidden="true">'
        '<rect class="rail" width="100%" height="8" rx="4"/>'
        f'<rect class="{colour_class}" width="{100.0 * min(max(part, 0.0), 1.0):.1f}%" height="8" rx="4"/></svg>'
    )


def bars(title: str, counts: Sequence[int], classes: str = "") -> Markup:
    """A bar an hour."""
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
