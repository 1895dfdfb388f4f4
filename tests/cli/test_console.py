"""Printing is literal: a learner's name is never read as markup."""

from __future__ import annotations

import io

from tests.cases import compiles_nothing
from turncoat.cli.console import plain_table, screen

pytestmark = compiles_nothing


def test_names_are_printed_as_they_are() -> None:
    """A learner called "[red]mine" was printed as "mine" by race and report."""
    console = screen()
    console.file = io.StringIO()
    table = plain_table()
    table.add_column("learner")
    table.add_row("[red]mine")
    console.print("[b]yours :smile:")
    console.print(table)
    printed = console.file.getvalue()
    assert "[b]yours :smile:" in printed and "[red]mine" in printed
