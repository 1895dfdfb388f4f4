"""The screening program: it plays the package's games, and a band that is the package's; and the table is right."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from experiments.games import Game, draw, planted_loss
from experiments.players import players
from experiments.playing import play_once, title
from experiments.screening.__main__ import best_rivals, log_ratios, main, table
from experiments.screening.program import build, compiler, regrets
from experiments.screening.settings import SETTINGS, Detector, Setting, setting_of
from experiments.store import Line
from turncoat.errors import OptionError

needs_compiler = pytest.mark.skipif(
    compiler(gpu=False) is None, reason="NO C++ COMPILER (g++ or c++): the screening program was not tried at all"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("screening"))


def game_of(shape: str, horizon: int, most_arms: int = 100) -> Game:
    games = (game for seed in range(20) for game in draw("tune", 14, horizon, seed))
    return next(game for game in games if game.shape == shape and game.n_arms <= most_arms)


def kl_upper(p: float, level: float) -> float:
    """By bisection."""
    low, high = p, 1.0
    for _ in range(40):  # to 1e-12; m stays below 1
        m = (low + high) / 2
        first = p * math.log(p / m) if p > 0 else 0.0
        second = (1 - p) * math.log((1 - p) / (1 - m)) if p < 1 else 0.0
        low, high = (m, high) if first + second <= level else (low, m)
    return low


def detector_alone(game: Game, rep: int, share: float) -> float:
    """Regret of kl-UCB without alarms, whose indices are computed for the arm told and one other in turn."""
    environment = game.make(rep)
    losses, K = environment.losses(), game.n_arms
    n, rewards, index = np.zeros(K), np.zeros(K), np.full(K, 2.0)
    played = []
    for t in range(game.horizon):
        arm = int(np.argmax(index))
        played.append(arm)
        n[arm] += 1
        rewards[arm] += 1 - losses[t, arm]
        for k in {arm, t % K}:
            if n[k]:
                index[k] = kl_upper(rewards[k] / n[k], share * math.log(max(t + 1, 2)) / n[k])
    planted = planted_loss(environment)
    assert planted is not None
    return float(environment.mean_losses(np.array(played)).sum()) - planted


@needs_compiler
@pytest.mark.parametrize("shape", ["piecewise", "real-valued", "saw"])
def test_a_detector_without_alarms_plays_as_written_down_slowly(program: Path, shape: str) -> None:
    """Nothing is left to chance then, so losses, means, the planted path and the index must all be the package's."""
    alone = Setting(n_clipped=0, n_signed=0, detector=Detector(index=0.5, alarm=math.inf), followers=())
    game = game_of(shape, 300, most_arms=8)
    found = regrets(program, [game], [alone], 2, 1)[0, 0, :, 0]
    assert found == pytest.approx([detector_alone(game, rep, 0.5) for rep in range(2)], abs=1e-3)


@needs_compiler
@pytest.mark.parametrize("shape", ["flips", "levels-switching"])
def test_the_shipped_setting_is_the_package_s_band(program: Path, shape: str) -> None:
    """Null: equal mean regret. n = 80 pairs with equal losses; |z| > 4.5 has level 2e-5 (t, 79 degrees of freedom), and
    a difference of 7 standard errors, here under a third of the regret, is seen with 99 %."""
    game, n = game_of(shape, 1000, most_arms=8), 80
    (turncoat,) = players(["turncoat"])
    ours = regrets(program, [game], [SETTINGS["shipped"]], n, 1)[0, 0, :, 0]
    theirs = []
    for rep in range(n):
        environment = game.make(rep)
        theirs.append(play_once(turncoat, game, rep, environment, planted_loss(environment)).regret)
    difference = ours - np.array(theirs)
    error = difference.std(ddof=1) / math.sqrt(n)
    assert 7 * error < np.mean(theirs) / 3
    assert abs(difference.mean()) < 4.5 * error


@needs_compiler
def test_noises_differ_and_a_play_is_the_same_in_any_company(program: Path) -> None:
    games = [game_of("adaptive", 300), game_of("sine", 300)]
    both = regrets(program, games, [SETTINGS["first"], SETTINGS["later"]], 2, 3)
    assert both.shape == (2, 2, 2, 3) and len(set(both[:, 1].ravel().tolist())) == 12
    assert (regrets(program, games[1:], [SETTINGS["later"]], 2, 3) == both[1:, 1:]).all()


@needs_compiler
def test_settings_are_compared_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["first", "shipped:eta=3,detector.index=.3", "--games", "3", "--horizon", "500", "--layouts", "2"]
    main([*words, "--folder", str(tmp_path)])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "3 games, 2 plays of each; ratios to the first setting"
    assert " 1.000   1.00  first" in said[2:] and len(said) == 4


def test_settings_by_name_and_changed() -> None:
    assert setting_of("shipped") == Setting()
    found = setting_of("shipped:eta=3,detector.index=.3")
    assert (found.eta, found.detector.index) == (3.0, 0.3)
    assert found.numbers()[3] == 3.0 and len(found.numbers()) == 18 + 12 + 6 * 5
    assert setting_of("first").numbers()[:4] == [8.0, 8.0, 3.0, 2.0]


@pytest.mark.parametrize("words", ["shiped", "shipped:etta=3", "shipped:eta=three", "shipped:detector=3"])
def test_what_is_misspelt_is_refused(words: str) -> None:
    with pytest.raises(OptionError):
        setting_of(words)


def test_ratios_to_the_best_rival_of_each_game() -> None:
    games = draw("tune", 2, 400, 7)
    lines = [
        Line("k", name, title(game), 400, rep, regret, 0.1)
        for name, level in (("ucb1", 10.0), ("exp3", 20.0))
        for game in games
        for rep, regret in enumerate([level, level + 2.0, 999.0])
    ]
    assert best_rivals(lines, games, 2) == [11.0, 11.0]
    assert best_rivals(lines[:3], games, 2) is None
    r0 = np.array([game.offset for game in games])
    logs = log_ratios(np.array([[11.0, 11.0], [-5.0, 22.0]]), np.array([11.0, 11.0]), games)
    assert np.exp(logs) == pytest.approx(np.array([[1, 1], [r0[0] / (11 + r0[0]), (22 + r0[1]) / (11 + r0[1])]]))
    said = table(["a", "b"], np.log([[2.0, 2.0], [1.0, 3.0]])).splitlines()
    assert said[1:] == [" 1.732   3.00  b", " 2.000   2.00  a"]
