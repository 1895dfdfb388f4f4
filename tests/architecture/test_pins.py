"""The requirement files: every pin is hashed, those for .venv agree, and nothing declared is missing from them."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SERVE = ["race", "serve", "client", "postgres"]
FILES = {  # the extras and the dependency groups in each
    "race": (["race"], ["build"]),
    "serve": (SERVE, ["build"]),
    "dev": (SERVE, ["build", "dev"]),
    "bench": (SERVE, ["build", "bench"]),
}
OLDEST = (SERVE, ["build", "test"])
APART = ["smpybandits"]  # pinned for an environment of their own, from a .in file
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==([^ ;]+)")


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


def declared(extras: list[str], groups: list[str]) -> list[str]:
    """What pyproject.toml asks for: the package's own needs, those of the extras, and those of the groups."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = list(project["project"]["dependencies"])
    for extra in extras:
        found += project["project"]["optional-dependencies"][extra]
    waiting = list(groups)
    while waiting:
        for one in project["dependency-groups"][waiting.pop()]:
            if isinstance(one, str):
                found.append(one)
            else:
                waiting.append(one["include-group"])
    return found


def installed(name: str) -> bool:
    """Is this package here? Some are for another Python or another system."""
    return any(True for _ in Distribution.discover(name=name))


def package(requirement: str) -> str:
    """The name of the package that a requirement is about."""
    return re.split(r"[<>=!~ \[;]", requirement)[0]


@pytest.mark.parametrize("name", [*FILES, "oldest", *APART])
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


@pytest.mark.parametrize("name", [*FILES, "oldest"])
def test_everything_declared_is_pinned(name: str) -> None:
    assert not {package(one) for one in declared(*FILES.get(name, OLDEST))} - pins(name).keys()


def test_pins_carry_the_extras_that_packages_ask_for() -> None:
    """pip refused `coverage==7.17.2` on the day 7.17.3 came out: pytest-cov asks for `coverage[toml]`."""
    written = "\n".join(blocks("dev"))
    asked = [Requirement(one) for name in pins("dev") if installed(name) for one in requires(name) or []]
    extras = {
        f"{one.name.lower()}[{','.join(sorted(one.extras))}]=="
        for one in asked
        if one.extras and (one.marker is None or one.marker.evaluate({"extra": ""}))
    }
    assert extras
    assert not [pin for pin in extras if pin not in written]


def test_oldest_holds_the_lowest_version_that_is_declared() -> None:
    oldest = pins("oldest")
    for requirement in declared(SERVE, ["build"]):
        lowest = requirement.partition(">=")[2].partition(",")[0].partition(";")[0].strip()
        assert lowest and all(f"{pin}.".startswith(f"{lowest}.") for pin in oldest[package(requirement)]), requirement


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
