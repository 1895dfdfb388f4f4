"""The requirement files: every pin is hashed, those for .venv agree, and nothing declared is missing from them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVE = ["race", "serve", "client", "postgres"]
FILES = {  # the extras and the dependency groups in each
    "race": (["race"], ["build"]),
    "serve": (SERVE, ["build"]),
    "dev": (SERVE, ["build", "dev"]),
    "bench": (SERVE, ["build", "bench"]),
}
APART = ["smpybandits"]  # pinned for an environment of their own, from a .in file
PIN = re.compile(r"^([a-z0-9-]+)==([^ ;]+)")


def blocks(name: str) -> list[str]:
    """The requirements of a file, each with its continuation lines."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


def pins(name: str) -> dict[str, set[str]]:
    """Package to its versions (more than one where they depend on the Python)."""
    found: dict[str, set[str]] = {}
    for block in blocks(name):
        if match := PIN.match(block):
            found.setdefault(match[1], set()).add(match[2])
    return found


@pytest.mark.parametrize("name", [*FILES, *APART])
def test_every_line_is_a_hashed_pin(name: str) -> None:
    assert blocks(name)
    assert not [block[:60] for block in blocks(name) if not PIN.match(block) or "--hash=sha256:" not in block]


@pytest.mark.parametrize(
    ("name", "inside"), [("race", "serve"), ("serve", "dev"), ("serve", "bench")], ids=lambda name: name
)
def test_all_fit_into_one_environment(name: str, inside: str) -> None:
    outer = pins(inside)
    assert {package: outer.get(package) for package in pins(name)} == pins(name)


def test_dev_and_bench_agree() -> None:
    dev, bench = pins("dev"), pins("bench")
    assert {package: dev[package] for package in dev.keys() & bench} == {p: bench[p] for p in dev.keys() & bench}


@pytest.mark.parametrize("name", FILES)
def test_everything_declared_is_pinned(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = FILES[name]
    declared = list(project["project"]["dependencies"])
    for extra in extras:
        declared += project["project"]["optional-dependencies"][extra]
    for group in groups:
        declared += project["dependency-groups"][group]
    assert not {re.split(r"[<>=!~ \[;]", one)[0] for one in declared} - pins(name).keys()


@pytest.mark.parametrize("name", APART)
def test_everything_in_a_file_of_its_own_is_pinned_as_it_says(name: str) -> None:
    lines = [
        line.partition("#")[0].split("==") for line in (ROOT / "requirements" / f"{name}.in").read_text().splitlines()
    ]
    declared = {package.strip().lower(): version for package, *version in lines if package.strip()}
    assert declared.keys() <= pins(name).keys()
    for package, version in declared.items():
        wanted = "".join(version).strip().removesuffix("*")
        assert all(pin.startswith(wanted) for pin in pins(name)[package])
