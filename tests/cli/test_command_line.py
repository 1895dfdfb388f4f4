"""The command line as a user meets it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import turncoat as tc
from tests.cli.typed import run
from turncoat.cli.leaderboard import boards
from turncoat.cli.progress import watched_race
from turncoat.learners.entries import FEW, entry
from turncoat.report import write

LEARNERS_RACED = ("exp3", "exp3.s, told S", "uniform")
TINY = [
    "race",
    "-e",
    "flip/3",
    "-e",
    "drift/2",
    *(f"-l{name}" for name in LEARNERS_RACED),
    "--horizon",
    "300",
    "--seeds",
    "2",
]


def in_fresh_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)


def board(printed: str) -> dict[str, dict[str, str]]:
    """The columns of the leaderboards, by heading: learner to cell."""
    columns: dict[str, dict[str, str]] = {}
    heads: list[str] = []
    for line in printed.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if cells[0] == "learner":
            heads = cells[1:]
        elif heads and len(cells) == len(heads) + 1:
            for head, cell in zip(heads, cells[1:], strict=True):
                columns.setdefault(head, {})[cells[0]] = cell
    return columns


# -- help ---------------------------------------------------------------------------------------------------------


COMMANDS = [
    "race",
    "list",
    "replay",
    "regret",
    "compile",
    "report",
    "serve",
    "key",
    "log",
    "verify",
    "repair",
    "prune",
    "erase",
    "backup",
]


@pytest.mark.jit_off
@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help_teaches(words: list[str]) -> None:
    done = run(*words)
    assert done.exit_code == 0
    for taught in ("loss of that arm alone", "switches at most S times", "Start with `turncoat race`"):
        assert taught in " ".join(done.output.split())
    listed = done.output.split("Commands:")[1].splitlines()
    assert [line.split()[0] for line in listed if line] == COMMANDS


@pytest.mark.jit_off
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"Usage: turncoat {command}" in done.output
    if command == "race":
        for option, default in (("--suite", "quick"), ("--horizon", "1e3,1e4,1e5"), ("--seeds", 10), ("--seed", 0)):
            assert option in done.output
            assert f"default: {default}" in " ".join(done.output.split())


@pytest.mark.jit_off
@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", [[], *([command] for command in COMMANDS)], ids=" ".join)
def test_no_help_is_cut_off(words: list[str], columns: int) -> None:
    said = run(*words, "--help", columns=columns).output
    assert max(map(len, said.splitlines())) <= columns
    assert "..." not in said.replace("[ARGS]...", "")


@pytest.mark.jit_off
def test_version() -> None:
    done = run("--version")
    assert (done.exit_code, tc.__version__ in done.output) == (0, True)


# -- race ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with a small race and its report, and what the command said as JSON."""
    folder = tmp_path_factory.mktemp("race")
    done = run(*TINY, "--horizon", "100,300", "--folder", str(folder), "--json")
    assert done.exit_code == 0, done.output
    return folder, json.loads(done.stdout)


@pytest.mark.parametrize("columns", [80, 200])
def test_race_prints_a_leaderboard(columns: int, tmp_path: Path) -> None:
    done = run(*TINY, "--no-report", "--folder", str(tmp_path), columns=columns)
    assert done.exit_code == 0, done.output
    tables = board(done.output)
    assert set(tables) == {"mean rank", "ns/round", "flip/3", "drift/2"}
    assert all(list(column) == list(tables["mean rank"]) for column in tables.values())
    assert set(tables["flip/3"]) == set(LEARNERS_RACED)
    ranks = [float(cell.split(" ± ")[0]) for cell in tables["mean rank"].values()]
    assert ranks == sorted(ranks)
    for environment in ("flip/3", "drift/2"):
        cells = tables[environment].values()
        regrets = [float(cell.lstrip("*").split(" ± ")[0].replace(",", "")) for cell in cells]
        assert [regret for regret, cell in zip(regrets, cells, strict=True) if cell.startswith("*")] == [min(regrets)]
    assert max(map(len, done.output.splitlines())) <= columns
    assert "…" not in done.output
    assert "\x1b" not in done.output  # no colours where there is no terminal
    assert "3 learners, 300 rounds, 2 seeds" in done.output
    assert "12 of 12 games" in done.output and "peak memory" in done.output


def test_a_wide_screen_has_one_table_and_a_narrow_one_more(raced: tuple[Path, dict[str, Any]]) -> None:
    result = tc.Result.load(raced[0])
    assert [len(boards(result, width).tables) for width in (200, 50, 10)] == [1, 2, 4]
    for width in range(40, 90):
        console = Console(file=io.StringIO(), width=width)
        for table in boards(result, width).tables:
            console.print(table)
        assert "…" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_json_is_the_result(raced: tuple[Path, dict[str, Any]]) -> None:
    folder, said = raced
    result = tc.Result.load(folder)
    assert said["leaderboard"] == result.leaderboard().to_dicts()
    assert said["overall"] == result.overall().to_dicts()
    assert (said["horizons"], said["seeds"], said["learners"]) == ([100, 300], 2, list(LEARNERS_RACED))
    assert said["environments"]["flip/3"]["n_arms"] == 5
    assert Path(said["report"]).read_text().startswith("<!DOCTYPE html>")
    assert (folder / "figures" / "growth.pdf").read_bytes().startswith(b"%PDF")


def test_a_second_race_finds_what_is_there(raced: tuple[Path, dict[str, Any]]) -> None:
    folder, said = raced
    done = run(*TINY, "--horizon", "100,300", "--folder", str(folder), "--no-report", "--json")
    assert json.loads(done.stdout) == {**said, "report": None}
    assert done.stderr == "all games were played before: nothing to do\n"


