"""docs/replay.md does what it says: its table is made, its commands run and print what stands below them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.typed import printed_json, run

PAGE = Path(__file__).parents[2] / "docs" / "replay.md"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page, in a folder where its file was made."""
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", found[1]], check=True, timeout=100)
    return page


def test_commands_print_what_the_page_shows(text: str) -> None:
    shown = re.findall(r"^```\n\$ turncoat (.*?)\n(.*?)\n```", text, re.DOTALL | re.MULTILINE)
    assert [words.split()[0] for words, _ in shown] == ["regret", "replay"]
    for words, output in shown:
        done = run(*words.split())
        assert done.exit_code == 0, done.output
        assert [line.rstrip() for line in done.stdout.splitlines()] == output.splitlines()


def test_every_key_of_the_objects_is_explained(text: str) -> None:
    explained = set(re.findall(r"`(\w+)`", text.split("## JSON")[1]))
    replayed = printed_json("replay", "latency.csv", "--drop", "minute,picked", "--seeds", "1", "--learner", "exp3")
    regretted = printed_json("regret", "latency.csv", "--drop", "minute", "--choice", "picked", "--path", "1")
    inner = [replayed["learners"][0], regretted["choice"], regretted["path"], regretted["path"]["segments"][0]]
    assert set().union(replayed, regretted, *inner) <= explained


def test_every_option_about_the_table_is_explained(text: str) -> None:
    for command in ("replay", "regret"):
        options = set(re.findall(r"^  (--[a-z-]+)", run(command, "--help").stdout, re.MULTILINE))
        assert options and not {option for option in options if f"`{option}" not in text}
