"""`turncoat list`: the learners, from the facts each of them states about itself."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from turncoat.learners import LEARNERS


def show_learners() -> None:
    """Print one line a learner."""
    table = Table(title="Learners", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for column in ("learner", "T", "S", "regret", "cost"):
        table.add_column(column, overflow="fold")
    for name, learner in LEARNERS.items():
        table.add_row(name, *learner.facts)
    console = Console()
    console.print(table)
    console.print("K arms, T rounds, S switches of the path to compare with; H, about ln T, the number of bases.")
    console.print("regret: order of the bound, logs left out. cost: order of time a round; H log K for shared masters.")
