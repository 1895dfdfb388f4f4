"""turncoat regret: exact regret of recorded choices, in the table's units."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.typed import BAD_CSV, BAD_PARQUET, changing, printed_json, refusal, run, write, write_both
from tests.naive.comparator import brute_force, count_switches, recursion, total_loss

pytestmark = pytest.mark.jit_off

NAMES = ["red", "green", "blue"]


def chosen(n_rounds: int, n_arms: int = 3, seed: int = 1) -> list[int]:
    return [int(arm) for arm in np.random.default_rng(seed).integers(0, n_arms, n_rounds)]


@pytest.mark.parametrize("seed", range(5))
def test_against_brute_force(tmp_path: Path, seed: int) -> None:
    """Values on any scale, negative ones too; to the last bit."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 10.0 ** rng.integers(-6, 7), (7, 3))
    arms = chosen(7, seed=seed)
    csv, _ = write_both(tmp_path, values, NAMES, choice=[NAMES[arm] for arm in arms])
    found = printed_json("regret", csv, "--choice", "choice", "--max-switches", "4")
    best, total = brute_force(values.tolist(), 4), total_loss(values.tolist(), arms)
    assert (found["best"], found["choice"]["total"]) == (best, total)
    assert found["regret"] == [total - least for least in best]
    rewarded = printed_json("regret", csv, "--choice", "choice", "--max-switches", "4", "--rewards")
    worst = brute_force((-values).tolist(), 4)
    assert rewarded["best"] == [-least for least in worst]
    assert rewarded["regret"] == [-total - least for least in worst]


def test_whole_numbers_are_exact(tmp_path: Path) -> None:
    values = np.random.default_rng(2).integers(0, 1000, (300, 3))
    arms = chosen(300)
    csv, _ = write_both(tmp_path, values, NAMES, choice=arms)
    found = printed_json("regret", csv, "--choice", "choice", "--max-switches", "20")
    assert found["best"] == recursion(values.tolist(), 20)
    assert found["choice"] == {
        "column": "choice",
        "read_as": "indices",
        "switches": count_switches(arms),
        "total": total_loss(values.tolist(), arms),
    }
    assert [regret + best for regret, best in zip(found["regret"], found["best"], strict=True)] == [
        found["choice"]["total"]
    ] * 21


@pytest.mark.parametrize("rewards", [False, True])
def test_the_path_attains_its_total(tmp_path: Path, rewards: bool) -> None:
    values = np.random.default_rng(4).integers(0, 50, (80, 3))
    arms = chosen(80)
    csv, _ = write_both(tmp_path, values, NAMES, choice=arms)
    words = ["regret", csv, "--choice", "choice", "--path", "3", *(["--rewards"] if rewards else [])]
    found = printed_json(*words)
    segments = found["path"]["segments"]
    assert found["path"]["switches"] == 3 and len(segments) <= 4
    assert (segments[0]["first"], segments[-1]["last"]) == (1, 80)
    for segment in segments:
        rows = values[segment["first"] - 1 : segment["last"]]
        mine = rows[np.arange(len(rows)), arms[segment["first"] - 1 : segment["last"]]].sum()
        assert segment["total"] == rows[:, NAMES.index(segment["arm"])].sum()
        assert segment["regret"] == (segment["total"] - mine if rewards else mine - segment["total"])
    for one, other in pairwise(segments):
        assert other["first"] == one["last"] + 1 and other["arm"] != one["arm"]
    assert sum(segment["total"] for segment in segments) == found["best"][3]
    assert sum(segment["regret"] for segment in segments) == found["regret"][3]


def test_the_totals_of_a_path_are_those_of_the_table_above_it(tmp_path: Path) -> None:
    """numpy's reduceat adds in another order: 2,496.5 below, 2,496.5000000000027 above."""
    rows = "".join(f"{i * 7 % 10 / 10},{i * 3 % 7 / 10},{'ab'[i % 2]}\n" for i in range(2000))
    found = printed_json("regret", write(tmp_path, "a,b,pick\n" + rows), "--choice", "pick", "--path", 0)
    (only,) = found["path"]["segments"]
    assert only["total"] == found["best"][0] and only["regret"] == found["regret"][0]


