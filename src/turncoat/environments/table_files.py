"""Tables of losses in CSV and Parquet files: one column an arm, one row a round, read through polars.

polars is imported when a file is read, not before. Whatever is not a number is refused, with its row, counted from 0
below the header, and the name of its column.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from turncoat.errors import MissingPackageError, TableError
from turncoat.types import Matrix

if TYPE_CHECKING:
    import polars as pl

ACCEPTED = "accepted is a table of numbers, one column an arm and one row a round, at least one of each"


def read_csv(path: str | os.PathLike[str], columns: Sequence[str] | None, header: bool) -> tuple[list[str], Matrix]:
    """The names of the columns and their numbers; without a header the columns are named 0, 1, …"""
    pl = _polars()
    file = _existing(path)
    try:
        text = pl.read_csv(file, has_header=False, infer_schema=False, glob=False)
    except pl.exceptions.NoDataError:
        raise TableError(f"{file} is empty; {ACCEPTED}") from None
    except pl.exceptions.PolarsError as problem:
        raise TableError(_ragged(file, header) or f"{file} cannot be read as CSV: {problem}; {ACCEPTED}") from None
    if header:
        names = [str(name or "").strip() for name in text.row(0)]
        _check_names(file, names)
        text = text.slice(1)
    else:
        names = [str(i) for i in range(text.width)]
    return _numbers(file, text.rename(dict(zip(text.columns, names, strict=True))), columns)


def read_parquet(path: str | os.PathLike[str], columns: Sequence[str] | None) -> tuple[list[str], Matrix]:
    """The names of the columns and their numbers."""
    pl = _polars()
    file = _existing(path)
    try:
        frame = pl.read_parquet(file, glob=False)
    except pl.exceptions.PolarsError as problem:
        raise TableError(f"{file} cannot be read as Parquet: {problem}; {ACCEPTED}") from None
    return _numbers(file, frame, columns)


def _polars() -> ModuleType:
    try:
        return import_module("polars")
    except ModuleNotFoundError:
        raise MissingPackageError("reading table files needs polars: pip install 'turncoat[race]'") from None


def _existing(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if not file.is_file():
        raise TableError(f"{str(file)!r} is not a file; accepted is the path of a CSV or Parquet file")
    return file


def _check_names(file: Path, names: list[str]) -> None:
    """Refuse columns without a name or with one name for two, and a first line of numbers where names should be."""
    for i, name in enumerate(names):
        if not name:
            raise TableError(f"column {i} of {file} has no name; accepted are columns with different names")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(f"{file} has two columns named {twice[0]!r}; accepted are columns with different names")
    if all(_is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        raise TableError(
            f"the first line of {file} holds numbers, {names[0]!r} for one; accepted are the columns' names, or a file "
            "without them and header=False"
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _ragged(file: Path, header: bool) -> str:
    """What to say of the first line that is not as long as the first one; empty if there is none."""
    with file.open(newline="", encoding="utf-8", errors="replace") as lines:
        rows = csv.reader(lines)
        width = len(next(rows, []))
        for row, cells in enumerate(rows, 0 if header else 1):
            if len(cells) > width:
                return f"row {row} of {file} has {len(cells)} values and the first line {width}; {ACCEPTED}"
    return ""


def _numbers(file: Path, frame: pl.DataFrame, columns: Sequence[str] | None) -> tuple[list[str], Matrix]:
    """The chosen columns as names and an array of numbers."""
    names = frame.columns if columns is None else list(columns)
    for name in names:
        if name not in frame.columns:
            raise TableError(f"{file} has no column {name!r}; accepted are {', '.join(map(repr, frame.columns))}")
    if not names or not frame.height:
        raise TableError(f"{file} has {frame.height} rows and {len(names)} columns of losses; {ACCEPTED}")
    table = np.empty((frame.height, len(names)))
    for i, name in enumerate(names):
        table[:, i] = _column(frame[name])
    return names, table


def _column(values: pl.Series) -> Matrix:
    """One column as numbers; the first value that is missing or not a number is named."""
    pl = _polars()
    text = values.dtype == pl.String
    if text or values.dtype.is_numeric() or values.dtype == pl.Boolean:
        numbers = (values.str.strip_chars() if text else values).cast(pl.Float64, strict=False)
        wrong = numbers.is_null().arg_true()
    else:
        wrong = pl.Series([0])  # dates, lists, …: not numbers, whatever they hold
    if len(wrong):
        row = int(wrong[0])
        found = "missing" if values[row] is None else repr(values[row])
        raise TableError(f"the value in row {row}, column {values.name!r} is {found}; {ACCEPTED}")
    array: Matrix = numbers.to_numpy()
    return array
