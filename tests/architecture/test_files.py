"""What the files look like: short, named for what they hold, and free of anything about one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
VAGUE = {"utils", "util", "helpers", "helper", "core", "misc", "common"}

# Written in pieces, so that this file is not its own finding.
HOSTS = "|".join(["pypi" + r"\.org", "python" + "hosted", "--(extra-)?index" + "-url", "--find" + "-links"])
FOLDERS = r"(?<![\w.~}-])/(" + "|".join(["work", "root", "home", "Users", "opt"]) + ")/"
PRIVATE = re.compile(f"{HOSTS}|{FOLDERS}")


def sources() -> list[Path]:
    """Every Python file of ours."""
    tops = ("src", "tests", "benchmarks", "docs", "examples", "experiments")
    return [file for top in tops for file in sorted((ROOT / top).rglob("*.py"))]


def kept() -> list[Path]:
    """Every file that git keeps, or would keep if it were added now."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so nothing says which files are kept")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_source_file_is_longer_than_400_lines() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in sources()}
    assert not {name: n for name, n in lengths.items() if n > MAX_LINES}


def test_no_source_file_has_a_vague_name() -> None:
    assert not [str(file.relative_to(ROOT)) for file in sources() if file.stem.strip("_") in VAGUE]


def test_no_kept_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in kept()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    "line", ["--index" + "-url x", "https://pypi" + ".org/x", "see /ro" + "ot/x", '"/wo' + 'rk/y"']
)
def test_the_pattern_sees_what_it_should(line: str) -> None:
    assert PRIVATE.search(line)


@pytest.mark.parametrize("line", ["play/work/rest", "src/root/x", "https://example.org/home/", "a work/root/ratio"])
def test_the_pattern_leaves_ordinary_text_alone(line: str) -> None:
    assert not PRIVATE.search(line)
