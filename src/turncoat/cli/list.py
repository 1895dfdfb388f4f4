"""`turncoat list`: all learners by what they are for, environments and suites; with a NAME, one of them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column

from turncoat.cli.console import plain_table, screen, text
from turncoat.environments import SCENARIOS, SUITES
from turncoat.errors import unknown
from turncoat.learners import LEARNERS, SETTINGS, Learner
from turncoat.learners.entries import ENTRIES, learner_of

GAP = "  "
HEADS = ("learner", "T", "S", "regret", "cost")


def show_all() -> None:
    """Print every learner, with when to use it and when not, and one line per scenario and suite."""
    console = screen()
    console.print("Learners", style="bold")
    _learners(console)
    console.print("K arms, T rounds, S switches of the path to compare with; H, about ln T, the number of bases.")
    console.print("regret: order of the bound without logs. cost: order of time per round, H log K if shared.")
    console.print(f"Names in race and replay: {'; '.join(ENTRIES)}.")
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
    """One block per setting; three lines per learner: its facts, when to use it, when not."""
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
            for sign, advice in ((USE, facts[name].when), (NOT, facts[name].when_not)):
                console.print(_indented(sign, advice, console.width), style="dim")
    console.print()


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The cells in columns of these widths."""
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return GAP.join(padded).rstrip()


def _indented(sign: str, advice: str, width: int) -> str:
    """A sentence below its learner, on as many lines as it takes."""
    first, later = f"  {sign} ", " " * (3 + len(sign))
    return textwrap.fill(advice, max(width, 40), initial_indent=first, subsequent_indent=later, break_on_hyphens=False)


def _show(console: Console, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A table under its title."""
    table = plain_table(*map(text, columns))
    for row in rows:
        table.add_row(*row)
    console.print(title, style="bold")
    console.print()
    console.print(table)
    console.print()


USE, NOT = "use:", "not:"  # when to take a learner, and when to take another


def show_one(name: str) -> None:
    """Print what is known of a learner, environment or suite. Learners also go by class and by names in races."""
    table = plain_table(Column(no_wrap=True), text(""))
    table.show_header = False
    for row in _card(name):
        table.add_row(*row)
    screen().print(table)


def _card(name: str) -> list[tuple[str, str]]:
    by_class = {learner.__name__: learner for learner in LEARNERS.values()}
    by_entry = {entry: learner_of(maker) for entry, maker in ENTRIES.items()}
    learner = LEARNERS.get(name) or by_class.get(name) or by_entry.get(name)
    if learner is not None:
        return list(_of_learner(learner))
    if name in SCENARIOS:
        return list(_of_scenario(name))
    if name in SUITES:
        return list(_of_suite(name))
    raise unknown("learner, environment or suite", name, [*LEARNERS, *SCENARIOS, *SUITES])


def _of_learner(learner: type[Learner]) -> Iterator[tuple[str, str]]:
    """What a user compares it by, how it is made, and where more stands."""
    facts = learner.facts
    entries = [name for name, maker in ENTRIES.items() if learner_of(maker) is learner]
    yield learner.name, (inspect.getdoc(learner) or "").partition("\n")[0]
    yield "in Python", f"tc.{learner.__name__}"
    yield "in races", "; ".join(entries) or "–"
    yield "setting", f"{facts.setting}: {SETTINGS.get(facts.setting, '')}"
    yield "T, the horizon", facts.horizon
    yield "S, the switches", facts.switches
    yield "regret", f"{facts.bound} (order of the bound without logs)"
    yield "cost", f"{facts.cost} (order of time per round)"
    yield USE, facts.when
    yield NOT, facts.when_not
    yield "options", "; ".join(_options(learner)) or "none of its own"
    yield "more", page_of(learner)


def _options(learner: type[Learner]) -> Iterator[str]:
    """The learner's own options with their defaults; arms, horizon, seed and loss_range are common to all."""
    known = inspect.signature(learner).parameters
    for word in learner.options:
        if word in known:
            yield f"{word}={known[word].default!r}"


def page_of(learner: type[Learner]) -> str:
    """The page about a learner, named after its file, or after the folder of its files."""
    return f"docs/learners/{learner.__module__.removesuffix('.learner').rpartition('.')[2].replace('_', '-')}.md"


def _of_scenario(name: str) -> Iterator[tuple[str, str]]:
    yield name, SCENARIOS[name].description
    yield "suites", ", ".join(suite for suite, ids in SUITES.items() if name in ids)
    yield "race in it", f"turncoat race -e {name}"
    yield "more", "docs/environments.md"


def _of_suite(name: str) -> Iterator[tuple[str, str]]:
    yield name, f"{len(SUITES[name])} environments"
    for id_ in SUITES[name]:
        yield id_, SCENARIOS[id_].description
    yield "race over it", f"turncoat race --suite {name}"
