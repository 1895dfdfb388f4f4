"""From the result of a race to the frames of its report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import turncoat as tc
from turncoat.environments import Table
from turncoat.racing.report_frames import frames_of
from turncoat.report import write
from turncoat.report.figures.catalogue import draw_all
from turncoat.report.styles import styles_of

T = 400


@pytest.fixture(scope="module")
def result() -> tc.Result:
    """All three kinds of game: with a planted path, without one, and one that answers the arms played."""
    losses = np.random.default_rng(2).random((T, 3))
    learners = {"exp3": tc.Exp3, "uniform": tc.Uniform}
    return tc.race(
        learners, {"flip/3": "flip/3", "mine": Table(losses), "adaptive/5": "adaptive/5"}, [T // 4, T], seeds=2
    )


def test_the_games_are_described(result: tc.Result) -> None:
    games = frames_of(result).games
    assert games["environment"].to_list() == ["flip/3", "mine", "adaptive/5"]
    assert games["horizon"].to_list() == [T, T, T]
    assert games["n_arms"].to_list() == [5, 3, 5]
    assert games["n_switches"].to_list() == [3, None, None]
    assert games["oblivious"].to_list() == [True, True, False]
    assert games["description"].to_list()[0].startswith("2 of 5 arms take turns")
    assert games["description"].to_list()[1] == "Table: 3 arms; horizon 400"


def test_the_switches_are_those_of_the_first_seed_whoever_finished_first() -> None:
    """They were those of the seed that came last: with two workers, another report every time."""
    drawn = tc.race({"uniform": tc.Uniform}, ["lower-bound/3"], T, seeds=6)
    switches = [drawn.references[at].n_switches for at in sorted(drawn.references)]
    assert len(set(switches)) > 1
    for i in range(6):
        order = sorted(drawn.references, key=lambda at: at.seed == i)  # seed i comes last
        shuffled = tc.Result(drawn.names, drawn.cells, {at: drawn.references[at] for at in order}, drawn.about)
        assert frames_of(shuffled).games["n_switches"].to_list() == switches[:1]


def test_the_best_learner_is_the_terminals(result: tc.Result) -> None:
    assert frames_of(result).learners() == result.overall()["learner"].to_list()


def test_the_planted_paths_are_those_of_the_longest_games(result: tc.Result) -> None:
    planted = frames_of(result).planted
    assert planted is not None
    assert planted["environment"].unique().to_list() == ["flip/3"]
    for i in range(2):
        path = tc.environments.scenario("flip/3", T, np.random.SeedSequence(0, spawn_key=(i, 0))).planted_path()
        mine = planted.filter(seed=i)
        assert path[mine["start"].to_list()].tolist() == mine["arm"].to_list()
        assert mine["start"].to_list() == [0, *(np.flatnonzero(np.diff(path)) + 1).tolist()]


def test_a_report_of_every_kind_of_game(result: tc.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "report").read_text()
    assert "2 learners in 3 environments, 400 rounds each, over 2 seeds" in page
    assert "the same losses, except against adversaries that see the arms played (adaptive/5)." in page
    assert (tmp_path / "report" / "figures" / "arms.svg").exists()
    assert not (tmp_path / "report" / "figures" / "trust.svg").exists()  # no learner has bases


def test_the_theorems_are_not_drawn_for_adversaries_that_watch(result: tc.Result) -> None:
    frames = frames_of(result)
    (spec,) = [spec for figure, spec in draw_all(frames, styles_of(frames.learners())) if figure.name == "frontier"]
    assert len(spec["concat"]) == 3
    for panel in spec["concat"]:
        names = [layer["data"]["name"] for layer in panel["layer"] if "name" in layer.get("data", {})]
        has = any("Theorem" in json.dumps(spec["datasets"][name]) for name in names)
        assert has == (panel["title"]["text"] != "adaptive/5")


def test_an_unfinished_race_is_drawn_as_far_as_it_went(
    result: tc.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "pictures", lambda spec: {"svg": b"drawn"})
    some = {at: cell for at, cell in result.cells.items() if at.environment != "mine" and at.seed == 0}
    half = tc.Result(result.names, some, result.references, result.about)
    assert len(half.missing) == 16
    frames = frames_of(half)
    assert frames.leaderboard["environment"].unique(maintain_order=True).to_list() == ["flip/3", "adaptive/5"]
    assert frames.leaderboard.filter(pl.col("low").is_not_null()).is_empty()
    assert half.report(tmp_path).exists()


def test_the_switches_shown_are_those_of_the_first_seed(result: tc.Result) -> None:
    """They were those of the reference that came last, which in threads is any."""
    planted = {at: reference for at, reference in result.references.items() if reference.n_switches >= 0}
    references = {**result.references, **{at: one._replace(n_switches=3 + at.seed) for at, one in planted.items()}}
    for order in (sorted(references), sorted(references, reverse=True)):
        mixed = tc.Result(result.names, result.cells, {at: references[at] for at in order}, result.about)
        assert frames_of(mixed).games["n_switches"].to_list() == [3, None, None]
