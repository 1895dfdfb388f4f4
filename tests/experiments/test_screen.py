"""Rules: other constants, and other checkouts, play the same games as the package."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.games import Game, draw, planted_loss
from experiments.numbers import Board
from experiments.players import players
from experiments.playing import play_once
from experiments.rules import SHIPPED, Rule, RuleError, constants, digest_of, package_in, play_rule, replaced, rule_of
from experiments.screen import by_shape, summary
from experiments.store import Line
from turncoat.errors import OptionError

GAMES = [game for game in draw("tune", 14, 400, 7) if game.shape in ("flips", "saw", "adaptive")]


def test_settings_are_read_by_name() -> None:
    assert constants("ETA=1.5") == {"ETA": "1.5"}
    assert constants("WINDOWS=(64.0, math.inf), ETA=2") == {"WINDOWS": "(64.0, math.inf)", "ETA": "2"}
    assert constants("A_1=x==3 B=4") == {"A_1": "x==3", "B": "4"}


@pytest.mark.parametrize("setting", ["ETA", "ETA=", "ETA=1 2", "=3", "ETA=1 most=2"])
def test_what_is_no_setting_is_refused(setting: str) -> None:
    with pytest.raises(OptionError, match="accepted is NAME=VALUE"):
        constants(setting)


def test_constants_computed_from_others_follow() -> None:
    source = "A, B = 1, (\n    2,\n    3,\n)\nC: int = A + len(B)\nif C:\n    D = A\n"
    module: dict[str, object] = {}
    exec(replaced(source, {"A": "10", "B": "()"}), module)
    assert [module[name] for name in "ABCD"] == [10, (), 10, 10]


def test_a_constant_is_replaced_in_the_copy_alone(tmp_path: Path) -> None:
    same, other = (rule_of(tmp_path, "r", SHIPPED, values) for values in ({}, {"MOST_ETA": "0.5"}))
    assert same.digest == digest_of(SHIPPED) != other.digest
    assert "MOST_ETA = 0.5" in (other.folder / "turncoat" / "learners" / "turncoat" / "constants.py").read_text()
    assert rule_of(tmp_path, "r", package_in(other.folder), {}).folder == other.folder


def test_what_is_no_constant_or_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="MOST_ETA"):
        rule_of(tmp_path, "r", SHIPPED, {"MOST_ETAS": "1"})
    with pytest.raises(OptionError, match="accepted is a checkout"):
        package_in(tmp_path)


def test_a_rule_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "turncoat").mkdir()
    (tmp_path / "turncoat" / "__init__.py").write_text("raise ValueError('broken')")
    with pytest.raises(RuleError, match="mine did not play: ValueError: broken"):
        play_rule(Rule("mine", tmp_path, "0"), [(GAMES[0], 0)], 1, print)


@pytest.mark.slow
def test_a_rule_plays_as_the_package_does_and_another_setting_differently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules play with the JIT off: two copies of the package would take longer to compile than all of the games."""
    theirs = SimpleNamespace(environ={**os.environ, "NUMBA_DISABLE_JIT": "1"}, pathsep=os.pathsep)
    monkeypatch.setattr("experiments.rules.os", theirs)  # numba looks at the environment of this process now and then
    (player,) = players(["turncoat"])
    found: list[Line] = []
    for setting in ("", "MOST_ETA=0.5 ETA=8.0"):
        rule = rule_of(tmp_path, setting or "shipped", SHIPPED, constants(setting) if setting else {})
        play_rule(rule, [(game, rep) for game in GAMES for rep in (0, 1)], 2, found.append)
    here = [regret(game, rep, player) for game in GAMES for rep in (0, 1)]
    assert [line.regret for line in found[:6]] == pytest.approx(here, abs=2e-4)
    assert sum(one.regret != other.regret for one, other in zip(found[:6], found[6:], strict=True)) >= 5
    assert len({line.key for line in found}) == 2


def regret(game: Game, rep: int, player: object) -> float:
    environment = game.make(rep)
    return play_once(player, game, rep, environment, planted_loss(environment)).regret  # type: ignore[arg-type]


def test_summary_by_hand() -> None:
    """r0 = 50: against the rival 150/100 and 150/200, against the first rule 150/100 and 150/150."""
    games = [GAMES[i]._replace(n_arms=100) for i in (0, 1)]
    cube = np.array([[[50.0], [100.0], [50.0]], [[100.0], [100.0], [150.0]]])
    board = Board(games, ["shipped", "mine", "rival"], cube)
    *_, mine = summary([board], board.players[:2], ["rival"]).splitlines()
    cells = [cell.strip() for cell in mine.split("|")]
    assert cells[2].startswith(f"{math.sqrt(1.5 * 0.75):.2f}") and cells[3] == "1.50" and games[0].label in cells[4]
    assert cells[5].startswith(f"{math.sqrt(1.5):.2f}") and cells[6] == "1.50"
    assert f"| {games[1].shape} | 1.00" in by_shape([board], board.players[:2])
