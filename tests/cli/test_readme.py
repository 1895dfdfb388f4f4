"""The README does what it says: its example runs and prints what stands below it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from turncoat._compile.progress import TEXT

README = Path(__file__).parents[2] / "README.md"


def test_the_example_prints_what_the_readme_shows() -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert found
    code, shown = found.groups()
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert (ran.stdout, ran.stderr.replace(f"{TEXT}\n", "")) == (shown, "")


@pytest.mark.slow
def test_the_race_runs_too(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    ran = subprocess.run(
        [sys.executable, "-c", "".join(blocks)], capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path
    )
    assert (ran.returncode, ran.stderr.replace(f"{TEXT}\n", "")) == (0, "")
    assert "environment ┆ learner" in ran.stdout
    assert (tmp_path / "out" / "report.html").exists()


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_table_of_learners_names_six_of_them() -> None:
    from turncoat.learners import LEARNERS

    table = README.read_text(encoding="utf-8").split("## Learners")[1].split("##")[0]
    named = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert len(named) == 6 and set(named) <= {learner.__name__ for learner in LEARNERS.values()}


def test_the_figures_about_ada_iltcb_are_computed_as_shown() -> None:
    text = (README.parent / "docs" / "learners" / "ada-iltcb.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    snippet = re.search(r"  ```python\n(.*?)  ```", text, re.DOTALL)
    assert found and snippet
    instead = (
        re.sub(r"^  ", "", snippet[1], flags=re.MULTILINE) + "print(len(learners), decision.arm in ('red', 'blue'))"
    )
    for code, shown in ((found[1], found[2]), (instead, "1 True\n")):
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False)
        assert (ran.stdout, ran.stderr.replace(f"{TEXT}\n", "")) == (shown, "")
