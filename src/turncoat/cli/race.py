"""`turncoat race`: progress, then a leaderboard and a report. `turncoat report`: the last two of a saved race."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from turncoat.cli.console import counted, screen
from turncoat.cli.leaderboard import SEERS, boards
from turncoat.cli.progress import watched_race
from turncoat.environments import suite
from turncoat.errors import RaceError
from turncoat.learners.entries import ENTRIES, FEW, by_feedback_group, entry
from turncoat.optional_imports import require
from turncoat.racing import Result

REGRET = (
    "regret: expected loss above the planted path's (in a table or against an adversary: loss above the best path's), "
    "with a 95 % interval over seeds; less is better, * is least"
)
RANK = "mean rank: the place taken in a single game, averaged over all of them"


def run_race(
    suite_name: str,
    environments: tuple[str, ...],
    learners: tuple[str, ...],
    as_json: bool,
    report: bool,
    everyone: bool,
    **words: Any,
) -> None:
    """Race, print the leaderboard and write the report."""
    began = time.perf_counter()
    console = screen(stderr=as_json)
    games = environments or suite(suite_name)
    names = learners or (tuple(ENTRIES) if games == suite("arena") else FEW)
    result, notes = watched_race(console, {name: entry(name) for name in names}, games, **words)
    for note in notes:
        console.print(f"note: {note}", style="yellow")
    if not as_json:
        show_result(console, result, everyone=everyone)
    page = write_report(console, result, words["folder"]) if report else None
    if as_json:
        print(json.dumps(summary(result, words["folder"], page), allow_nan=False))
        return
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
    console.print(f"finished in {time.perf_counter() - began:.1f} s; peak memory {peak_memory():,.0f} MB")


def write_report(console: Console, result: Result, folder: Path) -> Path:
    """Write the report, which takes a few seconds."""
    if console.is_terminal:
        with console.status("drawing the report"):
            return result.report(folder)
    console.print("drawing the report")
    return result.report(folder)


def show_result(console: Console, result: Result, *, everyone: bool = False) -> None:
    """Print the leaderboard, of all learners or of the best, and what its numbers mean."""
    names = result.names
    who, seeds = counted(len(names.learners), "learner"), counted(names.seeds, "seed")
    shorter = ", ".join(f"{horizon:,}" for horizon in names.horizons[:-1])
    also = f" (and {shorter} for growth)" if shorter else ""
    console.print()
    console.print(f"{who}, {counted(names.horizon, 'round')}{also}, {seeds}", style="bold")
    board = boards(result, console.width, everyone=everyone)
    for table in board.tables:
        console.print(table)
        console.print()
    if board.n_left_out:
        console.print(f"… and {board.n_left_out} more: --all prints all, as does the report", style="bold")
    if len(by_feedback_group(names.learners, names.settings)) > 1:
        console.print(SEERS)
    console.print(RANK)
    console.print(REGRET)


def summary(result: Result, folder: Path, page: Path | None) -> dict[str, Any]:
    """The result as one JSON object."""
    names = result.names
    return {
        "learners": names.learners,
        "environments": {name: facts._asdict() for name, facts in names.environments.items()},
        "horizons": names.horizons,
        "seeds": names.seeds,
        "about": dict(result.about),
        "overall": result.overall().to_dicts(),
        "leaderboard": result.leaderboard().to_dicts(),
        "folder": str(folder),
        "report": None if page is None else str(page),
    }


def peak_memory() -> float:
    """The most memory this process has held at a time, in MB."""
    try:
        import resource
    except ImportError:  # on Windows
        return float(require("psutil", "the peak memory").Process().memory_info().peak_wset / 1e6)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


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
