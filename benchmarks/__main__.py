"""`python -m benchmarks [names …] [--quick] [--json FILE]`: measure, print tables, then the targets."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmarks.results import Result, Table, Target, show, show_targets

NAMES = ["play", "ask_tell", "roster", "engine", "comparator", "start_up", "memory", "long_race", "coverage", "service"]
NAMES += ["callers", "large_log"]


def cpu() -> str:
    """The processor's name for itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine() -> dict[str, str]:
    """What the figures depend on."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    versions = {}
    for package in ("numpy", "numba", "turncoat", "pymab", "river"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "cpu": cpu(),
        "cores": str(os.cpu_count()),
        "load at the start": load,
        "python": platform.python_version(),
        **versions,
    }


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: what could not be measured is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(results: dict[str, Result], about: dict[str, str], quick: bool) -> str:
    """All of it, for programmes."""
    tables = [
        {"benchmark": name, **table._asdict(), "rows": [[plain(cell) for cell in row] for row in table.rows]}
        for name, result in results.items()
        for table in result.tables
    ]
    targets = [
        {"benchmark": name, **target._asdict(), "measured": plain(target.measured), "reached": target.reached}
        for name, result in results.items()
        for target in result.targets
    ]
    return json.dumps({"machine": about, "quick": quick, "tables": tables, "targets": targets}, indent=1)


def comparator(quick: bool) -> Result:
    """Cells per second of the exact comparator; the target is for losses on the first shape."""
    from benchmarks.comparator import SHAPES, TARGET, rows

    repeats = 1 if quick else 5
    found = rows(repeats)
    note = f"best of {repeats}; a cell is one arm at one number of switches in one round; checks of the table included"
    table = Table("comparator: cells per second", note, list(found[0]._fields), [list(row) for row in found])
    speed = found[0].cells_per_second
    promise = "comparator, {:,} rounds, {} arms, {} switches".format(*SHAPES[0])
    return Result([table], [Target(promise, speed, TARGET, False, "cells/s")])


def main() -> None:
    """Run what was asked for. Targets that are not reached are said, and are no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time Turncoat beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="small and rough: does everything run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to this file")
    words = parser.parse_args()
    if unknown := [name for name in words.names if name not in NAMES]:
        parser.error(f"{unknown[0]!r} is no benchmark; accepted are {', '.join(NAMES)}")
    about = machine()
    print("\n".join(f"{name:18}{value}" for name, value in about.items()))
    if words.quick:
        print("\n--quick: figures are rough")
    results: dict[str, Result] = {}
    for name in NAMES:
        if name in (words.names or NAMES):
            run = comparator if name == "comparator" else import_module(f"benchmarks.{name}").run
            results[name] = run(words.quick)
            print("", *(show(table) for table in results[name].tables), sep="\n", flush=True)
    print("", show_targets([target for result in results.values() for target in result.targets]), sep="\n")
    if words.json:
        words.json.write_text(as_json(results, about, words.quick) + "\n")


if __name__ == "__main__":
    main()
