"""The standings on the page: a table a league, a row a learner, a column a game; the best dozen, the rest folded."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from turncoat.racing import FRONT, in_leagues
from turncoat.report.figures.leaderboard import rank_words
from turncoat.report.frames import Frames
from turncoat.report.styles import Look

LEAGUE_WORDS = {
    "bandit": "They see the loss of the arm they played",
    "full information": "They see the losses of all arms, and are ranked among themselves",
    "linear": "They see the features of the arms, and are ranked among themselves",
}


def standings(frames: Frames, looks: Mapping[str, Look]) -> str:
    """All tables. A title stands above each if there are several leagues."""
    rows, head = _Rows(frames), _head(frames)
    leagues = in_leagues(looks, frames.settings())
    parts = []
    for league, learners in leagues.items():
        title = f"<h3>{league.capitalize()}</h3><p>{LEAGUE_WORDS[league]}.</p>" if len(leagues) > 1 else ""
        parts.append(title + _table(head, [rows.of(learner) for learner in learners[:FRONT]]))
        if rest := learners[FRONT:]:
            inside = _table(head, [rows.of(learner) for learner in rest])
            parts.append(f'<details class="others"><summary>and {len(rest)} more</summary>{inside}</details>')
    return "\n".join(parts)


def _table(head: str, rows: Sequence[str]) -> str:
    return f'<div class="wide"><table class="standings">{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _head(frames: Frames) -> str:
    words = ["learner", *(["for losses"] if frames.settings() else []), *(["mean rank"] if _has_ranks(frames) else [])]
    words += ["ns a round", *frames.environments()]
    cells = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in words)
    return f"<thead><tr>{cells}</tr></thead>"


def _has_ranks(frames: Frames) -> bool:
    return frames.overall is not None and "mean_rank" in frames.overall.columns


class _Rows:
    """What stands in the row of a learner."""

    def __init__(self, frames: Frames) -> None:
        self.environments, self.settings = frames.environments(), frames.settings()
        self.board = {(row["environment"], row["learner"]): row for row in frames.leaderboard.iter_rows(named=True)}
        games = frames.leaderboard if frames.times is None else frames.times
        self.took = dict(games.group_by("learner").agg(pl.col("ns_per_round").median()).iter_rows())
        self.ranks: dict[str, float | None] | None = None
        if _has_ranks(frames):
            assert frames.overall is not None
            self.ranks = dict(frames.overall.select("learner", "mean_rank").iter_rows())

    def of(self, learner: str) -> str:
        """One row."""
        cells = [html.escape(self.settings.get(learner) or "–")] if self.settings else []
        if self.ranks is not None:
            cells.append(_number(self.ranks.get(learner), 1))
        cells.append(_number(self.took.get(learner), 0))
        cells += [_standing(self.board.get((name, learner))) for name in self.environments]
        inside = "".join(f"<td>{cell}</td>" for cell in cells)
        return f'<tr><th scope="row">{html.escape(learner)}</th>{inside}</tr>'


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _standing(row: dict[str, Any] | None) -> str:
    """`1,234 ± 56`, and the rank below it."""
    if row is None:
        return "–"
    half = math.nan if row["high"] is None or row["low"] is None else (row["high"] - row["low"]) / 2
    interval = "" if math.isnan(half) else f" ± {half:,.0f}"
    first = " class='best'" if row["rank"] == 1 else ""
    return f"<span{first}>{row['regret']:,.0f}{interval}</span><small>rank {html.escape(rank_words(row))}</small>"
