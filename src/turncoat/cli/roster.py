"""`turncoat list`: learners, from the facts each of them states about itself; environments and suites."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from turncoat.environments import SCENARIOS, SUITES
from turncoat.learners import LEARNERS


def show_all() -> None:
    """Print one line a learner, a scenario and a suite."""
    console = Console(highlight=False)
    learners = _table("Learners", "learner", "T", "S", "regret", "cost")
    for name, learner in LEARNERS.items():
        learners.add_row(name, *learner.facts)
    console.print(learners)
    console.print("K arms, T rounds, S switches of the path to compare with; H, about ln T, the number of bases.")
    console.print("regret: order of the bound, logs left out. cost: order of time a round; H log K for shared masters.")
    environments = _table("Environments", "id", "what happens")
    for name, one in SCENARIOS.items():
        environments.add_row(name, one.description)
    console.print()
    console.print(environments)
    console.print("Each for any horizon and seed. What tells learners apart in them: docs/environments.md.")
    suites = _table("Suites", "suite", "environments")
    for name, ids in SUITES.items():
        suites.add_row(name, "all of them" if len(ids) == len(SCENARIOS) else ", ".join(ids))
    console.print()
    console.print(suites)
    console.print("turncoat race --suite NAME races over one; turncoat race -e ID over a single environment.")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
