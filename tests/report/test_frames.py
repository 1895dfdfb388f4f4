"""What a report accepts."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from turncoat.errors import MissingPackageError, TableError
from turncoat.report import Frames, report


def test_a_missing_column_is_named(frames: Frames) -> None:
    assert frames.traces is not None
    with pytest.raises(TableError, match=r"'traces' lacks the columns regret; it needs environment, learner"):
        replace(frames, traces=frames.traces.drop("regret"))


def test_an_empty_leaderboard_is_refused(frames: Frames) -> None:
    with pytest.raises(TableError, match="'leaderboard' is empty"):
        replace(frames, leaderboard=frames.leaderboard.clear())


def test_learners_are_ordered_by_their_mean_rank_over_the_environments() -> None:
    words = {"regret": 1.0, "low": 0.0, "high": 2.0, "rank_low": 1, "rank_high": 3, "ns_per_round": 1.0}
    rows = [("a", "x", 1), ("a", "y", 2), ("a", "z", 3), ("b", "x", 3), ("b", "y", 1), ("b", "z", 2)]
    board = pl.DataFrame([{"environment": e, "learner": name, "rank": rank, **words} for e, name, rank in rows])
    game = {"horizon": 10, "n_arms": 2, "n_switches": 0, "oblivious": True, "description": "a game"}
    games = pl.DataFrame({"environment": ["b", "a"], **game})
    frames = Frames(games, board)
    assert frames.learners() == ["y", "x", "z"]  # mean ranks 1.5, 2, 2.5
    assert frames.environments() == ["b", "a"]


def test_without_altair_it_says_how_to_get_it(frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPackageError, match=r"needs altair: pip install 'turncoat\[race\]'"):
        report(frames, tmp_path)
    assert not list(tmp_path.iterdir())
