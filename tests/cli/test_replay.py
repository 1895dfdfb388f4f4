"""turncoat replay: learners over a table of the user's own, and figures in its units."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import turncoat as tc
from tests.cli.typed import BAD_CSV, BAD_PARQUET, changing, printed_json, refusal, run, write, write_both
from tests.naive.comparator import recursion
from turncoat.learners.entries import ENTRIES, FEW
from turncoat.racing import Result

NAMES = ["red", "green", "blue"]
QUICK = ["--seeds", "2", "--learner", "exp3", "--learner", "uniform"]


def test_totals_are_those_of_the_games(tmp_path: Path) -> None:
    """The same learners, made by hand with the streams of the race and played over the same scaled table."""
    values = changing(200)
    csv, _ = write_both(tmp_path, values, NAMES)
    seeing = ["--learner", "hedge, sees all"]  # the whole row
    found = printed_json("replay", csv, *QUICK, *seeing, "--range", "0", "100", "--seed", "5", "--max-switches", "3")
    assert [learner["rank"] for learner in found["learners"]] == [1, 2, 1]  # who sees more, apart and last
    assert found["learners"][-1]["learner"] == seeing[1]
    for learner in found["learners"]:
        totals = []
        for i in range(2):
            made = ENTRIES[learner["learner"]](3, 200, seed=np.random.SeedSequence(5, spawn_key=(i, 1)))
            played = tc.play(made, values / 100)
            totals.append(float(values[np.arange(200), played].sum()))
        assert learner["total"] == pytest.approx(np.mean(totals), rel=1e-12)
        assert learner["margin"] == pytest.approx(12.706204736 * abs(totals[0] - totals[1]) / 2, rel=1e-8)  # t, 1 d.f.
        against = [learner["total"] - best for best in recursion(values.tolist(), 3)]
        assert learner["regret"] == pytest.approx(against, rel=1e-9)


def test_the_best_paths_are_exact(tmp_path: Path) -> None:
    """In the table's own units, to the last bit, losses and rewards."""
    values = changing(60, 4)
    csv, _ = write_both(tmp_path, values, ["a", "b", "c", "d"])
    found = printed_json("replay", csv, *QUICK)
    assert found["switches"] == list(range(9))
    assert found["best"] == recursion(values.tolist(), 8)
    assert found["best_arm"] == "abcd"[int(values.sum(axis=0).argmin())]
    rewarded = printed_json("replay", csv, *QUICK, "--rewards")
    assert rewarded["best"] == [-loss for loss in recursion((-values).tolist(), 8)]
    assert rewarded["best_arm"] == "abcd"[int(values.sum(axis=0).argmax())]


def test_csv_and_parquet_agree(tmp_path: Path) -> None:
    one, two = (printed_json("replay", file, *QUICK) for file in write_both(tmp_path, changing(100), NAMES))
    assert one.pop("file") != two.pop("file")
    assert one == two


def test_rewards_mirror_losses(tmp_path: Path) -> None:
    """Losses x from 0 to 100 and rewards 100 - x are one game. Whole numbers, so the scaled losses are the same."""
    values = np.random.default_rng(3).integers(0, 101, (150, 3))
    (tmp_path / "losses").mkdir()
    (tmp_path / "rewards").mkdir()
    lost, _ = write_both(tmp_path / "losses", values, NAMES)
    won, _ = write_both(tmp_path / "rewards", 100 - values, NAMES)
    losses = printed_json("replay", lost, *QUICK, "--range", "0", "100")
    rewards = printed_json("replay", won, *QUICK, "--range", "0", "100", "--rewards")
    assert rewards["best"] == [100 * 150 - best for best in losses["best"]]
    for one, other in zip(losses["learners"], rewards["learners"], strict=True):
        assert (one["rank"], one["learner"]) == (other["rank"], other["learner"])
        assert one["total"] + other["total"] == pytest.approx(100 * 150, rel=1e-12)
        assert one["regret"] == pytest.approx(other["regret"], rel=1e-9, abs=1e-9)
        assert one["margin"] == pytest.approx(other["margin"], rel=1e-9)
    assert losses["learners"][0]["total"] <= losses["learners"][1]["total"]


