"""Races with late and batched losses: the games of `play`, of any learner, under keys of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.racing.makers import LEARNERS, FollowTheLeader
from turncoat.environments import Table, scenario
from turncoat.errors import OptionError

T = 400
WORDS: dict[str, Any] = {"seeds": 2, "seed": 4, "workers": 1}


def total_loss(result: tc.Result, learner: str, environment: str, i: int) -> float:
    at = next(at for at in result.cells if (at.learner, at.environment, at.seed) == (learner, environment, i))
    return float(result.cells[at].loss[-1])


def test_a_race_plays_as_play_does() -> None:
    """Compiled learners, in an oblivious game and against an adversary, at any of the checkpoints' blocks."""
    result = tc.race(
        {"exp3": tc.Exp3, "turncoat": tc.Turncoat}, ["flip/3", "adaptive/5"], T, delay=30, batch=7, **WORDS
    )
    for name, make in (("exp3", tc.Exp3), ("turncoat", tc.Turncoat)):
        for environment in ("flip/3", "adaptive/5"):
            for i in range(2):
                streams = [np.random.SeedSequence(4, spawn_key=(i, j)) for j in range(2)]
                game = scenario(environment, T, streams[0])
                learner = (
                    make(game.n_arms, T, seed=streams[1]) if make is tc.Exp3 else make(game.n_arms, seed=streams[1])
                )
                arms = tc.play(learner, game, delay=30, batch=7)
                losses = game.losses() if game.oblivious else game.fresh().losses_against(arms)  # type: ignore[attr-defined]
                assert total_loss(result, name, environment, i) == pytest.approx(losses[np.arange(T), arms].sum())


def test_a_stranger_is_told_late_too() -> None:
    table = np.random.default_rng(8).random((T, 5)).round(3)
    result = tc.race({"ftl": FollowTheLeader}, {"table": Table(table)}, T, delay=3, batch=50, **WORDS)
    for i in range(2):
        learner, waiting, total = FollowTheLeader(5, seed=np.random.SeedSequence(4, spawn_key=(i, 1))), [], 0.0
        for t in range(T):
            arm = learner.ask()
            waiting.append((arm, float(table[t, arm])))
            total += float(table[t, arm])
            if (t + 1) % 50 == 0:
                told, waiting = (waiting, []) if t + 1 == T else (waiting[:-3], waiting[-3:])
                for pair in told:
                    learner.tell(*pair)
        assert total_loss(result, "ftl", "table", i) == pytest.approx(total)


def test_late_games_are_stored_apart_and_said(tmp_path: Path) -> None:
    learners = {"exp3": LEARNERS["exp3"]}
    plain = tc.race(learners, ["flip/3"], T, folder=tmp_path, **WORDS)
    late = tc.race(learners, ["flip/3"], T, folder=tmp_path, delay=100, **WORDS)
    assert total_loss(plain, "exp3", "flip/3", 0) != total_loss(late, "exp3", "flip/3", 0)
    assert "delay" not in plain.about and (late.about["delay"], late.about["batch"]) == ("100", "1")
    again: list[Any] = []
    tc.race(learners, ["flip/3"], T, folder=tmp_path, delay=100, on_progress=again.append, **WORDS)
    assert not again
    assert tc.Result.load(tmp_path).about["delay"] == "100"


def test_bad_words_are_refused() -> None:
    with pytest.raises(OptionError, match=r"delay is 0\.5; accepted are whole numbers"):
        tc.race(LEARNERS, ["flip/3"], T, delay=0.5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="batch 2; accepted with split=True"):
        tc.race(LEARNERS, ["flip/3"], T, batch=2, split=True)


def test_the_command_line_takes_delay_and_batch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from click.testing import CliRunner

    from turncoat.cli.commands import turncoat

    words = ["race", "-e", "flip/3", "-l", "exp3", "--horizon", "300", "--seeds", "1", "--no-report", "--json"]
    done = CliRunner().invoke(turncoat, [*words, "--folder", str(tmp_path), "--delay", "20", "--batch", "5"])
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)["about"]
    assert (about["delay"], about["batch"]) == ("20", "5")
