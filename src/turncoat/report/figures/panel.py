"""One panel of lines: a line for each learner, its band over the seeds, and its name where the line ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from turncoat.report.figures.axes import Axis, spread
from turncoat.report.styles import Style, label

LABEL_GAP = 13  # pixels from one name to the next
LABEL_EDGE = 6  # and from the ends of the panel
FOCUS = {"params": [{"name": "focus", "value": ""}]}  # of a specification: the learner its reader points at
IN_FOCUS = "focus == '' || focus == datum.learner"
HOVER = "hover"  # marks of this style only carry tooltips: the page has them, paper does not

Spec = dict[str, Any]  # Vega-Lite, with the data under "datasets"


class End(NamedTuple):
    """Where a line ends, and what is written there."""

    learner: str
    text: str
    height: float


def faded(value: float = 1.0, channel: str = "opacity") -> dict[str, Any]:
    """This opacity, or next to nothing while the reader looks at another learner.

    strokeOpacity is as good where there are only strokes, and opacity makes PNGs slow: a layer for every mark.
    """
    kind = getattr(alt, f"{channel[0].upper()}{channel[1:]}Value")
    return {channel: kind(0.08 * value, condition={"test": IN_FOCUS, "value": value})}


def styled(styles: Mapping[str, Style], *channels: str) -> dict[str, Any]:
    """These channels of an encoding, with what each learner has there: color, shape, strokeDash, strokeWidth."""
    fields = {"color": "colour", "shape": "shape", "strokeDash": "dash", "strokeWidth": "width"}
    encoded = {}
    for channel in channels:
        scale = alt.Scale(domain=list(styles), range=[getattr(style, fields[channel]) for style in styles.values()])
        kind = "O" if channel == "strokeWidth" else "N"  # O, for the order is that of the domain
        encoded[channel] = getattr(alt, channel[0].upper() + channel[1:])(f"learner:{kind}", scale=scale, legend=None)
    return encoded


def over_seeds(frame: pl.DataFrame, x: str, y: str) -> pl.DataFrame:
    """learner, x: the mean of y over the seeds, and where the middle 80 % of the seeds lie."""
    value = pl.col(y)
    return (
        frame.filter(value.is_not_null() & value.is_not_nan())
        .group_by("learner", x)
        .agg(
            mean=value.mean(),
            low=value.quantile(0.1, "linear"),
            high=value.quantile(0.9, "linear"),
        )
        .sort("learner", x)
    )


def lines(data: pl.DataFrame, across: Axis, up: Axis, styles: Mapping[str, Style], field: str) -> list[alt.Chart]:
    """Bands and lines of a frame from `over_seeds`, and a layer of tooltips.

    A log axis has no place for what is not positive: there a line leaves the panel at the bottom. Only then is it
    clipped, because clipping makes PNGs slow. A line of one point would not be seen: there the point is drawn.
    """
    rounded = data.with_columns(pl.col("mean", "low", "high").round_sig_figs(5))
    below = up.low * 1e-2 if up.kind == "log" else up.low
    leaves = any(mean < up.low for mean in rounded["mean"])
    kept = {"at": f"max(datum.mean, {below!r})", "point": f"max(datum.mean, {up.low!r})"}
    kept |= {"bottom": f"max(datum.low, {up.low!r})", "top": f"max(datum.high, {up.low!r})"}
    base = alt.Chart(rounded).transform_calculate(**kept)
    x, shade = across.x(f"{field}:Q"), faded(0.16, "fillOpacity")
    band = base.mark_area(opacity=1).encode(
        x=x, y=up.y("bottom:Q"), y2=alt.Y2("top:Q"), **shade, **styled(styles, "color")
    )
    alone: dict[str, Any] = {"point": {"filled": True, "size": 36}} if data[field].n_unique() == 1 else {}
    looks = styled(styles, "color", "strokeDash", "strokeWidth")
    line = base.mark_line(clip=leaves, **alone).encode(x=x, y=up.y("at:Q"), **looks, **faded(1.0, "strokeOpacity"))
    tips = [
        alt.Tooltip("learner:N"),
        alt.Tooltip(f"{field}:Q", title=across.title, format=",~g"),
        alt.Tooltip("mean:Q", title="mean", format=",.4~g"),
        alt.Tooltip("low:Q", title="80 % of seeds from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    return [band, line, hover(base).encode(x=x, y=up.y("point:Q"), tooltip=tips)]


def hover(base: alt.Chart) -> Any:
    """Points that cannot be seen and carry tooltips."""
    return base.mark_point(style=HOVER, size=70, opacity=0, filled=True)


def planted_mark(S: int | None, across: Axis) -> list[alt.Chart]:
    """A line at the planted number of switches, with its name above, if there is one on this axis."""
    if S is None or not across.low <= S <= across.high:
        return []
    base = alt.Chart(pl.DataFrame({"S": [float(S)], "text": [f"planted S = {S}"]}))
    rule = base.mark_rule(style="mark", strokeDash=[1, 3]).encode(x=across.x("S:Q"))
    text = base.mark_text(style="note", baseline="bottom", align="left" if across.pixel(S, 1.0) < 0.2 else "center")
    return [rule, text.encode(x=across.x("S:Q"), y=alt.value(-3), text=alt.Text("text:N"))]


def blank() -> Spec:
    """A place where nothing was played."""
    return layered([alt.Chart(pl.DataFrame({"x": [0]})).mark_point(opacity=0)])


def ends_of(data: pl.DataFrame, field: str, order: list[str]) -> list[End]:
    """The last point of every line."""
    last = data.sort(field).group_by("learner").agg(pl.col("mean").last())
    heights = dict(last.iter_rows())
    return [End(learner, learner, heights[learner]) for learner in order if learner in heights]


def names(ends: list[End], up: Axis, size: tuple[int, int], styles: Mapping[str, Style]) -> list[Any]:
    """Names to the right of the panel, none on another, each joined to the end of its line by a leader.

    An end that is no learner's, such as a theorem's, gets a name without colour and marker; that of a learner that sees
    more than the others its group.
    """
    width, height = size
    ends = [end._replace(text=label(end.text, styles.get(end.learner))) for end in ends]
    tips = [height - up.pixel(end.height, height) for end in ends]
    rows = [
        {"learner": end.learner, "text": end.text, "x": width, "x2": width + 16, "x3": width + 24}
        | {"y": round(tip, 2), "y2": round(place, 2)}
        for end, tip, place in zip(ends, tips, spread(tips, LABEL_GAP, LABEL_EDGE, height - LABEL_EDGE), strict=True)
    ]
    learners = [row for row in rows if row["learner"] in styles]
    others = [row for row in rows if row["learner"] not in styles]
    layers = []
    if learners:
        base = alt.Chart(pl.DataFrame(learners))
        marker = base.mark_point(filled=True, size=34).encode(**_at("x2", "y2"), **styled(styles, "color", "shape"))
        text = base.mark_text(align="left", baseline="middle").encode(**_at("x3", "y2"), text=alt.Text("text:N"))
        layers += [_leader(base).encode(**styled(styles, "color"), **faded(0.8, "strokeOpacity"))]
        layers += [marker.encode(**faded()), text.encode(**faded())]
    if others:
        base = alt.Chart(pl.DataFrame(others))
        text = base.mark_text(align="left", baseline="middle", style="theory-name")
        layers += [_leader(base, style="mark"), text.encode(**_at("x3", "y2"), text=alt.Text("text:N"))]
    return layers


def with_names(
    layers: list[Any], ends: list[End], up: Axis, size: tuple[int, int], styles: Mapping[str, Style], title: str
) -> Spec:
    """A panel of these layers, at least of this size, with names where its lines end."""
    width, height = size = room_for(len(ends), size)
    return layered([*layers, *names(ends, up, size, styles)], width=width, height=height, title=upright(title))


def layered(charts: list[Any], **properties: Any) -> Spec:
    """A panel of these charts, one on top of another. `alt.layer` would copy all of their parts again and again."""
    datasets: dict[str, Any] = {}
    layers = [one.to_dict(validate=False, context={"top_level": False, "datasets": datasets}) for one in charts]
    return {"layer": layers, "datasets": datasets, **properties}


def room_for(n_names: int, size: tuple[int, int]) -> tuple[int, int]:
    """A panel of this size, or higher, so that this many names have room beside it."""
    return size[0], max(size[1], LABEL_GAP * (n_names - 1) + 2 * LABEL_EDGE)


def _at(x: str, y: str) -> dict[str, Any]:
    """Places given in pixels."""
    return {"x": alt.X(f"{x}:Q", scale=None), "y": alt.Y(f"{y}:Q", scale=None)}


def _leader(base: alt.Chart, **words: Any) -> Any:
    rule = base.mark_rule(strokeWidth=1, **words)
    return rule.encode(**_at("x", "y"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))


def upright(title: str) -> Spec:
    """A panel's title, with room below it for a note."""
    return {"text": title, "offset": 16, "frame": "group"}


def in_columns(panels: list[Spec], columns: int, spacing: int = 30) -> Spec:
    """Panels side by side, row after row."""
    whole = alt.ConcatChart(columns=min(columns, len(panels)), spacing=spacing).to_dict(validate=False)
    datasets = {name: rows for panel in panels for name, rows in panel["datasets"].items()}
    inside = [{key: part for key, part in panel.items() if key != "datasets"} for panel in panels]
    return {**whole, "concat": inside, "datasets": datasets}
