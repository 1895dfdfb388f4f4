"""Ratios by game: a dot for every player, ours in colour."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from experiments.numbers import Board, against_best
from turncoat.report.styles import COLOURS
from turncoat.report.write import pictures

MOST = 30.0  # dots further off are drawn here
LEAST = 0.2
STEP = 17


def rows_of(board: Board, first: str, rivals: list[str]) -> pl.DataFrame:
    """game, player, ratio to the best rival of the game, low and high."""
    found = [
        (game.label, player, *(min(max(part, LEAST), MOST) for part in span))
        for player in (*rivals, first)
        for game, span in zip(board.games, against_best(board, player, rivals), strict=True)
    ]
    return pl.DataFrame(found, ["game", "player", "ratio", "low", "high"], orient="row")


def draw(board: Board, first: str, rivals: list[str]) -> dict[str, bytes]:
    """The figure as SVG, PNG and PDF; games in the order of the first player's ratio."""
    data = rows_of(board, first, rivals)
    ours, others = data.filter(pl.col("player") == first), data.filter(pl.col("player") != first)
    order = ours.sort("ratio")["game"].to_list()
    scale = alt.Scale(type="log", domain=[LEAST, MOST], nice=False)
    axis = alt.Axis(values=[0.2, 0.5, 1, 2, 5, 10, 20], format="~g", title="regret over that of the game's best rival")
    x: Any = alt.X("ratio:Q", scale=scale, axis=axis)
    y: Any = alt.Y("game:N", sort=order, axis=alt.Axis(title=None, labelLimit=520, grid=True))
    one = alt.Chart(pl.DataFrame({"ratio": [1.0]})).mark_rule(style="mark").encode(x=x)
    dots = alt.Chart(others).mark_point(filled=True, size=22, color="#9a9a9a", opacity=0.55).encode(x=x, y=y)
    reach = (
        alt.Chart(ours)
        .mark_rule(color=COLOURS[1], strokeWidth=2)
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y)
    )
    mine = alt.Chart(ours).mark_point(filled=True, size=70, color=COLOURS[1], opacity=1).encode(x=x, y=y)
    n, T = board.regrets.shape[2], board.games[0].horizon
    title = f"{first} (in colour, with 95 % intervals) and {len(rivals)} rivals, T = {T:,}, {n} repetitions"
    chart = alt.layer(one, dots, reach, mine).properties(width=460, height=alt.Step(STEP), title=title)
    return pictures(chart.to_dict())
