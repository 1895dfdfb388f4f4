"""The command line as a user meets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

import turncoat as tc
from turncoat.cli.commands import turncoat
from turncoat.learners import LEARNERS
from turncoat.race import ENTRIES

TINY = ["race", "--arms", "3", "--horizon", "300", "--switches", "2", "--seeds", "2"]


def run(*words: str, columns: int = 80) -> Result:
    """What a command prints, in this process, not to a terminal."""
    return CliRunner(env={"COLUMNS": str(columns), "TERM": "dumb"}).invoke(turncoat, list(words))


def in_fresh_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)


def ranks(printed: str) -> list[str]:
    """The rows of a leaderboard without the time a round took, which no seed fixes."""
    rows = re.findall(r"^│ +(\d+ │.*)│[^│]*│$", printed, flags=re.MULTILINE)
    return [" ".join(row.split()) for row in rows]


# -- help ---------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help_teaches(words: list[str]) -> None:
    done = run(*words)
    assert done.exit_code == 0
    for taught in ("turncoat race", "turncoat list", "loss of that arm alone", "switches at most S times"):
        assert taught in " ".join(done.output.split()).replace("  ", " ")


@pytest.mark.jit_off
@pytest.mark.parametrize("command", ["race", "list"])
def test_every_command_explains_itself(command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"Usage: turncoat {command}" in done.output
    if command == "race":
        for option, default in (
            ("--arms", 5),
            ("--horizon", 100000),
            ("--switches", 4),
            ("--gap", 0.3),
            ("--seeds", 10),
        ):
            assert option in done.output
            assert f"default: {default}" in done.output


@pytest.mark.jit_off
def test_version() -> None:
    done = run("--version")
    assert (done.exit_code, tc.__version__ in done.output) == (0, True)


# -- race ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 200])
def test_race_prints_a_leaderboard(columns: int) -> None:
    done = run(*TINY, columns=columns)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    rows = ranks(done.output)
    assert [row.split()[0] for row in rows] == [str(rank) for rank in range(1, len(ENTRIES) + 1)]
    assert {row.split(" │ ")[1] for row in rows} == set(ENTRIES)
    assert max(map(len, lines)) <= columns
    assert "…" not in done.output
    assert "\x1b" not in done.output  # no colours where there is no terminal
    assert "3 arms, 300 rounds, 2 switches, gap 0.3, 2 seeds" in done.output
    regrets = [float(row.split(" │ ")[2].split()[0].replace(",", "")) for row in rows]
    assert regrets == sorted(regrets)


def test_one_seed_is_one_result() -> None:
    first, again, other = (ranks(run(*TINY, "--seed", seed).output) for seed in ("7", "7", "8"))
    assert first == again != other
    assert len(first) == len(ENTRIES)


def test_a_single_arm_and_a_single_round() -> None:
    done = run("race", "--arms", "1", "--horizon", "1", "--switches", "0", "--seeds", "1")
    assert done.exit_code == 0, done.output
    assert all(row.split(" │ ")[2] == "0" for row in ranks(done.output))
    assert len(ranks(done.output)) == len(ENTRIES)


def test_a_capped_parameter_is_noted() -> None:
    note = "note: alpha of Algorithm 1 exceeds 1/H at horizon 20 with 9 arms"
    capped = run("race", "--arms", "9", "--horizon", "20", "--seeds", "2")
    assert " ".join(capped.output.split()).count(note) == 1
    assert "note:" not in run(*TINY).output


BAD = [
    (["race", "--arms", "0"], "--arms"),
    (["race", "--arms", "many"], "'many'"),
    (["race", "--horizon", "-3"], "-3"),
    (["race", "--horizon", "1"], "--switches is 4"),
    (["race", "--horizon", "1" + "0" * 30], "9007199254740992"),
    (["race", "--arms", "1"], "--switches is 4"),
    (["race", "--switches", "-1"], "-1"),
    (["race", "--gap", "1.5"], "1.5"),
    (["race", "--gap", "nan"], "gap is nan"),
    (["race", "--seeds", "0"], "--seeds"),
    (["race", "--seed", "-1"], "--seed"),
    (["race", "--colour", "red"], "--colour"),
    (["race", "now"], "now"),
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


# -- list ---------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize("columns", [80, 200])
def test_list_names_every_learner(columns: int) -> None:
    done = run("list", columns=columns)
    assert done.exit_code == 0
    for name in LEARNERS:
        assert re.search(rf"^ *{re.escape(name)} ", done.output, flags=re.MULTILINE)
    assert "…" not in done.output
    assert max(map(len, done.output.splitlines())) <= columns


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


@pytest.mark.parametrize(("missing", "words"), [("click", ["--help"]), ("rich", ["list"]), ("rich", ["race"])])
def test_a_missing_package_is_named_with_the_way_to_install_it(missing: str, words: list[str]) -> None:
    done = in_fresh_process(
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['turncoat', *{words!r}]\n"
        "from turncoat.cli import main; main()"
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"needs {missing}" in done.stderr
    assert "pip install 'turncoat[race]'" in done.stderr


def test_a_fault_of_our_own_is_not_blamed_on_the_user() -> None:
    done = in_fresh_process(
        "import sys; sys.modules['turncoat.cli.commands'] = None\nfrom turncoat.cli import main; main()"
    )
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr and "pip install" not in done.stderr
