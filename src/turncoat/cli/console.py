"""The terminal: text is shown as it is, and tables have no frame."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def screen(*, stderr: bool = False) -> Console:
    """Where to print. Names of learners and files may hold brackets and colons: they mean nothing here."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def plain_table(gap: int = 2) -> Table:
    """A table with a line below its heads, and so many blanks between its columns."""
    return Table(box=SIMPLE_HEAD, padding=(0, gap, 0, 0), show_edge=False, pad_edge=False)
