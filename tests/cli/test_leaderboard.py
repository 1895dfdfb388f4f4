"""The leaderboard of many learners and many games in a terminal: the best, who won where, and how to see the rest."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import turncoat as tc
from tests.cli.typed import run
from turncoat.cli.leaderboard import boards
from turncoat.cli.race import show_result
from turncoat.learners.entries import TOP_N
from turncoat.racing.coordinates import CellAt, Names, ReferenceAt

N_LEARNERS, N_GAMES = 20, 15


@pytest.fixture(scope="module")
def crowd() -> tc.Result:
    """One game of `uniform`, copied: learner i lost i more in every game; the last two see everything."""
    one = tc.race({"uniform": tc.Uniform}, ["flip/3"], 50, seeds=1)
    (cell,), (reference,) = one.cells.values(), one.references.values()
    learners, games = [f"learner {i}" for i in range(N_LEARNERS)], [f"game {i}" for i in range(N_GAMES)]
    facts = one.names.environments["flip/3"]
    settings = dict.fromkeys(learners[:-2], "stochastic") | dict.fromkeys(learners[-2:], "full information")
    cells = {
        CellAt(game, learner, 0, 50): cell._replace(mean_loss=cell.mean_loss + i)
        for game in games
        for i, learner in enumerate(learners)
    }
    references = {ReferenceAt(game, 0, 50): reference for game in games}
    return tc.Result(Names(learners, dict.fromkeys(games, facts), 1, [50], settings), cells, references, {})


def printed(result: tc.Result, **words: bool) -> str:
    console = Console(file=io.StringIO(), width=80)
    show_result(console, result, **words)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_best_dozen_the_winners_and_how_to_see_the_rest(crowd: tc.Result) -> None:
    said = printed(crowd)
    lines = [line.split("  ")[0] for line in said.splitlines()]
    board = lines[: lines.index("environment")]
    assert [line for line in board if line.startswith("learner ")] == [
        *(f"learner {i}" for i in range(TOP_N)),
        *(f"learner {i}" for i in (N_LEARNERS - 2, N_LEARNERS - 1)),
    ]
    assert board.index("full information:") == board.index("learner 11") + 2
    assert [line for line in lines if line.startswith("game ")] == [f"game {i}" for i in range(N_GAMES)]
    assert said.count("learner 0") == 1 + N_GAMES  # it won them all
    assert "… and 6 more: --all prints all" in said and "ranked among themselves" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80


def test_all_is_all(crowd: tc.Result) -> None:
    said = printed(crowd, everyone=True)
    assert "more: --all" not in said
    n_tables = len(boards(crowd, 80, everyone=True).tables)
    for i in range(N_LEARNERS):
        assert sum(line.startswith(f"learner {i} ") for line in said.splitlines()) == n_tables
    for i in range(N_GAMES):
        assert said.count(f"game {i} ") + said.count(f"game {i}\n") == 1


def test_few_are_shown_as_ever(tmp_path: Path) -> None:
    words = ["race", "-e", "flip/3", "-l", "uniform", "--horizon", "50", "--seeds", "1", "--folder", str(tmp_path)]
    plain, everyone = (run(*words, "--no-report", *more).output for more in ([], ["--all"]))
    assert plain.splitlines()[-9:-4] == everyone.splitlines()[-9:-4] and "--all" not in plain
    assert "flip/3" in plain
    assert run("report", str(tmp_path), "--all").exit_code == 0
