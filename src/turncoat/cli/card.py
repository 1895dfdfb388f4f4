"""`turncoat list NAME`: everything there is to say of one learner, environment or suite."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from turncoat.cli.console import plain_table, screen
from turncoat.environments import SCENARIOS, SUITES
from turncoat.errors import unknown
from turncoat.learners import LEARNERS, SETTINGS, Learner
from turncoat.racing import ENTRIES, learner_of

USE, NOT = "use:", "not:"  # when to take a learner, and when to take another


def show_one(name: str) -> None:
    """Print the card of a learner, environment or suite. Learners also go by class and by names in races."""
    rows = _card(name)
    table = plain_table()
    table.show_header = False
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
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
    yield "regret", f"{facts.bound} (order of the bound, logs left out)"
    yield "cost", f"{facts.cost} (order of time a round)"
    yield USE, facts.when
    yield NOT, facts.when_not
    yield "options", "; ".join(_options(learner)) or "none of its own"
    yield "more", page_of(learner)


def _options(learner: type[Learner]) -> Iterator[str]:
    """The learner's own words with their defaults; arms, horizon, seed and loss_range all learners have."""
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
