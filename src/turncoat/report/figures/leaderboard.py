"""The leaderboard as a figure, and the time per round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from turncoat.report.figures.axes import Axis, log_axis, symlog_axis
from turncoat.report.figures.panel import Spec, faded, hover, in_columns, layered, styled, upright
from turncoat.report.frames import Frames
from turncoat.report.styles import Style, label

ROW = 19  # pixels
WIDTH = 190
TIMES_WIDTH = 420
SHORT_NAME = 15  # letters, beside which four panels fit on the page


def _rows(styles: Mapping[str, Style], *, named: bool) -> alt.Y:
    """The learners, best at the top; those that see more stand below, with their group."""
    words = {learner: label(learner, style) for learner, style in styles.items()}
    said: dict[str, Any] = {}
    if any(name != text for name, text in words.items()):
        said["labelExpr"] = f"{json.dumps(words)}[datum.value]"
    axis = alt.Axis(labels=named, ticks=False, domain=False, grid=True, labelLimit=260, labelPadding=8, **said)
    return alt.Y("learner:N", title=None, scale=alt.Scale(domain=list(styles)), axis=axis)


def _present(styles: Mapping[str, Style], frame: pl.DataFrame) -> dict[str, Style]:
    """The styles of those that are there."""
    there = set(frame["learner"])
    return {learner: style for learner, style in styles.items() if learner in there}


def leaderboard(frames: Frames, styles: Mapping[str, Style]) -> Spec:
    """Regret and its interval for each learner, a panel for each environment; beside it the rank and its interval."""
    styles = _present(styles, frames.leaderboard)
    columns = _columns(len(frames.environments()), max(len(label(*one)) for one in styles.items()))
    panels: list[Spec] = []
    for game, board in frames.by_game("leaderboard", styles):
        panels.append(_board(game["environment"], board, styles, named=len(panels) % columns == 0))
    return in_columns(panels, columns, spacing=24)


def _columns(n_panels: int, longest_name: int) -> int:
    """As many panels in a row as the page has room for; four of them two and two, if not all in one."""
    if longest_name <= SHORT_NAME:
        return min(4, n_panels)
    return 2 if n_panels == 4 else min(3, n_panels)


def _board(environment: str, board: pl.DataFrame, styles: Mapping[str, Style], *, named: bool) -> Spec:
    values = [x for name in ("regret", "low", "high") for x in board[name].fill_nan(None).drop_nulls()]
    across = log_axis("regret", values) if min(values) > 0 else symlog_axis("regret", values, 10.0)
    data = board.with_columns(
        rank_words=pl.struct("rank", "rank_low", "rank_high").map_elements(rank_words, return_dtype=pl.String)
    ).with_columns(pl.col("regret", "low", "high").fill_nan(None).round_sig_figs(5))
    base = alt.Chart(data)
    y, colour = _rows(styles, named=named), styled(styles, "color")
    numbers = (alt.Tooltip(f"{name}:Q", format=",.4~g") for name in ("regret", "low", "high"))
    tips = [alt.Tooltip("learner:N"), *numbers]
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=across.x("low:Q"), x2=alt.X2("high:Q"), y=y, **colour, **faded()),
        base.mark_point(filled=True, size=52).encode(
            x=across.x("regret:Q"), y=y, **styled(styles, "color", "shape"), **faded(), tooltip=tips
        ),
        base.mark_text(align="left", baseline="middle").encode(
            x=alt.value(WIDTH + 8), y=y, text=alt.Text("rank_words:N"), **faded()
        ),
    ]
    head = alt.Chart(pl.DataFrame({"text": ["rank"]})).mark_text(style="note", align="left", baseline="bottom")
    layers.append(head.encode(x=alt.value(WIDTH + 8), y=alt.value(-3), text=alt.Text("text:N")))
    return layered(layers, width=WIDTH, height=ROW * len(styles), title=upright(environment))


def rank_words(rank: dict[str, Any]) -> str:
    """`2 (1–3)`; the rank alone where it is certain or nothing is known of its interval."""
    low, high = rank["rank_low"], rank["rank_high"]
    best = f"{rank['rank']:g}"
    return best if low is None or high is None or low == high else f"{best} ({low:g}–{high:g})"


def times(frames: Frames, styles: Mapping[str, Style]) -> Spec:
    """Nanoseconds per round: every game a tick, the median a marker with its number."""
    assert frames.times is not None
    data = frames.times.filter(pl.col("learner").is_in(list(styles)))
    styles = _present(styles, data)
    value = pl.col("ns_per_round")
    medians = data.group_by("learner").agg(value.median()).sort("learner")
    across: Axis = log_axis("nanoseconds per round", data["ns_per_round"].to_list())
    y, colour = _rows(styles, named=True), styled(styles, "color")
    every = alt.Chart(data.select("environment", "learner", "seed", value.round_sig_figs(4))).mark_tick(thickness=1)
    middle = alt.Chart(medians.with_columns(value.round_sig_figs(4)))
    where = {"x": across.x("ns_per_round:Q"), "y": y}
    tips = [alt.Tooltip(field) for field in ("learner:N", "environment:N", "seed:Q")]
    layers = [
        every.encode(**where, **colour, **faded(0.45)),
        hover(every).encode(**where, tooltip=[*tips, alt.Tooltip("ns_per_round:Q", format=",.0f")]),
        middle.mark_point(filled=True, size=52).encode(**where, **styled(styles, "color", "shape"), **faded()),
        middle.mark_text(align="left", baseline="middle").encode(
            x=alt.value(TIMES_WIDTH + 8), y=y, text=alt.Text("ns_per_round:Q", format=",.0f"), **faded()
        ),
    ]
    return in_columns([layered(layers, width=TIMES_WIDTH, height=ROW * len(styles))], 1)
