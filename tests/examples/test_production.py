"""docs/production.md does what it says: each snippet runs by itself and prints what stands below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "production.md"
SNIPPETS = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_has_its_snippets() -> None:
    assert len(SNIPPETS) == 10
    for word in ("forget", "state()", "allowed", "add_arm", "explain()", "adaptive", "observe"):
        assert any(word in code for code, _ in SNIPPETS), word


@pytest.mark.parametrize(("code", "shown"), SNIPPETS)
def test_snippets_print_what_the_page_shows(code: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, str(PAGE), "exec"), {"__name__": "snippet"})
    assert capsys.readouterr() == (shown, "")
