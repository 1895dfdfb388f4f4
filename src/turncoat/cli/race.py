"""`turncoat race`: progress while it runs, a leaderboard when it is done."""

from __future__ import annotations

import time
import warnings

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from turncoat.environments import Piecewise
from turncoat.errors import TuningWarning
from turncoat.race import ENTRIES, race


def run_race(n_arms: int, horizon: int, n_switches: int, gap: float, n_seeds: int, seed: int) -> None:
    """Race all entries and print the leaderboard."""
    console = Console()
    began = time.perf_counter()

    def environment(horizon: int, seed: np.random.SeedSequence) -> Piecewise:
        return Piecewise(n_arms, horizon, n_switches, gap=gap, seed=seed)

    if not console.is_terminal:
        console.print("compiling what is not on disk yet, then racing")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with warnings.catch_warnings(record=True) as noted, Progress(*columns, console=console, transient=True) as progress:
        warnings.simplefilter("always", TuningWarning)
        bar = progress.add_task("compiling, then racing", total=len(ENTRIES) * n_seeds)
        result = race(
            ENTRIES,
            {"piecewise": environment},
            horizon,
            seeds=n_seeds,
            seed=seed,
            max_switches=n_switches,
            on_progress=lambda now: progress.update(bar, advance=1, description=now.cell.learner),
        )
    for text in sorted({str(note.message) for note in noted}):
        console.print(f"note: {text}", style="yellow")
    seeds = f"{n_seeds} seeds" if n_seeds > 1 else "1 seed"
    title = f"{n_arms} arms, {horizon:,} rounds, {n_switches} switches, gap {gap:g}, {seeds}"
    console.print(board(result.leaderboard(), title))
    interval = ", with a 95 % interval over seeds" if n_seeds > 1 else ""
    console.print(f"regret: expected loss (noise taken out) above the planted path{interval}; lower is better")
    console.print(f"vs L*(S): realised loss above that of the best path with S = {n_switches} switches in hindsight")
    console.print(f"finished in {time.perf_counter() - began:.1f} s")


def board(leaderboard: pl.DataFrame, title: str) -> Table:
    """The leaderboard as a table."""
    table = Table(title=title)
    table.add_column("#", justify="right")
    table.add_column("learner", overflow="fold")
    table.add_column("regret", justify="right")
    table.add_column("vs L*(S)", justify="right")
    table.add_column("ns/round", justify="right")
    for row in leaderboard.iter_rows(named=True):
        interval = "" if row["low"] is None else f" ± {(row['high'] - row['low']) / 2:,.0f}"
        figures = f"{row['regret']:,.0f}{interval}", f"{row['exact_regret']:,.0f}", f"{row['ns_per_round']:,.0f}"
        table.add_row(str(row["rank"]), row["learner"], *figures)
    return table
