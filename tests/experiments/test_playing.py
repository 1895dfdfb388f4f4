"""Results are the same however they come about: at once, in two goes, with one thread or two, after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.cost import Cost, costs, seconds
from experiments.games import draw
from experiments.players import Player, players
from experiments.playing import missing, play
from experiments.store import Line, Store, read

GAMES = [game for game in draw("tune", 14, 300, 7) if game.shape in ("flips", "adaptive")]


def who() -> list[Player]:
    return players(["uniform", "exp3"])


def go(file: Path, reps: int, jobs: int = 1) -> int:
    """Play what is missing, and say how many games that were."""
    store = Store(file)
    before = len(store.lines)
    play(store, missing(store, GAMES, reps, who()), jobs, lambda piece: None)
    return len(store.lines) - before


def played(file: Path) -> set[tuple[str, str, int, float]]:
    return {(line.key, line.game, line.rep, line.regret) for line in read(file)}


def test_two_goes_and_two_threads_are_as_good_as_one(tmp_path: Path) -> None:
    assert go(tmp_path / "one", 3) == 12
    assert [go(tmp_path / "two", 1, jobs=2), go(tmp_path / "two", 3, jobs=2), go(tmp_path / "two", 3)] == [4, 8, 0]
    assert played(tmp_path / "one") == played(tmp_path / "two")


def test_a_line_cut_off_is_played_again(tmp_path: Path) -> None:
    file = tmp_path / "results"
    go(file, 2)
    whole = played(file)
    file.write_bytes(file.read_bytes()[:-9])
    assert len(read(file)) == 7
    assert go(file, 2) == 1
    assert played(file) == whole
    assert len(read(file)) == 8  # the piece that was left is a line of its own, and no result


def test_another_version_of_a_player_has_results_of_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    with store:
        store.add(Line("Exp3 @ 0.0.0", "exp3", f"{GAMES[0].name} #1", 300, 0, 1.0, 0.1))
    assert len(missing(store, GAMES[:1], 1, who())[0].players) == 2


def test_short_games_come_first_and_then_repetition_after_repetition(tmp_path: Path) -> None:
    games = [*draw("tune", 2, 400, 7), *draw("tune", 2, 300, 7)]
    pieces = missing(Store(tmp_path / "none"), games, 2, who())
    order = [(piece.game.horizon, piece.rep, piece.game.shape) for piece in pieces]
    assert order == [(T, rep, shape) for T in (300, 400) for rep in (0, 1) for shape in ("stationary", "piecewise")]


def test_cost_is_processor_time_a_round() -> None:
    lines = [Line("a", "a", "g", 1000, 0, 0.0, 0.001), Line("a", "a", "h", 1000, 0, 0.0, 0.003)]
    lines.append(Line("a", "a", "g", 100, 0, 0.0, 9.0))
    (found,) = costs(lines, 1000)
    assert found.player == "a" and found[1:] == pytest.approx((2.0, 3.0))
    assert seconds([Cost("a", 2.0, 3.0), Cost("b", 1.0, 1.0)], 28, 10, 100_000, 2) == pytest.approx(42.0)
