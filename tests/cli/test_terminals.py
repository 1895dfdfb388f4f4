"""Terminals that cannot show everything, names that could be taken for commands, disks that are full, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import turncoat as tc
from tests.cli.typed import run, write
from turncoat.cli.console import screen
from turncoat.cli.leaderboard import boards

NAMES = ["[/b]", "[red]x[/red]", ":smile:", "漢字 ünï"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved race with such names."""
    folder = tmp_path_factory.mktemp("odd") / "[i]race"
    tc.race(dict.fromkeys(NAMES, tc.Uniform), {"[/game]": "flip/3"}, 50, seeds=2, folder=folder)
    return folder


# The command line without what takes most of a report's time, and prints nothing: pictures, and the script of its page.
QUICK = """
import sys
if "report" in sys.argv:
    from turncoat.report import page, write
    write.pictures, page.bundle = (lambda spec: {}), (lambda: "")
from turncoat.cli import main
main()
"""


def type_in(words: list[str], stdout: Any = subprocess.PIPE, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", QUICK, *words]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, env={**os.environ, **environ}, check=False, timeout=100
    )


def test_names_are_no_commands_to_the_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[/b] once ended `turncoat report` with a MarkupError, and [red] went unseen."""
    monkeypatch.setattr("turncoat.report.write.pictures", lambda spec: {})
    monkeypatch.setattr("turncoat.report.page.bundle", lambda: "")
    done = run("report", folder, columns=100)
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in [*NAMES, "[/game]", f"report: {folder}"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        *(["list"], ["report", "FOLDER"], ["regret", "FILE", "--json"]),
        pytest.param(["regret", "FILE"], marks=pytest.mark.exhaustive),
    ],
)
def test_a_terminal_without_unicode_is_shown_what_it_can_show(folder: Path, tmp_path: Path, words: list[str]) -> None:
    """± and √ once ended `turncoat report` and `turncoat list` with a UnicodeEncodeError."""
    file = write(tmp_path, "a,bé\n1,2\n2,1\n")
    known = {"FOLDER": str(folder), "FILE": str(file)}
    done = type_in([known.get(word, word) for word in words], PYTHONIOENCODING="ascii", COLUMNS="100")
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode("ascii")
    assert {"list": "sqrt ", "report": " +- ", "regret": "b"}[words[0]] in text
    if "--json" in words:
        assert json.loads(text)["arms"] == ["a", "bé"]


@pytest.mark.parametrize("columns", [20, 30])
def test_where_there_is_little_room_names_give_way_and_numbers_stay(folder: Path, columns: int) -> None:
    """At 20 columns a row once read "adaptive-mas…   10,…"."""
    result = tc.Result.load(folder)
    names = {name: f"a learner with a long name {name}" for name in NAMES}
    cells = {at._replace(learner=names[at.learner]): cell for at, cell in result.cells.items()}
    long = tc.Result(result.names._replace(learners=list(names.values())), cells, result.references, result.about)
    console = screen()
    console.width = columns
    with console.capture() as captured:
        for table in boards(long, columns).tables:
            console.print(table)
    assert "…" not in captured.get()
    for row in long.overall().iter_rows(named=True):
        assert f"{row['ns_per_round']:,.0f}" in captured.get() and f"{row['mean_rank']:.1f} ±" in captured.get()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such file on this system")
@pytest.mark.parametrize("words", [["list"], pytest.param(["regret", "FILE", "--json"], marks=pytest.mark.exhaustive)])
def test_a_full_disk_behind_the_output_is_one_line(tmp_path: Path, words: list[str]) -> None:
    file = write(tmp_path, "a,b\n1,2\n2,1\n")
    with Path("/dev/full").open("wb", buffering=0) as full:
        done = type_in([str(file) if word == "FILE" else word for word in words], full, PYTHONUNBUFFERED="1")
    assert (done.returncode, done.stderr) == (1, b"Error: [Errno 28] No space left on device\n")


def test_a_report_that_finds_no_room_is_one_line(folder: Path, tmp_path: Path) -> None:
    file = write(tmp_path, "")
    done = run("report", folder, "--to", file)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: the report cannot be written to '{file}': ")


def test_whoever_has_read_enough_is_no_error() -> None:
    command = f"{sys.executable} -W ignore -m turncoat list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.startswith("Learners") and done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["race", "replay"])
def test_ctrl_c_is_heard_and_the_same_command_goes_on(tmp_path: Path, command: str) -> None:
    """`replay` said "Aborted!" with another exit code than `race`, and not where the finished games are."""
    file = write(tmp_path, "a,b\n" + "1,2\n2,1\n" * 50)
    games = ["race", "-e", "flip/3", "--horizon", "100", "--no-report", "-lexp3"]
    words = games if command == "race" else ["replay", str(file), "--learner", "exp3"]
    words += ["--folder", str(tmp_path / "race"), "--seeds"]
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "turncoat", *words, "500"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    while len(list((tmp_path / "race" / "cells").glob("*.npz"))) < 5 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=100)[1].decode()
    assert process.returncode == 130
    assert said.endswith(f"stopped; what was finished is in {tmp_path / 'race'}: the same command goes on from there\n")
    saved = {file: file.stat().st_mtime_ns for file in (tmp_path / "race").rglob("*.npz")}
    assert run(*words, 3).exit_code == 0
    assert all(file.stat().st_mtime_ns == then for file, then in saved.items())
