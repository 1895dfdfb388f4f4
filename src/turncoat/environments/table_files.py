"""Tables of losses in CSV and Parquet files: one column per arm, one row per round, read with polars.

polars is imported when a file is read. A value that is not a finite number is refused, with its row and the name of
its column. Rows are numbered from 1, not counting a header.
"""

from __future__ import annotations

import csv
import difflib
import os
import reprlib
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from turncoat.errors import TableError
from turncoat.optional_imports import require
from turncoat.types import Matrix

if TYPE_CHECKING:
    import polars as pl

ACCEPTED = "accepted is a table of finite numbers, one column per arm and one row per round, at least one of each"
CSV, PARQUET = (".csv",), (".parquet", ".pq")  # suffixes
SOME_NAMES = 12  # columns listed in an error message


class TableFile:
    """A table read from a file; its columns are parsed as numbers or as labels on request."""

    def __init__(self, path: Path, frame: pl.DataFrame, header: bool) -> None:
        self.path, self.frame, self.header = path, frame, header
        self.names: list[str] = frame.columns
        self.n_rows: int = frame.height

    def place(self, row: int) -> str:
        """The position of a row as text; `row` is counted from 0."""
        return _place(row, self.header)

    def first(self, n_rows: int) -> TableFile:
        """The same file without the rows that come later."""
        return TableFile(self.path, self.frame.head(n_rows), self.header)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse a column that is not there, and one that is named twice."""
        for i, name in enumerate(names):
            if name not in self.names:
                near = difflib.get_close_matches(str(name), self.names, n=5, cutoff=0.5)
                known = self.names if len(self.names) <= SOME_NAMES else near or [*self.names[:SOME_NAMES], "…"]
                raise TableError(f"{self.path} has no column {name!r}; accepted are {', '.join(map(repr, known))}")
            if name in names[:i]:
                raise TableError(f"the column {name!r} is given twice; accepted is each column once")

    def numbers(self, columns: Sequence[str]) -> Matrix:
        """The columns as an array of finite numbers, one row per round."""
        self.check_names(columns)
        if not columns or not self.n_rows:
            raise TableError(f"{self.path} has {self.n_rows} rows and {len(columns)} columns of losses; {ACCEPTED}")
        table = np.empty((self.n_rows, len(columns)))
        for i, name in enumerate(columns):
            table[:, i] = self._numbers(self.frame[name])
        return table

    def _numbers(self, values: pl.Series) -> Matrix:
        """One column; the first value that is missing or not a finite number is named."""
        pl = _polars()
        text = values.dtype == pl.String
        if text or values.dtype.is_numeric() or values.dtype == pl.Boolean:
            numbers = (values.str.strip_chars() if text else values).cast(pl.Float64, strict=False)
            wrong = (~numbers.is_finite()).fill_null(True).arg_true()
        else:
            wrong = pl.Series([0])  # dates, lists, …: not numbers, whatever they hold
        if len(wrong):
            self.refuse(values, int(wrong[0]), ACCEPTED)
        array: Matrix = numbers.to_numpy()
        return array

    def labels(self, column: str) -> pl.Series:
        """A column as text labels, none missing: stripped of blanks, whole numbers without a decimal point."""
        pl = _polars()
        self.check_names([column])
        values = self.frame[column]
        if values.dtype.is_nested():
            self.refuse(values, 0, "accepted is a column of labels or whole numbers")
        if values.dtype.is_float() and ((values.abs() < 2.0**53) & (values == values.round())).all():  # nulls aside
            values = values.cast(pl.Int64)
        words = values.cast(pl.String, strict=False).str.strip_chars()
        missing = (words == "").fill_null(True).arg_true()
        if len(missing):
            self.refuse(values, int(missing[0]), "accepted is a column with a value in every row")
        return words

    def refuse(self, values: pl.Series, row: int, accepted: str) -> NoReturn:
        """Raise a TableError that names the value in this row of a column."""
        value = values.slice(row, 1).to_list()[0]  # of a nested column: a list, not a Series
        blank = value is None or (isinstance(value, str) and not value.strip())
        found = "missing" if blank else reprlib.repr(value)
        raise TableError(f"the value in {self.place(row)}, column {values.name!r} is {found}; {accepted}")


def open_table(path: str | os.PathLike[str], *, header: bool = True) -> TableFile:
    """A CSV or a Parquet file, by its suffix."""
    ending = Path(path).suffix.lower()
    if ending in PARQUET:
        return open_parquet(path)
    if ending in CSV:
        return open_csv(path, header=header)
    file = _existing(path)
    raise TableError(f"the name of {str(file)!r} ends in {ending!r}; accepted are {', '.join([*CSV, *PARQUET])}")


def open_csv(path: str | os.PathLike[str], *, header: bool = True) -> TableFile:
    """A CSV file; without a header the columns are named 0, 1, …"""
    pl = _polars()
    file = _existing(path)
    try:
        text = pl.read_csv(file, has_header=False, infer_schema=False, glob=False)
    except pl.exceptions.NoDataError:
        raise TableError(f"{file} is empty; {ACCEPTED}") from None
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise TableError(_ragged(file, header) or _unreadable(file, "CSV", problem)) from None
    if header:
        names = [str(name or "").strip() for name in text.row(0)]
        _check_header(file, names)
        text = text.slice(1)
    else:
        names = [str(i) for i in range(text.width)]
    return TableFile(file, text.rename(dict(zip(text.columns, names, strict=True))), header)


def open_parquet(path: str | os.PathLike[str]) -> TableFile:
    """A Parquet file."""
    pl = _polars()
    file = _existing(path)
    try:
        frame = pl.read_parquet(file, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:  # if damaged, it may panic
        raise TableError(_unreadable(file, "Parquet", problem)) from None
    return TableFile(file, frame, header=False)


def _polars() -> Any:
    return require("polars", "reading table files")


def _existing(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if not file.is_file():
        raise TableError(f"{str(file)!r} is not a file; accepted is the path of a CSV or Parquet file")
    return file


def _place(row: int, header: bool) -> str:
    return f"row {row + 1} {'below the header' if header else '(counted from 1)'}"


def _unreadable(file: Path, kind: str, problem: BaseException) -> str:
    """polars' error message, shortened to one line."""
    return f"{file} cannot be read as {kind}: {textwrap.shorten(str(problem), 200, placeholder=' …')}; {ACCEPTED}"


def _check_header(file: Path, names: list[str]) -> None:
    """Refuse unnamed columns, duplicate names, and a first line of numbers instead of names."""
    for i, name in enumerate(names, 1):
        if not name:
            raise TableError(f"column {i} of {file} has no name; accepted are columns with different names")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(f"{file} has two columns named {twice[0]!r}; accepted are columns with different names")
    if all(_is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        raise TableError(
            f"the first line of {file} holds numbers, {names[0]!r} for one; accepted are the columns' names, or a file "
            "without them and header=False (--no-header)"
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _ragged(file: Path, header: bool) -> str:
    """An error message about the first row with more values than the first line; empty if there is none."""
    try:
        with file.open(newline="", encoding="utf-8", errors="replace") as lines:
            rows = csv.reader(lines)
            width = len(next(rows, []))
            for row, cells in enumerate(rows, 0 if header else 1):
                if len(cells) > width:
                    where = f"{_place(row, header)} of {file}"
                    return f"{where} has {len(cells)} values and the first line {width}; {ACCEPTED}"
    except (OSError, csv.Error):  # unreadable, or a field above csv's size limit
        pass
    return ""