def test_rewards_mirror_losses(tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(0, 101, (90, 3))
    (tmp_path / "won").mkdir()
    lost, _ = write_both(tmp_path, values, NAMES, choice=chosen(90))
    won, _ = write_both(tmp_path / "won", 100 - values, NAMES, choice=chosen(90))
    losses = printed_json("regret", lost, "--choice", "choice")
    rewards = printed_json("regret", won, "--choice", "choice", "--rewards", "--range", "0", "100")
    assert losses["regret"] == rewards["regret"]
    assert [one + other for one, other in zip(losses["best"], rewards["best"], strict=True)] == [9000.0] * 9


def test_csv_and_parquet_agree(tmp_path: Path) -> None:
    files = write_both(tmp_path, changing(50), NAMES, choice=[NAMES[arm] for arm in chosen(50)])
    one, two = (printed_json("regret", file, "--choice", "choice", "--path", "2") for file in files)
    assert one.pop("file") != two.pop("file")
    assert one == two


SAME: list[tuple[list[Any], str]] = [
    (["a", "b", "a"], "names"),
    ([0, 1, 0], "indices"),
    ([0.0, 1.0, 0.0], "indices"),
    ([" a", "b ", "a"], "names"),
    (["0", "1", " 0.0"], "indices"),
]


@pytest.mark.parametrize(("column", "read_as"), SAME)
def test_names_and_indices(tmp_path: Path, column: list[Any], read_as: str) -> None:
    for file in write_both(tmp_path, np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), ["a", "b"], choice=column):
        found = printed_json("regret", file, "--choice", "choice")
        assert (found["choice"]["read_as"], found["choice"]["total"]) == (read_as, 10.0)
        said = run("regret", file, "--choice", "choice").stdout
        assert ("read as names of columns" if read_as == "names" else "read as indices, 0 being the first arm") in said


def test_categories_are_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4], "choice": pl.Series(["b", "a"], dtype=pl.Categorical)})
    frame.write_parquet(tmp_path / "t.parquet")
    assert printed_json("regret", tmp_path / "t.parquet", "--choice", "choice")["choice"]["total"] == 5.0


def test_names_come_before_indices_and_doubt_is_told(tmp_path: Path) -> None:
    """Arms called 1, 2 and 0: a choice of 1 is the first column, not the second."""
    file = write(tmp_path, "1,2,0,choice\n5,6,7,1\n5,6,7,0\n")
    assert printed_json("regret", file, "--choice", "choice")["choice"]["total"] == 12.0
    assert "note: they could also be indices" in run("regret", file, "--choice", "choice").stdout
    same = write(tmp_path, "0,1,choice\n5,6,1\n5,6,0\n", "same.csv")
    assert "note:" not in run("regret", same, "--choice", "choice").stdout
    beyond = write(tmp_path, "1,2,choice\n5,6,1\n5,6,2\n", "beyond.csv")
    assert printed_json("regret", beyond, "--choice", "choice")["choice"]["total"] == 11.0
    assert "note:" not in run("regret", beyond, "--choice", "choice").stdout


def test_without_choices_the_paths_alone(tmp_path: Path) -> None:
    csv, _ = write_both(tmp_path, changing(30), NAMES)
    found = printed_json("regret", csv, "--path", "1")
    assert (found["choice"], found["regret"]) == (None, None)
    assert found["best"] == recursion(changing(30).tolist(), 8)
    assert [segment["regret"] for segment in found["path"]["segments"]] == [None] * 2
    said = run("regret", csv, "--path", "1").stdout
    assert "regret" not in said and "rows are counted from 1, below the header" in said


def test_columns_and_rows_are_chosen(tmp_path: Path) -> None:
    values = changing(30)
    more: dict[str, list[Any]] = {"time": list(range(30)), "choice": [0] * 30}
    csv, _ = write_both(tmp_path, values, NAMES, **more)
    some = printed_json("regret", csv, "--choice", "choice", "--columns", "blue,green", "--horizon", "20")
    assert some["arms"] == ["blue", "green"]
    assert some["best"] == recursion(values[:20, [2, 1]].tolist(), 8)
    assert some["choice"]["total"] == total_loss(values[:20].tolist(), [2] * 20)
    assert printed_json("regret", csv, "--choice", "choice", "--drop", "time,choice")["arms"] == NAMES


