"""Where the regret of a master came from: its own regret against each base, and that base's against the best path.

A panel for each environment and master; in a row the y axes are the same. At every base the two parts add up to the
regret, a level line. The theorems bound the two parts at one base; their bounds are words, as bars they would dwarf
what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from turncoat.report.figures.axes import Axis
from turncoat.report.figures.maps import shown_learners
from turncoat.report.figures.panel import (
    End,
    Spec,
    blank,
    faded,
    hover,
    in_columns,
    layered,
    lines,
    names,
    over_seeds,
    planted_mark,
    styled,
    upright,
)
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

SIZE = (205, 170)
PARTS = {"master_regret": "master, against base", "base_regret": "base, against path"}
SUM = "their sum"


def split(frames: Frames, styles: Mapping[str, Style]) -> Spec | None:
    """Both parts for every base at the last round, mean over the seeds."""
    games = list(frames.by_game("split", styles, known="base_regret"))
    split_learners = {learner for _, data in games for learner in data["learner"]}
    masters = shown_learners([one for one in styles if one in split_learners], len(games))
    panels: list[Spec] = []
    for game, data in games:
        last = data.filter((pl.col("t") == pl.col("t").max()) & pl.col("learner").is_in(masters))
        up = _up(last)
        for learner in masters:
            one = last.filter(pl.col("learner") == learner)
            words = _words(frames.bounds, game, learner)
            panels.append(_panel(game, learner, one, words, up, styles) if not one.is_empty() else blank())
    return in_columns(panels, 2 if len(masters) in (2, 4) else min(3, len(masters)), spacing=24) if panels else None


def _up(here: pl.DataFrame) -> Axis:
    """One axis for all masters of an environment."""
    ends = [x for part in PARTS for x in over_seeds(here, "candidate", part).select("low", "high").iter_rows()]
    values = [x for pair in ends for x in pair]
    room = 0.05 * (max(values) - min(values)) or 1.0
    return Axis("regret", "linear", min(0.0, min(values) - room), max(0.0, max(values) + room))


def _panel(
    game: dict[str, Any], learner: str, one: pl.DataFrame, words: str, up: Axis, styles: Mapping[str, Style]
) -> Spec:
    candidates = one["candidate"].to_list()
    across = Axis("S that the base is tuned for", "log", min(candidates) / 1.3, max(candidates) * 1.3)
    mine, theirs = (over_seeds(one, "candidate", part) for part in PARTS)
    total = (one["master_regret"] + one["base_regret"]).to_numpy().mean()
    ends = [
        End(learner, PARTS["master_regret"], mine["mean"][-1]),
        End("", PARTS["base_regret"], theirs["mean"][-1]),
        End("", SUM, total),
    ]
    layers = [*_levels(total, up), *planted_mark(game["n_switches"], across)]
    layers += _base(theirs, across, up)
    layers += lines(mine, across, up, styles, "candidate")[:2]
    marker = alt.Chart(mine.with_columns(pl.col("mean").round_sig_figs(5))).mark_point(filled=True, size=34)
    looks = styled(styles, "color", "shape")
    layers.append(marker.encode(x=across.x("candidate:Q"), y=up.y("mean:Q"), **looks, **faded()))
    layers += [_tooltips(mine, theirs, total, across, up), *names(ends, up, SIZE, styles)]
    title = {**upright(game["environment"]), "subtitle": [learner, words], "subtitleFontSize": 11}
    return layered(layers, width=SIZE[0], height=SIZE[1], title=title)


def _base(data: pl.DataFrame, across: Axis, up: Axis) -> list[alt.Chart]:
    """The bases' part: no learner's, so in ink."""
    base = alt.Chart(data.with_columns(pl.col("mean", "low", "high").round_sig_figs(5)))
    x, shown = across.x("candidate:Q"), faded(0.75)
    band = base.mark_area(style="mark").encode(x=x, y=up.y("low:Q"), y2=alt.Y2("high:Q"), **faded(0.13))
    line = base.mark_line(style="theory", strokeWidth=1.2).encode(x=x, y=up.y("mean:Q"), **shown)
    marker = base.mark_point(style="theory", shape="square", size=30, strokeWidth=1.2)
    return [band, line, marker.encode(x=x, y=up.y("mean:Q"), **shown)]


def _levels(total: float, up: Axis) -> list[alt.Chart]:
    """0, and the regret that the two parts add up to."""
    rules = [(0.0, [1, 0], 0.6), (total, [2, 3], 1.4)]
    return [
        alt.Chart(pl.DataFrame({"y": [round(y, 3)]}))
        .mark_rule(style="mark", strokeDash=dash, strokeWidth=width)
        .encode(y=up.y("y:Q"))
        for y, dash, width in rules
    ]


def _tooltips(mine: pl.DataFrame, theirs: pl.DataFrame, total: float, across: Axis, up: Axis) -> alt.Chart:
    """At every point, for both parts."""
    both = mine.select("learner", "candidate", master="mean").with_columns(base=theirs["mean"], both=pl.lit(total))
    data = both.with_columns(pl.col("master", "base", "both").round_sig_figs(5))
    at = pl.concat([data.with_columns(y=pl.col("master")), data.with_columns(y=pl.col("base"))])
    tips = [alt.Tooltip("learner:N"), alt.Tooltip("candidate:Q", title="base's S", format=",.3~g")]
    parts = {"master": PARTS["master_regret"], "base": PARTS["base_regret"], "both": SUM}
    tips += [alt.Tooltip(f"{name}:Q", title=words, format=",.4~g") for name, words in parts.items()]
    return hover(alt.Chart(at)).encode(x=across.x("candidate:Q"), y=up.y("y:Q"), tooltip=tips)  # type: ignore[no-any-return]


def _words(bounds: pl.DataFrame | None, game: dict[str, Any], learner: str) -> str:
    """What the theorem allows each part, mean over the seeds; nothing where there is no theorem."""
    if bounds is None:
        return ""
    here = (pl.col("environment") == game["environment"]) & (pl.col("learner") == learner)
    one = bounds.filter(here & pl.col("bound").is_not_null())
    if one.is_empty():
        return ""
    mean = one.select(pl.col("bound", "master_bound", "base_bound").mean()).row(0, named=True)
    vacuous = ", vacuous" if mean["bound"] >= game["horizon"] else ""
    at = f"Theorem {one['theorem'][0]} at base S = {one['candidate'][0]:.3g}"
    return f"{at}: master ≤ {_short(mean['master_bound'])}, base ≤ {_short(mean['base_bound'])}{vacuous}"


def _short(x: float) -> str:
    """1.2k, 340k, 1.2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if x >= size:
            return f"{x / size:.2g}{letter}" if x < 100 * size else f"{x / size:.0f}{letter}"
    return f"{x:.3g}"
