"""The figure of what learners believed: from the learner to the picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import turncoat as tc
from turncoat.learners.turncoat import Turncoat
from turncoat.racing.report_frames import frames_of
from turncoat.report import Frames
from turncoat.report.figures.arms import beliefs, marks_of
from turncoat.report.figures.catalogue import draw_all
from turncoat.report.styles import styles_of
from turncoat.simulate.loop import play

T = 3000


@pytest.fixture(scope="module")
def result() -> tc.Result:
    return tc.race({"turncoat": Turncoat, "exp3": tc.Exp3}, ["flip/3", "stationary/0"], horizon=T, seeds=2)


@pytest.fixture(scope="module")
def frames(result: tc.Result) -> Frames:
    return frames_of(result)


def marks(spec: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the panel's triangles."""
    layers = [layer for layer in panel["layer"] if layer["mark"].get("shape") == "triangle-right"]
    return [row for layer in layers for row in spec["datasets"][layer["data"]["name"]]]


def test_beliefs_are_those_of_the_learner_after_the_game(result: tc.Result) -> None:
    assert set(result.beliefs["learner"]) == {"turncoat"}
    for i in range(2):
        places = [np.random.SeedSequence(0, spawn_key=(i, j)) for j in range(2)]
        learner = Turncoat(5, T, seed=places[1])
        play(learner, tc.environments.scenario("flip/3", T, places[0]))
        mine = result.beliefs.filter(environment="flip/3", seed=i).select("start", "arm", "sure").to_numpy()
        assert np.array_equal(mine, learner.believed)
        assert len(mine) >= 4  # three switches


def test_learners_that_do_not_explain_themselves_have_none(result: tc.Result) -> None:
    for at, cell in result.cells.items():
        assert cell.believed.shape[1] == 3
        assert (at.learner == "turncoat") == (len(cell.believed) > 0)


def test_the_figure_marks_the_switches_of_the_first_seed(frames: Frames) -> None:
    assert frames.beliefs is not None and set(frames.beliefs["seed"]) == {0}
    drawn = {figure.name: spec for figure, spec in draw_all(frames, styles_of(frames.learners()))}
    spec = drawn["beliefs"]
    flip, still = spec["concat"]
    wanted = frames.beliefs.filter(environment="flip/3").sort("start")[1:]
    assert [(row["x"], row["y"]) for row in marks(spec, flip)] == wanted.select("start", "arm").rows()
    assert " % sure" in marks(spec, flip)[0]["text"]
    assert marks(spec, still) == []  # one belief is no switch
    assert any(layer["mark"]["type"] == "rule" for layer in flip["layer"])  # the planted path


def test_there_is_no_figure_without_beliefs_or_shares(frames: Frames) -> None:
    styles = styles_of(frames.learners())
    assert beliefs(replace(frames, shares=None), styles) is None
    some = replace(frames, beliefs=frames.beliefs.clear() if frames.beliefs is not None else None)
    assert "beliefs" not in [figure.name for figure, _ in draw_all(some, styles)]


def test_marks_stay_on_their_map() -> None:
    rows = pl.DataFrame({"start": [5, 900, 300], "arm": [0, 7, 2], "sure": [0.9, 0.8, 0.7]})
    assert [(mark.x, mark.y) for mark in marks_of(rows, 8)] == [(300, 2), (900, 7)]
    assert [mark.text for mark in marks_of(rows, 5)] == ["from arm 0 to arm 2 in round 300, 70 % sure"]
