"""Commands as a user types them, in this process and not at a terminal; and tables to type them about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from click.testing import CliRunner, Result
from numpy.typing import NDArray

from turncoat.cli.commands import turncoat


def run(*words: object, columns: int = 80) -> Result:
    """What a command prints."""
    return CliRunner(env={"COLUMNS": str(columns), "TERM": "dumb"}).invoke(turncoat, [str(word) for word in words])


def printed_json(*words: object) -> dict[str, Any]:
    """The one object on the standard output of a command that ends well."""
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def refusal(*words: object) -> str:
    """What a command says when it refuses: one line on the error stream, nothing on the other."""
    done = run(*words)
    assert done.exit_code in (1, 2), done.output
    assert isinstance(done.exception, SystemExit)
    said = done.stderr.splitlines()
    errors = [line for line in said if line.startswith("Error: ")]
    assert done.stdout == "" and len(errors) == 1 and said[-1] == errors[0], done.output
    assert done.exit_code == 2 or said[:-1] in ([], ["compiling what is not on disk yet"])
    return errors[0]


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    """A file with this text."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def write_both(folder: Path, values: NDArray[Any], names: list[str], **more: list[Any]) -> tuple[Path, Path]:
    """The same table as CSV and as Parquet."""
    frame = pl.DataFrame(values, schema=names).with_columns(*(pl.Series(name, column) for name, column in more.items()))
    frame.write_csv(folder / "both.csv")
    frame.write_parquet(folder / "both.parquet")
    return folder / "both.csv", folder / "both.parquet"


def changing(n_rounds: int, n_arms: int = 3, seed: int = 0) -> NDArray[Any]:
    """Values from 0 to 100 with two decimals, whose best arm changes half way."""
    values = np.random.default_rng(seed).uniform(20, 100, (n_rounds, n_arms))
    values[: n_rounds // 2, 0] -= 20
    values[n_rounds // 2 :, 1] -= 20
    return values.round(2)


# Tables that no command takes: what the file holds, and what is said of it.
BAD_CSV = [
    ("", "t.csv is empty"),
    ("a,b\n", "has 0 rows and 2 columns"),
    ("a,b\n1,2\n3,\n", "row 2 below the header, column 'b' is missing"),
    ("a,b\n1,2\n\n3,4\n", "row 2 below the header, column 'a' is missing"),
    ("a,b\n1,2\n3\n", "row 2 below the header, column 'b' is missing"),
    ("a,b\n1,2\n3,4,5\n", "row 2 below the header of"),
    ("a,b\n1,nan\n", "row 1 below the header, column 'b' is 'nan'"),
    ("a,b\n1,2\n1,-inf\n", "row 2 below the header, column 'b' is '-inf'"),
    ("a,b\n1,2\n1,two\n", "row 2 below the header, column 'b' is 'two'"),
    ("a,b\n1,1e999\n", "row 1 below the header, column 'b' is"),
    ("a,b\n1,1e308\n1,2\n", "row 1 below the header, column 'b' is 1e+308"),
    ("a,a\n1,2\n", "has two columns named 'a'"),
    ("a,\n1,2\n", "column 2 of"),
    ("1.5,2\n3,4\n", "--no-header"),
    ("a\n1\n2\n", "has 1 column of arms 'a'; accepted are two or more"),
    ('a,b\n1,2\n"3,4\n', "cannot be read as CSV"),
]
BAD_PARQUET: list[tuple[dict[str, list[Any]], str]] = [
    ({"a": [1.0], "b": [None]}, "row 1 (counted from 1), column 'b' is missing"),
    ({"a": [1.0, 2.0], "b": [1.0, float("nan")]}, "row 2 (counted from 1), column 'b' is nan"),
    ({"a": [1.0, 2.0], "b": ["1", "x"]}, "row 2 (counted from 1), column 'b' is 'x'"),
    ({"a": [1.0], "b": [[1.0]]}, "row 1 (counted from 1), column 'b' is"),
    ({"a": [], "b": []}, "has 0 rows and 2 columns"),
    ({"a": [1.0]}, "has 1 column of arms 'a'"),
]
