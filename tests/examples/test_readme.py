"""The README of the examples names every one of them, and every one of them has its tests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.examples.scripts import EXAMPLES


def test_every_example_is_named_and_tested() -> None:
    scripts = sorted(file.name for file in EXAMPLES.glob("*.py"))
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `python examples/(\w+\.py)`", text, re.MULTILINE)) == scripts
    assert scripts == sorted(file.name.removeprefix("test_") for file in Path(__file__).parent.glob("test_*_*.py"))
