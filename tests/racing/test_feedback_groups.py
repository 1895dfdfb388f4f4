"""Feedback groups: learners are ranked among those that see the same, and a saved race still knows who is who."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import turncoat as tc
from tests.racing.makers import FollowTheLeader
from turncoat.atomic_files import write_whole
from turncoat.learners.entries import Maker, by_feedback_group, feedback_group, setting_of
from turncoat.racing.storage import MANIFEST, _manifest_checksum


class Seer(tc.ClippedOMD):
    """As if it saw all losses."""

    facts = tc.ClippedOMD.facts._replace(setting="full information")


class Blind(tc.Uniform):
    """Another of that group, and surely worse."""

    facts = tc.Uniform.facts._replace(setting="full information")


LEARNERS: dict[str, Maker] = {
    "blind": Blind,
    "uniform": tc.Uniform,
    "seer": tc.told(Seer),
    "ucb1": tc.UCB1,
    "mine": FollowTheLeader,
}
SETTINGS = {"blind": "full information", "seer": "full information", "uniform": "adversarial", "ucb1": "stochastic"}


class Silent(tc.Hedge):
    """It sees all losses, whatever it states."""

    facts = tc.Hedge.facts._replace(setting="stochastic")


def test_whoever_sees_all_losses_is_no_bandit() -> None:
    assert feedback_group(setting_of(Silent(3))) == "full information"
    assert feedback_group(setting_of(tc.UCB1(3))) == feedback_group(setting_of(FollowTheLeader(3))) == "bandit"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tc.Result:
    folder = tmp_path_factory.mktemp("groups")
    tc.race(LEARNERS, ["flip/3", "stationary/0"], 400, seeds=3, folder=folder)
    return tc.Result.load(folder)


def test_a_saved_race_knows_the_settings(result: tc.Result) -> None:
    assert result.names.settings == {**SETTINGS, "mine": ""}
    assert by_feedback_group(LEARNERS, result.names.settings) == {
        "bandit": ["uniform", "ucb1", "mine"],
        "full information": ["blind", "seer"],
    }


def test_learners_are_ranked_in_their_group_and_stand_together(result: tc.Result) -> None:
    board = result.leaderboard()
    for (_,), here in board.group_by("environment", maintain_order=True):
        assert here["rank"].to_list() == [1, 2, 3, 1, 2]
        assert here["learner"].to_list()[3:] == ["seer", "blind"]
        assert here["rank_high"].to_list() <= [3, 3, 3, 2, 2]
        assert here["setting"].to_list() == [{**SETTINGS, "mine": ""}[name] for name in here["learner"]]
        for part in (here[:3], here[3:]):
            assert part["regret"].is_sorted()
    overall = result.overall()
    assert overall["learner"].to_list()[3:] == ["seer", "blind"] and overall.height == 5
    assert overall["mean_rank"].to_list()[3:] == [1.0, 2.0]
    assert sum(overall["mean_rank"].to_list()[:3]) == pytest.approx(6.0)
    alone = tc.race(
        {name: LEARNERS[name] for name in ("uniform", "ucb1", "mine")}, ["flip/3", "stationary/0"], 400, seeds=3
    )
    columns = ["learner", "mean_rank", "low", "high"]
    assert overall[:3].select(columns).equals(alone.overall().select(columns))  # the seers change nothing for them


def test_a_race_saved_before_there_were_groups_is_one_group(result: tc.Result, tmp_path: Path) -> None:
    tc.race({"ucb1": tc.UCB1}, ["flip/3"], 50, seeds=1, folder=tmp_path)
    content = json.loads((tmp_path / MANIFEST).read_text())
    del content["race"]["settings"], content["sha256"]
    write_whole(tmp_path / MANIFEST, json.dumps({**content, "sha256": _manifest_checksum(content)}).encode())
    old = tc.Result.load(tmp_path)
    assert old.names.settings == {}
    assert old.overall()["setting"].to_list() == [""] and old.leaderboard()["rank"].to_list() == [1]


def test_an_unfinished_race_has_standings_of_nobody() -> None:
    names = tc.race({"ucb1": tc.UCB1}, ["flip/3"], 50, seeds=1).names
    nobody = tc.Result(names, {}, {}, {})
    assert nobody.overall().is_empty() and nobody.leaderboard().is_empty()
    assert nobody.overall().schema["setting"] == nobody.leaderboard().schema["setting"] == pl.String
