"""Table: from arrays, CSV and Parquet, losses and rewards on any scale; and everything that is no table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import turncoat as tc
from turncoat.environments import Table
from turncoat.errors import MissingPackageError, OptionError, TableError

pytestmark = pytest.mark.jit_off


def csv_file(folder: Path, text: str) -> Path:
    file = folder / "losses.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_an_array_is_taken_as_it_is() -> None:
    losses = np.random.default_rng(0).random((50, 3))
    table = Table(losses)
    assert (table.horizon, table.n_arms, table.arms, table.n_switches) == (50, 3, [0, 1, 2], None)
    assert table.game.losses is losses and np.array_equal(table.losses(), losses)
    assert np.array_equal(table.means(), losses) and table.oblivious and table.fresh() is table


def test_scales() -> None:
    values = np.array([[-1.0, 4.0], [1.5, 0.0]])
    assert Table(values, loss_range=(-1, 4)).losses().tolist() == [[0.0, 1.0], [0.5, 0.2]]
    assert Table(values, loss_range=(-1, 4), rewards=True).losses().tolist() == [[1.0, 0.0], [0.5, 0.8]]
    assert Table([[0.25, 1.0]], rewards=True).losses().tolist() == [[0.75, 0.0]]
    odd = np.random.default_rng(1).uniform(-1e300, 1.1e-3, (200, 2))
    odd[0] = -1e300, 1.1e-3
    for rewards in (False, True):
        unit = Table(odd, loss_range=(-1e300, 1.1e-3), rewards=rewards).losses()
        assert unit.min() == 0.0 and unit.max() == 1.0


def test_values_outside_the_range_are_named() -> None:
    losses = np.full((70_000, 2), 0.5)
    for value in (math.nan, math.inf, -1e-9, 1.5):
        losses[69_999, 1] = value
        with pytest.raises(
            TableError, match=f"loss in row 69999, column 1 is {value!r}; accepted are losses from 0 to 1"
        ):
            Table(losses)
    with pytest.raises(TableError, match=r"reward in row 0, column 'b' is 7.0; accepted are rewards from 0 to 5"):
        Table([[1, 7]], arms=["a", "b"], loss_range=(0, 5), rewards=True)
    with pytest.raises(TableError, match=r"arms are \['a'\]; accepted is one name for each of the 2 columns"):
        Table([[0, 1]], arms=["a"])
    for wrong in ((1, 0), (0, 0), (0, math.inf), (0, math.nan), (0,), None, ("a", "b"), (False, True), 3):
        with pytest.raises(OptionError, match=r"loss_range is .*; accepted is a pair"):
            Table([[0.5]], loss_range=wrong)  # type: ignore[arg-type]


def test_the_hash_is_of_the_losses_alone() -> None:
    losses = np.random.default_rng(0).random((20, 3))
    same = [
        Table(losses),
        Table(np.asfortranarray(losses)),
        Table(losses.tolist()),
        Table(1 - (1 - losses), arms="abc"),
    ]
    assert len({str(table.fields()) for table in same[:3]}) == 1
    assert Table(losses.reshape(30, 2)).fields() != same[0].fields()
    losses[7, 1] = 0.5
    assert Table(losses).fields() != Table(same[2].losses()).fields()


def test_csv_and_parquet_hold_the_same_table(tmp_path: Path) -> None:
    """Every digit comes through: the files say the numbers exactly."""
    values = np.random.default_rng(5).random((300, 3)) * 10.0 ** np.random.default_rng(6).integers(-12, 1, (300, 3))
    frame = pl.DataFrame(values, schema=["red", "green", "blue"])
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    for table in (Table.from_csv(tmp_path / "t.csv"), Table.from_parquet(str(tmp_path / "t.parquet"))):
        assert table.arms == ["red", "green", "blue"]
        assert np.array_equal(table.losses(), values)
    some = Table.from_csv(tmp_path / "t.csv", columns=["blue", "red"])
    assert some.arms == ["blue", "red"] and np.array_equal(some.losses(), values[:, [2, 0]])
    rewards = Table.from_parquet(tmp_path / "t.parquet", columns=["green"], rewards=True, loss_range=(0, 2))
    assert np.array_equal(rewards.losses(), (2 - values[:, [1]]) / 2)
    played = tc.play(tc.Exp3(3, 300, seed=1), Table.from_csv(tmp_path / "t.csv"))
    assert np.array_equal(played, tc.play(tc.Exp3(3, 300, seed=1), values))


def test_ways_to_write_csv(tmp_path: Path) -> None:
    for text in ("a,b\n0,1\n.5,1e-1\n", '"a", b \r\n 0 ,"1"\r\n0.5,0.1\r\n', "\ufeffa,b\n0,1\n0.5,+0.1"):
        table = Table.from_csv(csv_file(tmp_path, text))
        assert table.arms == ["a", "b"] and table.losses().tolist() == [[0.0, 1.0], [0.5, 0.1]]
    bare = Table.from_csv(csv_file(tmp_path, "0.5,1\n0,0\n"), header=False)
    assert bare.arms == ["0", "1"] and bare.losses().tolist() == [[0.5, 1.0], [0.0, 0.0]]
    named_by_numbers = Table.from_csv(csv_file(tmp_path, "0,1\n0.5,0.5\n"))
    assert named_by_numbers.arms == ["0", "1"] and named_by_numbers.horizon == 1
    odd = tmp_path / "data[1]*.csv"
    odd.write_text("a\n1\n")
    assert Table.from_csv(odd).horizon == 1  # a name, not a pattern


BAD_CSV = [
    ("a,b\n0.1,0.2\n0.3,x\n", "value in row 2 below the header, column 'b' is 'x'; accepted"),
    ("a,b\n0.1,0.2\n0.3,\n", "value in row 2 below the header, column 'b' is missing; accepted"),
    ("a,b\n0.1,0.2\n0.3\n", "value in row 2 below the header, column 'b' is missing"),
    ("a,b\n0.1,0.2\n\n0.3,0.4\n", "value in row 2 below the header, column 'a' is missing"),
    (
        "a,b\n0.1,0.2\n0.3,0.4,0.5\n",
        "row 2 below the header of .*losses.csv has 3 values and the first line 2; accepted",
    ),
    (
        "a,b\n0.1,nan\n",
        "the value in row 1 below the header, column 'b' is 'nan'; accepted is a table of finite numbers",
    ),
    ("a,b\n0.1,inf\n", "the value in row 1 below the header, column 'b' is 'inf'"),
    ("a,b\n0.1,-0.2\n", "the loss in row 1 below the header, column 'b' is -0.2; accepted are losses from 0 to 1"),
    ("a,b\n0.1,2\n", "the loss in row 1 below the header, column 'b' is 2.0"),
    ('a,b\n"0,1",2\n', "value in row 1 below the header, column 'a' is '0,1'"),
    ("a;b\n0.1;0.2\n", "value in row 1 below the header, column 'a;b' is '0.1;0.2'"),
    ("a,b\n", "has 0 rows and 2 columns of losses; accepted"),
    ("", "is empty; accepted"),
    ("a,a\n0.1,0.2\n", "has two columns named 'a'; accepted are columns with different names"),
    ("a,\n0.1,0.2\n", "column 2 of .* has no name"),
    ("0.1,0.2\n0.3,0.4\n", "first line of .* holds numbers, '0.1' for one; accepted .* header=False"),
]


@pytest.mark.parametrize(("text", "said"), BAD_CSV)
def test_bad_csv_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TableError, match=said):
        Table.from_csv(csv_file(tmp_path, text))


def test_a_long_row_without_header_is_counted_from_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"row 3 \(counted from 1\) of .* has 3 values and the first line 2"):
        Table.from_csv(csv_file(tmp_path, "0.1,0.2\n0.1,0.2\n0.1,0.2,0.3\n"), header=False)


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    for read in (Table.from_csv, Table.from_parquet):
        for path in (tmp_path / "none", tmp_path, "https://example.org/losses.csv"):
            with pytest.raises(TableError, match="is not a file; accepted is the path of a CSV or Parquet file"):
                read(path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"a,b\n\xff\xfe,0.1\n")
    with pytest.raises(TableError, match=r"cannot be read as CSV: .*utf-8"):
        Table.from_csv(binary)
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        Table.from_parquet(binary)
    with pytest.raises(TableError, match=r"has no column 'c'; accepted are 'a', 'b'"):
        Table.from_csv(csv_file(tmp_path, "a,b\n0,1\n"), columns=["a", "c"])
    with pytest.raises(TableError, match="has 1 rows and 0 columns of losses"):
        Table.from_csv(csv_file(tmp_path, "a,b\n0,1\n"), columns=[])


BAD_PARQUET: list[tuple[dict[str, list[Any]], str]] = [
    ({"a": [0.1, 0.2], "b": [0.1, None]}, r"value in row 2 \(counted from 1\), column 'b' is missing"),
    ({"a": [0.1, 0.2], "b": ["0.1", "x"]}, r"value in row 2 \(counted from 1\), column 'b' is 'x'"),
    ({"a": [0.1, math.nan]}, r"the value in row 2 \(counted from 1\), column 'a' is nan"),
    ({"a": [[0.1], [0.2]]}, r"value in row 1 \(counted from 1\), column 'a' is"),
    ({"a": [1, 2]}, r"the loss in row 2 \(counted from 1\), column 'a' is 2.0"),
    ({"a": []}, "has 0 rows and 1 columns"),
]


@pytest.mark.parametrize(("columns", "said"), BAD_PARQUET)
def test_bad_parquet_is_refused(tmp_path: Path, columns: dict[str, list[Any]], said: str) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=said):
        Table.from_parquet(tmp_path / "t.parquet")


def test_parquet_takes_every_kind_of_number(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [True, False], "b": [1, 0], "c": ["0.5", " 1"]}).with_columns(d=pl.lit(0.5, pl.Float32))
    frame.write_parquet(tmp_path / "t.parquet")
    assert Table.from_parquet(tmp_path / "t.parquet").losses().tolist() == [[1, 1, 0.5, 0.5], [0, 0, 1, 0.5]]


def test_without_polars_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingPackageError, match=r"needs polars: pip install 'turncoat\[race\]'"):
        Table.from_csv(csv_file(tmp_path, "a\n0\n"))