@pytest.mark.slow
def test_report_draws_a_saved_race_again(
    raced: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "pictures", lambda spec: {"pdf": b"drawn"})
    folder, said = raced
    done = run("report", str(folder), "--to", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert set(board(done.output)) == {"mean rank", "ns/round", "flip/3", "drift/2"}
    assert "missing" not in done.output
    assert (tmp_path / "report.html").read_bytes() == Path(said["report"]).read_bytes()
    assert (tmp_path / "figures" / "growth.pdf").read_bytes() == b"drawn"
    lost = next((folder / "cells").iterdir())
    kept = lost.read_bytes()
    lost.unlink()
    nowhere = run("report", str(folder), "--to", "/dev/null/here").stderr
    assert "'/dev/null/here': Not a directory; the results" in nowhere
    assert "1 of 24 games are missing" in run("report", str(folder), "--to", str(tmp_path)).output
    lost.write_bytes(kept)


def test_a_race_on_a_terminal_shows_bars_and_a_leaderboard_while_it_runs(tmp_path: Path) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=40, color_system=None)
    makers = {name: entry(name) for name in LEARNERS_RACED}
    watched_race(console, makers, ["flip/3"], 100_000, seeds=3, folder=tmp_path)
    shown = screen.getvalue()
    for seen in ("compiling", "racing", "/9", "rounds/s", "left", "mean rank", "exp3.s, told S"):
        assert seen in shown


def test_one_seed_is_one_result(tmp_path: Path) -> None:
    first, again, other = (
        board(run(*TINY, "--seed", seed, "--no-report", "--folder", str(tmp_path / name)).output)
        for seed, name in (("7", "a"), ("7", "b"), ("8", "c"))
    )
    assert first["flip/3"] == again["flip/3"] != other["flip/3"]


def test_a_single_round(tmp_path: Path) -> None:
    done = run("race", "-e", "stationary/0", "--horizon", "1", "--seeds", "1", "--folder", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert set(board(done.output)["stationary/0"]) == set(FEW)
    assert (tmp_path / "report.html").exists()


def test_a_capped_parameter_is_noted(tmp_path: Path) -> None:
    words = ["race", "-e", "piecewise/3", "-l", "master-base", "--seeds", "2", "--no-report", "--folder", str(tmp_path)]
    note = "note: alpha of Algorithm 1 exceeds 1/H at horizon 20 with 10 arms"
    assert " ".join(run(*words, "--horizon", "20").output.split()).count(note) == 1
    assert "note:" not in run(*words, "--horizon", "300").output


BAD = [
    (["race", "--suite", "quik"], "no suite 'quik'; near it is 'quick'"),
    (["race", "-e", "flop/3"], "no scenario 'flop/3'; near it are 'flip/3"),
    (["race", "-l", "exp4"], "no learner 'exp4'; near it are 'exp3"),
    (["race", "-l", "hegde"], "no learner 'hegde'; near it is 'hedge, sees all'"),
    (["race", "-l", "switching-linear"], "'switching-linear' cannot race: turncoat list switching-linear says"),
    (["race", "-l", "?"], "accepted are 'turncoat'"),
    (["race", "--horizon", "-3"], "-3"),
    (["race", "--horizon", "1e3,,"], "''"),
    (["race", "--horizon", "1" + "0" * 30], "9007199254740992"),
    (["race", "--seeds", "0"], "--seeds"),
    (["race", "--seed", "-1"], "--seed"),
    (["race", "--workers", "0"], "--workers"),
    (["race", "--engine", "steam"], "'steam'; accepted are 'threads'"),
    (["race", "--max-switches", "-1"], "-1"),
    (["race", "--split", "--horizon", "1e7"], "accepted are up to 1000000 rounds with split"),
    (["race", "--folder", "/dev/null/here"], "'/dev/null/here' cannot be used"),
    (["race", "--colour", "red"], "--colour"),
    (["race", "now"], "extra argument (now)"),
    (["race", "quick"], "extra argument (quick); did you mean --suite 'quick'?"),
    (["race", "flip/3"], "did you mean --environment 'flip/3'?"),
    (["race", "exp3.s, told S"], "did you mean --learner 'exp3.s, told S'?"),
    (["report"], "FOLDER"),
    (["report", "/dev/null"], "'/dev/null' holds no race"),
    (["rase"], "'rase'"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("words", "named"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_words_are_one_line(words: list[str], named: str) -> None:
    done = run(*words)
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    errors = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and done.output.rstrip().endswith(errors[0])
    assert named in errors[0]
    assert "Traceback" not in done.output


# -- as a process -------------------------------------------------------------------------------------------------


def test_python_dash_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "turncoat", "list"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "master-base" in done.stdout


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("click", ["--help"], "race"),
        ("rich", ["list"], "race"),
        ("rich", ["race"], "race"),
        ("msgspec", ["key", "list", "--database", __file__], "serve"),  # which once advised to install race
    ],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(missing: str, words: list[str], extra: str) -> None:
    done = in_fresh_process(
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['turncoat', *{words!r}]\n"
        "from turncoat.cli import main; main()"
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"needs {missing}" in done.stderr
    assert f"pip install 'turncoat[{extra}]'" in done.stderr


def test_a_fault_of_our_own_is_not_blamed_on_the_user() -> None:
    done = in_fresh_process(
        "import sys; sys.modules['turncoat.cli.commands'] = None\nfrom turncoat.cli import main; main()"
    )
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr and "pip install" not in done.stderr
