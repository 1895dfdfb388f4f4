"""`turncoat list`: learners by what they are for, from the facts each states about itself; environments and suites."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console

from turncoat.cli.card import NOT, USE
from turncoat.cli.console import plain_table, screen
from turncoat.environments import SCENARIOS, SUITES
from turncoat.learners import LEARNERS, SETTINGS
from turncoat.racing import ENTRIES

GAP = "  "
HEADS = ("learner", "T", "S", "regret", "cost")


def show_all() -> None:
    """Print every learner with when to use it and when not, and one line a scenario and a suite."""
    console = screen()
    console.print("Learners", style="bold")
    _learners(console)
    console.print("K arms, T rounds, S switches of the path to compare with; H, about ln T, the number of bases.")
    console.print("regret: order of the bound, logs left out. cost: order of time a round; H log K for shared masters.")
    console.print(f"As race and replay know them: {'; '.join(ENTRIES)}.")
    console.print("shared: every base learns from every round. told S: knows how many switches were planted.")
    console.print("sees all: is told the losses of all arms (full information), others that of their own arm.")
    console.print("One of them with its options, or one environment or suite: turncoat list NAME")
    console.print()
    described = ((name, one.description) for name, one in SCENARIOS.items())
    _show(console, "Environments", ("id", "what happens"), described)
    console.print("Each for any horizon and seed. Exactly what happens: docs/environments.md.")
    console.print()
    everywhere = len(SCENARIOS)
    sets = ((name, "all of them" if len(ids) == everywhere else ", ".join(ids)) for name, ids in SUITES.items())
    _show(console, "Suites", ("suite", "environments"), sets)
    console.print("turncoat race --suite NAME races over one; turncoat race -e ID over a single environment.")


def _learners(console: Console) -> None:
    """A block for each setting; three lines a learner: its facts, when to use it, when not."""
    facts = {name: learner.facts for name, learner in LEARNERS.items()}
    for setting, words in SETTINGS.items():
        here = {name: (name, *one[:4]) for name, one in facts.items() if one.setting == setting}
        if not here:
            continue
        widths = [max(map(cell_len, column)) for column in zip(HEADS, *here.values(), strict=True)]
        console.print()
        console.print(f"{setting}: {words}", style="bold")
        console.print(_row(HEADS, widths), style="dim")
        for name, line in here.items():
            console.print(_row(line, widths))
            for sign, text in ((USE, facts[name].when), (NOT, facts[name].when_not)):
                console.print(_indented(sign, text, console.width), style="dim")
    console.print()


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The cells in columns of these widths."""
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return GAP.join(padded).rstrip()


def _indented(sign: str, text: str, width: int) -> str:
    """A sentence below its learner, on as many lines as it takes."""
    indent = " " * (3 + len(sign))
    return textwrap.fill(
        text, max(width, 40), initial_indent=f"  {sign} ", subsequent_indent=indent, break_on_hyphens=False
    )


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
