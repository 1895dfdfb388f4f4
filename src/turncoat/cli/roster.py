"""`turncoat list`: learners, from the facts each of them states about itself; environments and suites."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from turncoat.cli.screen import plain_table, screen
from turncoat.environments import SCENARIOS, SUITES
from turncoat.learners import LEARNERS
from turncoat.race import ENTRIES


def show_all() -> None:
    """Print one line a learner, a scenario and a suite."""
    console = screen()
    facts = ((name, *learner.facts[:4]) for name, learner in LEARNERS.items())
    _show(console, "Learners", ("learner", "T", "S", "regret", "cost"), facts)
    console.print("K arms, T rounds, S switches of the path to compare with; H, about ln T, the number of bases.")
    console.print("regret: order of the bound, logs left out. cost: order of time a round; H log K for shared masters.")
    console.print(f"As race and replay know them: {'; '.join(ENTRIES)}.")
    console.print("shared: every base learns from every round. told S: knows how many switches were planted.")
    console.print("sees all: is told the losses of all arms (full information), others that of their own arm.")
    console.print()
    described = ((name, one.description) for name, one in SCENARIOS.items())
    _show(console, "Environments", ("id", "what happens"), described)
    console.print("Each for any horizon and seed. Exactly what happens: docs/environments.md.")
    console.print()
    everywhere = len(SCENARIOS)
    sets = ((name, "all of them" if len(ids) == everywhere else ", ".join(ids)) for name, ids in SUITES.items())
    _show(console, "Suites", ("suite", "environments"), sets)
    console.print("turncoat race --suite NAME races over one; turncoat race -e ID over a single environment.")


def _show(console: Console, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A table under its title."""
    table = plain_table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(title, style="bold")
    console.print()
    console.print(table)
    console.print()