def test_the_scale_is_the_tables_own_unless_given(tmp_path: Path) -> None:
    values = changing(80)
    csv, _ = write_both(tmp_path, values, NAMES)
    own = printed_json("replay", csv, *QUICK)
    assert (own["range"], own["range_from"]) == ([values.min(), values.max()], "table")
    given = printed_json("replay", csv, *QUICK, "--range", "-50", "150")
    assert (given["range"], given["range_from"]) == ([-50.0, 150.0], "option")
    said = " ".join(run("replay", csv, *QUICK).stdout.split())
    assert f"scale: {values.min():g} to {values.max():g}, the least and the largest value of the table." in said
    assert "hindsight, a small cheat" in said and "--range LO HI" in said
    assert "scale: -50 to 150, as given" in run("replay", csv, *QUICK, "--range", "-50", "150").stdout


def test_columns_rows_and_learners_are_chosen(tmp_path: Path) -> None:
    values = changing(50)
    csv, _ = write_both(tmp_path, values, NAMES, time=list(range(50)), **{"who, exactly": ["x"] * 50})
    dropped = printed_json("replay", csv, "--drop", 'time, "who, exactly"', *QUICK)
    assert dropped["arms"] == NAMES
    assert printed_json("replay", csv, "--drop", "time", "--drop", '"who, exactly"', *QUICK) == dropped
    picked = printed_json("replay", csv, "--columns", "blue,red,time", "--drop", "time", *QUICK, "--horizon", "3e1")
    assert (picked["arms"], picked["rounds"]) == (["blue", "red"], 30)
    assert picked["best"] == recursion(values[:30, [2, 0]].tolist(), 8)
    assert picked["range"] == [values[:30, [2, 0]].min(), values[:30, [2, 0]].max()]
    assert sorted(learner["learner"] for learner in picked["learners"]) == ["exp3", "uniform"]


def test_without_a_header(tmp_path: Path) -> None:
    found = printed_json("replay", write(tmp_path, "1,2.5\n3,4\n"), "--no-header", *QUICK)
    assert (found["arms"], found["best"]) == (["0", "1"], [4.0, 4.0])


def test_only_the_rows_played_are_looked_at(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,2\n3,4\n5,x\n")
    assert printed_json("replay", file, *QUICK, "--horizon", "2")["rounds"] == 2
    assert "row 3 below the header, column 'b' is 'x'" in refusal("replay", file, *QUICK)


def test_six_learners_race_and_the_told_are_told_nothing(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(60), NAMES)
    found = printed_json("replay", csv, "--seeds", "1")
    assert {learner["learner"] for learner in found["learners"]} == set(FEW)
    assert all(learner["margin"] is None for learner in found["learners"])
    assert any("told nothing here" in note for note in found["notes"])
    by_name = {learner["learner"]: learner for learner in found["learners"]}
    (untold,) = printed_json("replay", csv, "--seeds", "1", "--learner", "exp3.s")["learners"]
    assert by_name["exp3.s, told S"]["total"] == untold["total"]
    ranks = [learner["rank"] for learner in found["learners"]]
    totals = [learner["total"] for learner in found["learners"]]
    assert totals == sorted(totals)
    assert ranks == [1 + sum(other < total for other in totals) for total in totals]


def test_learners_that_see_more_stand_below_a_line_that_says_so(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(60), NAMES)
    seeing = ["--learner", "hedge, sees all", "--learner", "dlinucb, told S"]
    lines = run("replay", csv, *QUICK, *seeing).stdout.splitlines()
    starts = [" ".join(line.split()[:2]) for line in lines]
    assert starts.index("2 exp3") < starts.index("full information:") < starts.index("linear:")
    assert starts[starts.index("full information:") + 1] == "1 hedge,"
    assert starts[starts.index("linear:") + 1] == "1 dlinucb,"
    assert any("ranked among themselves" in line for line in lines)
    alone = run("replay", csv, *QUICK).stdout
    assert "among themselves" not in alone and "bandit" not in alone


@pytest.mark.parametrize("columns", [80, 200])
def test_the_board_fits(tmp_path: Path, columns: int) -> None:
    csv, _ = write_both(tmp_path, 1000 * changing(300), NAMES)
    done = run("replay", csv, "--rewards", columns=columns)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines[:-1])) <= columns  # the last is a command to copy
    for name in (*FEW, "best single arm: ", "best path, 1 switch ", "best path, 8 switches "):
        assert any(name in line for line in lines), name
    head = next(line.split() for line in lines if "learner" in line)
    shown = [word for word in head if word.startswith("S=")]
    assert shown[0] == "S=0" and shown[-1] == "S=8"
    assert columns == 80 or shown == ["S=0", "S=1", "S=2", "S=4", "S=8"]
    assert "\x1b" not in done.output and "…" not in done.output.replace("S=…", "")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """rich would take [red] for a colour, and :smile: for a picture."""
    csv, _ = write_both(tmp_path, changing(20, 2), ["[red]", ":smile:"])
    assert "([red], :smile:)" in run("replay", csv, *QUICK).stdout


