"""The commands, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.__main__ import main

GAMES = ["--games", "4", "--horizon", "3e2", "400"]
WHO = ["stand-in", "uniform", "exp3", "exp3.s, 4× S"]


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["experiments", *words])
    main()


def test_play_cost_and_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--folder", str(tmp_path)]
    typed(monkeypatch, "play", "tune", *GAMES, *folder, "--reps", "3", "--learners", *WHO)
    assert "96 results" in capsys.readouterr().out
    typed(monkeypatch, "cost", "tune", *GAMES, *folder, "--learners", *WHO)
    assert "4 players × 4 games × 30" in capsys.readouterr().out
    typed(monkeypatch, "table", "tune", *GAMES, *folder, "--ours", "stand-in")
    said = capsys.readouterr().out
    assert "## T = 400: 4 games, 3 repetitions, 2 rivals" in said and "best constants of each game" in said
    assert (tmp_path / "tune-0.md").read_text() + "\n" == said
    assert (tmp_path / "tune-0-300.svg").read_text().startswith("<svg")
    assert (tmp_path / "tune-0-400.png").read_bytes().startswith(b"\x89PNG")


def test_the_best_rivals_so_far_play_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["tune", "--games", "2", "--folder", str(tmp_path), "--reps", "2"]
    typed(monkeypatch, "play", *common, "--horizon", "300", "--learners", "stand-in", "uniform", "exp3")
    best = ["--best", "1", "--by", "300"]
    typed(monkeypatch, "play", *common, "--horizon", "400", "--learners", "stand-in", *best)
    assert "20 results" in capsys.readouterr().out


def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="has not played"):
        typed(monkeypatch, "table", "tune", "--folder", str(tmp_path))


def test_games_and_players_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "list", "tune", "--games", "2", "--horizon", "1e4")
    said = capsys.readouterr().out
    assert "tune/0/1 piecewise T=10000" in said and "glr-kl-ucb, 0.1, told S" in said
