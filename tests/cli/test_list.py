"""`turncoat list`, and the page "Which learner?": both say what learners state about themselves."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.cases import compiles_nothing
from tests.cli.typed import refusal, run
from tests.examples.scripts import opened, tables
from turncoat.cli.list import page_of
from turncoat.environments import SCENARIOS, SUITES
from turncoat.learners import LEARNERS, SETTINGS, Learner, SwitchingLinear
from turncoat.learners.entries import ENTRIES, learner_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "learners" / "README.md"
WIDTH = 80

pytestmark = compiles_nothing

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


# -- what learners say of themselves ------------------------------------------------------------------------------


@every_learner
def test_a_learner_says_what_it_is_for_and_what_else_to_take(learner: type[Learner]) -> None:
    facts = learner.facts
    assert facts.setting in SETTINGS
    assert all(facts) and max(len(facts.when), len(facts.when_not)) <= 90
    others = [name for name in LEARNERS if name != learner.name]
    assert any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", facts.when_not) for name in others)


def test_the_learner_behind_an_entry() -> None:
    assert {learner_of(maker) for maker in ENTRIES.values()} == {*LEARNERS.values()} - {SwitchingLinear}  # of points
    assert learner_of(lambda arms, horizon, seed: None) is None


# -- turncoat list ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [WIDTH, 200])
def test_list_names_everything(columns: int) -> None:
    done = run("list", columns=columns)
    assert done.exit_code == 0
    for name in (*LEARNERS, *SCENARIOS, *SUITES):
        assert re.search(rf"^ *{re.escape(name)} ", done.output, flags=re.MULTILINE)
    words = " ".join(done.output.split())
    known = words.partition("Names in race and replay: ")[2]
    assert known.partition(". ")[0].split("; ") == list(ENTRIES)
    for learner in LEARNERS.values():
        assert f"use: {learner.facts.when} not: {learner.facts.when_not} " in words
    assert "…" not in done.output
    assert max(map(len, done.output.splitlines())) <= columns


def test_learners_stand_under_their_setting_on_one_line_each() -> None:
    lines = run("list", columns=WIDTH).output.partition("\nEnvironments")[0].splitlines()
    setting, found = "", {}
    for line in lines:
        if (head := line.partition(":")[0]) in SETTINGS:
            setting = head
        elif (name := line.partition(" ")[0]) in LEARNERS and line.startswith(f"{name} "):
            found[name] = (setting, *re.split(r" {2,}", line)[1:])
    facts = {name: learner.facts for name, learner in LEARNERS.items()}
    assert found == {name: (one.setting, *one[:4]) for name, one in facts.items()}


@every_learner
def test_the_card_of_a_learner_has_everything(learner: type[Learner]) -> None:
    done = run("list", learner.name, columns=WIDTH)
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    for word in (*learner.facts, f"tc.{learner.__name__}", page_of(learner)):
        assert word in words
    for name, maker in ENTRIES.items():
        assert learner_of(maker) is not learner or name in words
    for word, parameter in inspect.signature(learner).parameters.items():
        if word not in ("arms", "dimension", "horizon", "seed", "loss_range"):
            assert f"{word}={parameter.default!r}" in words
    assert max(map(len, done.output.splitlines())) <= WIDTH


def test_a_card_by_class_and_by_entry_and_those_of_games() -> None:
    card = run("list", "clipped-omd").output
    assert run("list", "ClippedOMD").output == run("list", "clipped-omd, told S").output == card
    game = run("list", "flip/3").output
    assert "turncoat race -e flip/3" in game and "quick, arena" in game
    suite = run("list", "quick").output
    assert all(name in suite for name in SUITES["quick"]) and "turncoat race --suite quick" in suite
    assert "near it is 'clipped-omd'" in refusal("list", "cliped-omd")


# -- the page -----------------------------------------------------------------------------------------------------


@every_learner
def test_every_learner_has_a_page_that_shows_how_to_make_it(learner: type[Learner]) -> None:
    page = (ROOT / page_of(learner)).read_text(encoding="utf-8")
    assert page.startswith("# ") and f"tc.{learner.__name__}(" in page
    assert "**Use it**" in page and "**Do not use it**" in page and "**Guarantee**" in page.replace("e.**", "e**")


def test_the_tables_of_the_page_are_what_learners_say() -> None:
    """Cell by cell. When this fails: make generated"""
    text = PAGE.read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n### ")[1:]:
        (rows,) = tables(part)
        for row in rows:
            first, *rest = row.values()
            found[first] = (part.partition("\n")[0].lower(), *rest)
    wanted = {
        f"[`{one.__name__}`]({Path(page_of(one)).name})": (one.facts.setting, *one.facts[:4], *one.facts[5:])
        for one in LEARNERS.values()
    }
    assert found == wanted
    script = opened("../docs/learners/tables.py")
    assert script.page(text) == text
    assert script.page(text.replace("| needed |", "| lost |")) == text


def test_the_guide_of_the_page_names_learners_that_can_be_made_so() -> None:
    import turncoat as tc

    (guide, *_) = tables(PAGE.read_text(encoding="utf-8"))
    taken = [row["take"].strip("`") for row in guide]
    assert len(taken) >= 5
    for line in taken:
        learner = eval(line, {"tc": tc, "arms": 3, "dimension": 3, "horizon": 1000, "S": 2})
        assert isinstance(learner, Learner)


def test_links_of_the_page_lead_somewhere() -> None:
    for page in (PAGE, *PAGE.parent.glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
