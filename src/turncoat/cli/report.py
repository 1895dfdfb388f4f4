"""`turncoat report`: the leaderboard and the report of a saved race."""

from __future__ import annotations

from pathlib import Path

from turncoat.cli.console import screen
from turncoat.cli.race import show_result, write_report
from turncoat.errors import RaceError
from turncoat.racing import Result


def run_report(folder: Path, to: Path, *, everyone: bool) -> None:
    """Print and draw what is there."""
    console = screen()
    result = Result.load(folder)
    n, n_missing = len(list(result.names.cells())), len(result.missing)
    if not result.leaderboard().height:
        raise RaceError(f"the race in {str(folder)!r} has no finished game; race again with the same folder to go on")
    page = write_report(console, result, to)
    show_result(console, result, everyone=everyone)
    if n_missing:
        console.print(
            f"{n_missing:,} of {n:,} games are missing: race again with the same folder to go on", style="yellow"
        )
    console.print(f"report: {page}", soft_wrap=True)
