"""docs/explain.md does what it says: its snippets run one after the other and print what stands below them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from turncoat.learners.turncoat.explain import Explanation
from turncoat.learners.turncoat.observers.history import ENOUGH, HASTY

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
TEXT = PAGE.read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.DOTALL)


def test_snippets_print_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SNIPPETS) == TEXT.count("```python") == 4
    names: dict[str, Any] = {"__name__": "page"}
    for code, shown in SNIPPETS:
        exec(compile(code, str(PAGE), "exec"), names)
        assert capsys.readouterr() == (shown, "")


def test_every_part_of_an_explanation_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", TEXT))
    assert {field.name for field in fields(Explanation)} <= explained


def test_the_vote_is_as_the_page_says() -> None:
    flat = " ".join(TEXT.split())
    assert f"leads all others together by {ENOUGH:.0f} votes" in flat and f"after about {2 * ENOUGH:.0f} rounds" in flat
    assert f"began to shrink within {HASTY:.0f} rounds" in flat