def test_more_switches_than_rounds_and_constant_tables(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b,choice\n3,3,a\n3,3,b\n")
    found = printed_json("regret", file, "--choice", "choice", "--path", "99", "--max-switches", "99")
    assert (found["switches"], found["best"], found["regret"]) == ([0, 1], [6.0, 6.0], [0.0, 0.0])
    assert [segment["arm"] for segment in found["path"]["segments"]] == ["a"]
    zeros = printed_json("regret", write(tmp_path, "a,b\n0,0\n", "zeros.csv"), "--rewards")
    assert str(zeros["best"]) == "[0.0]"  # and not -0.0


@pytest.mark.parametrize("columns", [80, 200])
def test_the_screen_is_readable(tmp_path: Path, columns: int) -> None:
    csv, _ = write_both(tmp_path, 1e4 * changing(300), NAMES, choice=chosen(300))
    done = run("regret", csv, "--choice", "choice", "--path", "3", columns=columns)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert "The best path with at most 3 switches" in done.stdout
    assert "…" not in done.stdout and "\x1b" not in done.stdout
    numbers = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert [row[0] for row in numbers[:9]] == [str(S) for S in range(9)] and all(len(row) == 3 for row in numbers[:9])


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), BAD_CSV)
def test_bad_csv_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal("regret", write(tmp_path, text))


@pytest.mark.parametrize(("columns", "said"), BAD_PARQUET)
def test_bad_parquet_is_refused(tmp_path: Path, columns: dict[str, list[object]], said: str) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    assert said in refusal("regret", tmp_path / "t.parquet")


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "is not a file" in refusal("regret", tmp_path / "none.parquet")
    assert "is not a file" in refusal("regret", tmp_path)
    assert "ends in ''" in refusal("regret", write(tmp_path, "a,b\n1,2\n", "t"))
    assert "Missing argument 'FILE'" in refusal("regret")


BAD_CHOICES = [
    ("a,b,choice\n1,2,a\n1,2,\n", "row 2 below the header, column 'choice' is missing"),
    ('a,b,choice\n1,2,a\n1,2," "\n', "row 2 below the header, column 'choice' is missing"),
    ("a,b,choice\n1,2,a\n1,2,c\n", "choice in row 2 below the header, column 'choice' is 'c'; accepted are the names"),
    ("a,b,choice\n1,2,a\n1,2,1\n", "row 2 below the header, column 'choice' is '1'"),
    ("a,b,choice\n1,2,0\n1,2,2\n", "row 2 below the header, column 'choice' is '2'; .* indices from 0 to 1"),
    ("a,b,choice\n1,2,0\n1,2,-1\n", "row 2 below the header, column 'choice' is '-1'"),
    ("a,b,choice\n1,2,0\n1,2,0.5\n", "row 2 below the header, column 'choice' is '0.5'"),
    ("a,b,choice\n1,2,0\n1,2,nan\n", "row 2 below the header, column 'choice' is 'nan'"),
    ("a,choice\n1,a\n1,a\n", "has 1 column of arms 'a'; .* chosen or not"),
]


@pytest.mark.parametrize(("text", "said"), BAD_CHOICES)
def test_bad_choices_are_refused(tmp_path: Path, text: str, said: str) -> None:
    assert re.search(said, refusal("regret", write(tmp_path, text), "--choice", "choice"))


def test_bad_choices_in_parquet(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    columns: list[list[Any]] = [["a", None], [0, None], [0.0, float("nan")], [0.0, 1e300], [["a"], ["b"]]]
    for column in columns:
        pl.DataFrame({"a": [1, 2], "b": [3, 4], "choice": column}).write_parquet(file)
        said = refusal("regret", file, "--choice", "choice")
        assert f"row {1 if isinstance(column[0], list) else 2} (counted from 1), column 'choice' is " in said


BAD_WORDS = [
    (["--choice", "chosen"], "has no column 'chosen'; accepted are 'a', 'b', 'choice'"),
    (["--choice", "choice", "--columns", "a,choice"], "has 1 column of arms 'a'"),
    (["--choice", "choice", "--range", "0", "3"], "the loss in row 2 below the header, column 'b' is 4.0"),
    (["--choice", "choice", "--horizon", "3"], "--horizon is 3; accepted are 1 to 2"),
    (["--choice", "choice", "--path", "-1"], "--path"),
    (["--choice", "choice", "--path", "few"], "'few'"),
    (["--choice", "choice", "--max-switches", "-1"], "--max-switches"),
    (["--columns", "a,b,c"], "has no column 'c'"),
    (["--choice", "choice", "--seeds", "3"], "--seeds"),
]


@pytest.mark.parametrize(("words", "said"), BAD_WORDS)
def test_bad_words_are_refused(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refusal("regret", write(tmp_path, "a,b,choice\n1,2,a\n3,4,b\n"), *words)


def test_help_teaches() -> None:
    said = " ".join(run("regret", "--help").stdout.split())
    for taught in (
        "names of columns, or 0 for the first arm",
        "exact",
        "Every arm's number",
        "turncoat regret log.csv",
    ):
        assert taught in said
