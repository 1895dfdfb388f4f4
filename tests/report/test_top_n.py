"""Many learners and many games: who stands in front, what is said of the rest, and who is set apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.report.sample import crowd, in_games, stating
from turncoat.learners.entries import TOP_N
from turncoat.report import Frames, report
from turncoat.report.figures.catalogue import draw_all
from turncoat.report.frames import MOST_LINES, remarks, top_by_game, top_frames, top_learners, with_everyone
from turncoat.report.page import MANY_GAMES
from turncoat.report.styles import COLOURS, styles_of


@pytest.fixture(scope="module")
def many(frames: Frames) -> Frames:
    """Thirty learners; the last but one is the yardstick, and two see everything."""
    raced = crowd(frames, 30)
    names = raced.learners()
    yardstick = {names[-2]: "uniform"}
    renamed = {
        name: frame.with_columns(pl.col("learner").replace(yardstick))
        for name in ("leaderboard", "traces", "frontier", "growth", "times", "shares")
        if (frame := getattr(raced, name)) is not None
    }
    return stating(replace(raced, **renamed), {names[0]: "full information", names[20]: "full information"})


def seers(many: Frames) -> list[str]:
    """Those that see everything."""
    return [learner for learner, setting in many.settings().items() if setting]


def test_the_front_is_the_best_dozen_of_each_group(many: Frames) -> None:
    learners = many.learners()
    assert set(learners[-2:]) == set(seers(many))  # they stand last, though one of them was best of all
    assert top_learners(many) == [*learners[:TOP_N], *learners[-2:]]


def test_each_game_has_its_own_dozen_the_yardstick_and_the_best_that_sees_more(many: Frames) -> None:
    for environment, chosen in top_by_game(many).items():
        board = many.leaderboard.filter(pl.col("environment") == environment).sort("regret")
        bandits = [learner for learner in board["learner"] if learner not in seers(many)]
        best = next(learner for learner in board["learner"] if learner in seers(many))
        assert chosen == [*bandits[:TOP_N], "uniform", best]
    shown = top_frames(many)
    for frame in (shown.traces, shown.frontier, shown.growth):
        assert frame is not None
        for (environment,), here in frame.group_by("environment"):
            assert set(here["learner"]) == set(top_by_game(many)[str(environment)])
    assert shown.times is not None and set(shown.times["learner"]) == set(top_learners(many))
    assert many.traces is not None and many.traces["learner"].n_unique() == 30  # frames keep everybody


def test_figures_say_whom_they_leave_out_and_name_the_group(many: Frames) -> None:
    styles = styles_of(many.learners(), many.settings())
    one = replace(many, games=many.games[:1], shares=None, trust=None, split=None)
    drawn = {figure.name: spec for figure, spec in draw_all(top_frames(one), styles, remarks(one))}
    said = "in each game its best 12 of 30 learners, and uniform, and the best of those that see more"
    assert [drawn[name]["title"]["text"] for name in ("regret", "frontier", "growth")] == [said] * 3
    assert drawn["time"]["title"]["text"] == "the best 14 of 30 learners"
    for name in ("regret", "frontier", "growth"):
        named = [
            row["text"]
            for rows in drawn[name]["datasets"].values()
            for row in rows
            if row.get("learner") in styles and "text" in row
        ]
        assert len(named) == TOP_N + 2 and sum("(full information)" in text for text in named) == 1
    assert "(full information)" in json.dumps(drawn["leaderboard"]["concat"])


def test_a_dozen_learners_have_a_dozen_colours() -> None:
    assert len({style.colour for style in styles_of([str(i) for i in range(TOP_N)]).values()}) == TOP_N == len(COLOURS)
    for colour in COLOURS:  # neither white nor black paper swallows one: contrast of at least 2 to both
        bright = _luminance(colour)
        assert (1.05) / (bright + 0.05) >= 2 and (bright + 0.05) / (_luminance("#16181c") + 0.05) >= 2


def _luminance(colour: str) -> float:
    """Relative luminance, as in WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_of_a_large_race_the_page_draws_everybody_in_standings_only(many: Frames) -> None:
    assert with_everyone(many) is many
    large = in_games(many, MOST_LINES // 30 + 1)
    whole = with_everyone(large)
    assert whole.traces is whole.frontier is whole.growth is whole.shares is None
    assert whole.times is large.times and whole.leaderboard is large.leaderboard


@pytest.mark.usefixtures("page_alone")
def test_the_standings_of_each_group_have_a_table_and_the_rest_is_folded(many: Frames, tmp_path: Path) -> None:
    few = Frames(many.games, many.leaderboard, times=many.times)
    text = report(few, tmp_path).read_text(encoding="utf-8")
    tables = re.findall(r'<table class="standings">(.*?)</table>', text, re.DOTALL)
    assert [table.count('<th scope="row">') for table in tables] == [12, 16, 2]
    assert "<h3>Bandit</h3>" in text and "<h3>Full information</h3>" in text
    assert (
        f'<details class="others"><summary>and 16 more</summary><div class="wide"><table class="standings">{tables[1]}'
        in text
    )
    assert all(seer in tables[2] and seer not in tables[0] + tables[1] for seer in seers(many))


@pytest.mark.usefixtures("page_alone")
def test_figures_of_many_games_are_folded_and_those_of_few_are_not(frames: Frames, tmp_path: Path) -> None:
    def folded(n: int) -> list[str]:
        games = in_games(frames, n)
        some = Frames(games.games, games.leaderboard, times=games.times, growth=games.growth)
        text = report(some, tmp_path).read_text(encoding="utf-8")
        return re.findall(r'<section id="([\w-]+)"><details>', text)

    assert folded(MANY_GAMES) == [] and folded(MANY_GAMES + 1) == ["growth"]