def test_the_way_to_the_best_paths_can_be_typed(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(40), ["a b", "b,c", "d"], time=list(range(40)))
    words = ["--rewards", "--columns", 'a b,"b,c",time', "--drop", "time", "--horizon", "30"]
    said = run("replay", csv, *QUICK, *words).stdout.splitlines()[-1]
    found = printed_json(*shlex.split(said.split("turncoat ")[1]))
    best = printed_json("replay", csv, *QUICK, *words)["best"]
    assert (found["rounds"], found["best"], found["path"]["switches"]) == (30, best, 2)


def test_a_folder_keeps_the_games(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(40), NAMES)
    words = ["replay", csv, *QUICK, "--folder", tmp_path / "out"]
    first = run(*words)
    assert f"saved in {tmp_path / 'out'}: the same command goes on from there" in first.stdout
    cells = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "cells").iterdir()}
    assert len(cells) == 4
    assert run(*words).stdout == first.stdout
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "cells").iterdir()} == cells
    assert len(Result.load(tmp_path / "out").finished()) == 4


def test_one_seed_one_result_whoever_plays(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(60), NAMES)
    one, again = (run("replay", csv, *QUICK, "--json", "--workers", n).stdout for n in (1, 2))
    assert one == again
    assert run("replay", csv, *QUICK, "--json", "--seed", "1").stdout != one


def test_a_constant_table_with_a_range(tmp_path: Path) -> None:
    found = printed_json("replay", write(tmp_path, "a,b\n3,3\n3,3\n"), *QUICK, "--range", "0", "4")
    assert [learner["total"] for learner in found["learners"]] == [6.0, 6.0]
    assert [learner["rank"] for learner in found["learners"]] == [1, 1]
    assert found["best"] == [6.0, 6.0]


def test_values_far_from_zero_keep_their_regret(tmp_path: Path) -> None:
    """10**9 in every cell changes no regret, though the totals are 10**11: regrets are never differences of totals."""
    values = np.random.default_rng(0).integers(0, 2, (100, 2))
    (tmp_path / "far").mkdir()
    near, _ = write_both(tmp_path, values, ["a", "b"])
    far, _ = write_both(tmp_path / "far", values + 10**9, ["a", "b"])
    one, other = (printed_json("replay", file, *QUICK)["learners"] for file in (near, far))
    assert [learner["regret"] for learner in one] == [learner["regret"] for learner in other]


# -- as a process: what goes to which stream -----------------------------------------------------------------------


