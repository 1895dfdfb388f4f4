"""The manifest of a race folder: what was raced, with which versions, on what machine, and the key of each result."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from turncoat._version import __version__
from turncoat.errors import RaceError
from turncoat.racing.coordinates import CellAt, Facts, GroundAt, Names
from turncoat.racing.plan import Plan

MANIFEST = "manifest.json"
FORMAT = 1


def cell_file(folder: Path, key: str) -> Path:
    """Where the cell of this key is kept."""
    return folder / "cells" / f"{key}.npz"


def ground_file(folder: Path, key: str) -> Path:
    """Where the ground of this key is kept."""
    return folder / "grounds" / f"{key}.npz"


class Manifest(NamedTuple):
    """What a manifest says, as far as reading results goes."""

    names: Names
    about: dict[str, str]
    cells: dict[CellAt, str]
    grounds: dict[GroundAt, str]


def manifest_text(plan: Plan, cells: dict[CellAt, str], grounds: dict[GroundAt, str]) -> str:
    """The manifest of a race as JSON."""
    content = {
        "format": FORMAT,
        "about": about(plan),
        "source": plan.source,
        "race": {**plan.names()._asdict(), "seed": plan.seed, "max_switches": plan.max_switches},
        "checkpoints": [t.tolist() for t in plan.checkpoints.values()],
        "cells": [[*at, key] for at, key in cells.items()],
        "grounds": [[*at, key] for at, key in grounds.items()],
    }
    return json.dumps({**content, "sha256": _checksum(content)}, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder that a race was saved in."""
    file = folder / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RaceError(f"{str(folder)!r} holds no race: accepted is a folder with a {MANIFEST}") from None
    except (OSError, ValueError) as problem:
        raise _damaged(file, str(problem)) from problem
    if _is_foreign(content):
        raise _foreign(file)
    if not isinstance(content, dict) or content.pop("sha256") != _checksum(content):
        raise _damaged(file, "its checksum does not fit")
    if content["format"] > FORMAT:
        raise RaceError(f"{str(file)!r} has format {content['format']}; this version reads formats up to {FORMAT}")
    race = content["race"]
    environments = {name: Facts(*facts) for name, facts in race["environments"].items()}
    settings = race.get("settings", {})  # which the first races did not write
    names = Names(race["learners"], environments, race["seeds"], race["horizons"], settings)
    cells = {CellAt(*at): key for *at, key in content["cells"]}
    return Manifest(names, content["about"], cells, {GroundAt(*at): key for *at, key in content["grounds"]})


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder whose manifest.json is somebody else's and whole: writing a race there would destroy it."""
    file = folder / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # there is none, or it is damaged: then a race writes it anew
        return
    if _is_foreign(content):
        raise _foreign(file)


def _is_foreign(content: Any) -> bool:
    """Is it whole, and yet no manifest of ours?"""
    return isinstance(content, dict) and "sha256" not in content


def _foreign(file: Path) -> RaceError:
    return RaceError(f"{str(file)!r} was not written by a race; accepted is one that was, or none")


def _damaged(file: Path, why: str) -> RaceError:
    return RaceError(f"{str(file)!r} is damaged ({why}); race again with the same folder to mend it")


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def about(plan: Plan) -> dict[str, str]:
    """What the bytes of a result depend on besides the plan: versions, machine, seed."""
    versions = {"turncoat": __version__, "python": platform.python_version(), "libc": "-".join(platform.libc_ver())}
    for package in ("numpy", "numba", "llvmlite"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    return {**versions, "machine": machine, "seed": str(plan.seed)}
