"""Regret against the horizon, log-log: each point a game of its own length, each line a fitted power of T.

Fit and interval are `turncoat.statistics.growth`: the slope of log mean regret over log T, with the seeds as the
sample. It speaks of the noise between seeds only, not of a curve that is no power.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import polars as pl

from turncoat import statistics
from turncoat.report.figures.axes import Axis, log_axis
from turncoat.report.figures.panel import Spec, ends_of, faded, hover, in_columns, over_seeds, styled, with_names
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

SIZE = (280, 250)  # two side by side, with the longest names and exponents, fit on the page


def growth(frames: Frames, styles: Mapping[str, Style]) -> Spec | None:
    """A panel for each environment that was played over several horizons; None where there is none."""
    panels: list[Spec] = []
    for game, data in frames.by_game("growth", styles, known="regret"):
        if data["horizon"].n_unique() > 1:
            panels.append(_panel(game["environment"], data, styles))
    return in_columns(panels, 2) if panels else None


def powers(data: pl.DataFrame) -> dict[str, statistics.Growth]:
    """The fitted power of every learner that has one, over the seeds that were played at all of its horizons."""
    found = {}
    for (learner,), one in data.sort("learner", "horizon").group_by("learner", maintain_order=True):
        curves = one.pivot("horizon", index="seed", values="regret").drop("seed").fill_nan(None).drop_nulls()
        fitted = statistics.growth([float(T) for T in curves.columns], curves.to_numpy())
        if math.isfinite(fitted.exponent.value):
            found[str(learner)] = fitted
    return found


def _panel(environment: str, data: pl.DataFrame, styles: Mapping[str, Style]) -> Spec:
    points = over_seeds(data, "horizon", "regret").filter(pl.col("mean") > 0)
    fitted = powers(data)
    horizons = sorted(data["horizon"].unique())
    rows = [
        {"learner": learner, "horizon": T, "fit": float(power.scale * T**power.exponent.value)}
        for learner, power in fitted.items()
        for T in (horizons[0], horizons[-1])
    ]
    across = Axis("horizon T", "log", horizons[0], horizons[-1], at=tuple(horizons))
    up = log_axis("regret at T", [*points["mean"], *points["high"], *(row["fit"] for row in rows)], floor=1.0)
    x, colour = across.x("horizon:Q"), styled(styles, "color")
    low = pl.col("low").clip(lower_bound=up.low)  # the mean is positive, and so is all above it
    dots = alt.Chart(points.with_columns(low).with_columns(pl.col("mean", "low", "high").round_sig_figs(5)))
    tips = [alt.Tooltip("learner:N"), alt.Tooltip("horizon:Q"), alt.Tooltip("mean:Q", format=",.4~g")]
    layers = [
        dots.mark_rule().encode(x=x, y=up.y("low:Q"), y2=alt.Y2("high:Q"), **colour, **faded(0.5, "strokeOpacity")),
        dots.mark_point(filled=True, size=40).encode(
            x=x, y=up.y("mean:Q"), **styled(styles, "color", "shape"), **faded()
        ),
        hover(dots).encode(x=x, y=up.y("mean:Q"), tooltip=tips),
    ]
    if rows:
        line = alt.Chart(pl.DataFrame(rows).with_columns(pl.col("fit").round_sig_figs(5))).mark_line(strokeWidth=1.5)
        fit = line.encode(x=x, y=up.y("fit:Q"), **styled(styles, "color", "strokeDash"), **faded(0.8, "strokeOpacity"))
        layers.insert(0, fit)
    ends = [
        end._replace(text=f"{end.learner}: {_words(fitted.get(end.learner))}")
        for end in ends_of(points, "horizon", list(styles))
    ]
    return with_names(layers, ends, up, SIZE, styles, environment)


def _words(power: statistics.Growth | None) -> str:
    """T^0.52 ± 0.03, or that there is no fit."""
    if power is None:
        return "no fit"
    half_width = float(power.exponent.high - power.exponent.value)
    interval = f" ± {half_width:.2f}" if math.isfinite(half_width) else ""
    return f"T^{power.exponent.value:.2f}{interval}"