def test_json_is_all_there_is_on_standard_output(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(30), NAMES)
    done = subprocess.run(
        [sys.executable, "-m", "turncoat", "replay", str(csv), *QUICK, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["rounds"] == 30
    assert done.stderr.splitlines()[0] == "compiling what is not on disk yet"


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize(("text", "said"), BAD_CSV)
def test_bad_csv_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal("replay", write(tmp_path, text))


@pytest.mark.jit_off
@pytest.mark.parametrize(("columns", "said"), BAD_PARQUET)
def test_bad_parquet_is_refused(tmp_path: Path, columns: dict[str, list[object]], said: str) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    assert said in refusal("replay", tmp_path / "t.parquet")


@pytest.mark.jit_off
def test_files_that_are_none(tmp_path: Path) -> None:
    assert "is not a file" in refusal("replay", tmp_path / "none.csv")
    assert "is not a file" in refusal("replay", tmp_path)
    assert "ends in '.xlsx'; accepted are .csv, .parquet" in refusal("replay", write(tmp_path, "a,b\n1,2\n", "t.xlsx"))
    assert "cannot be read as Parquet" in refusal("replay", write(tmp_path, "a,b\n1,2\n", "t.parquet"))
    assert "Missing argument 'FILE'" in refusal("replay")


BAD_WORDS = [
    (["--columns", "a,c"], "has no column 'c'; accepted are 'a', 'b'"),
    (["--columns", "a,a"], "the column 'a' is given twice"),
    (["--columns", "a,,b"], "'a,,b' is not a list of columns"),
    (["--columns", ""], "'' is not a list of columns"),
    (["--drop", "c"], "has no column 'c'"),
    (["--drop", "b"], "has 1 column of arms 'a'"),
    (["--drop", "a,b"], "has 0 columns of arms;"),
    (["--horizon", "4"], "--horizon is 4; accepted are 1 to 3, the rows of"),
    (["--horizon", "1e300"], "accepted are 1 to 3"),
    (["--horizon", "0"], "'0' is not a whole number"),
    (["--range", "0", "4"], "the loss in row 3 below the header, column 'a' is 5.0; accepted are losses from 0 to 4"),
    (["--range", "2", "9", "--rewards"], "the reward in row 1 below the header, column 'a' is 1.0"),
    (["--range", "4", "0"], "4 0 is no range"),
    (["--range", "0", "nan"], "0 nan is no range"),
    (["--range", "0", "inf"], "0 inf is no range"),
    (["--range", "0", "x"], "'x' is not a valid float"),
    (["--learner", "exp4"], "there is no learner 'exp4'; near it are 'exp3'"),
    (["--learner", "zzz"], "there is no learner 'zzz'; accepted are 'turncoat'"),
    (["--engine", "steam"], "engine is 'steam'; accepted are 'threads'"),
    (["--seeds", "0"], "--seeds"),
    (["--seed", "-1"], "--seed"),
    (["--workers", "0"], "--workers"),
    (["--max-switches", "-1"], "--max-switches"),
    (["--max-switches", "10000000"], "max_switches is 10000000"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("words", "said"), BAD_WORDS)
def test_bad_words_are_refused(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refusal("replay", write(tmp_path, "a,b\n1,2\n3,4\n5,2\n"), *words)


@pytest.mark.jit_off
def test_a_constant_table_has_no_scale(tmp_path: Path) -> None:
    said = refusal("replay", write(tmp_path, "a,b\n3,3\n3,3\n"))
    assert "every value in" in said and "is 3, which makes no scale" in said and "--range LO HI" in said


@pytest.mark.jit_off
def test_text_columns_say_how_to_leave_them_out(tmp_path: Path) -> None:
    said = refusal("replay", write(tmp_path, "day,a,b\nmonday,1,2\n"))
    assert "row 1 below the header, column 'day' is 'monday'" in said and "--drop" in said


@pytest.mark.jit_off
def test_near_names_of_many_columns(tmp_path: Path) -> None:
    names = [f"arm{i}" for i in range(30)]
    file = write(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 30) + "\n")
    assert "has no column 'arm31'; accepted are 'arm" in refusal("replay", file, "--columns", "arm31")
    assert len(refusal("replay", file, "--columns", "zzz")) < 400


@pytest.mark.jit_off
def test_help_teaches() -> None:
    said = " ".join(run("replay", "--help").stdout.split())
    for taught in (
        "one column per arm",
        "on any scale",
        "a small cheat",
        "turncoat replay latency.csv",
        "--max-switches",
    ):
        assert taught in said


def test_a_learner_that_explains_itself_does(tmp_path: Path) -> None:
    values = np.ones((900, 3))
    values[:300, 2] = values[300:600, 0] = values[600:, 1] = 0.0
    csv, _ = write_both(tmp_path, values, NAMES)
    text = " ".join(run("replay", csv, *QUICK, "--learner", "turncoat").stdout.split())
    words = r"turncoat believed, in its first game, that the best was blue at first, red from round (\d+) .*"
    found = re.search(words + r"green from round (\d+) \((\d+) % sure\) what the best paths look like", text)
    assert found is not None, text
    assert 300 <= int(found[1]) < 400 and 600 <= int(found[2]) < 700 and 50 <= int(found[3]) <= 100
