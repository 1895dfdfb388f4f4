"""The examples, run as a user runs them, or opened to look inside."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import turncoat as tc
from turncoat._compile.progress import TEXT

PACKAGE_HOME = str(Path(tc.__file__).parents[1])  # the package under test, wherever the example is run
EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(script: str, *words: str, folder: Path) -> str:
    """What an example prints when it is run in a folder. It must end well and without complaint."""
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE_HOME, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )
    assert (ran.returncode, ran.stderr.replace(f"{TEXT}\n", "")) == (0, "")
    return ran.stdout


def opened(script: str) -> ModuleType:
    """An example as a module: what it defines, without running it."""
    path = EXAMPLES / script
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # pickle looks classes up there
    spec.loader.exec_module(module)
    return module


def tables(text: str) -> list[list[dict[str, str]]]:
    """The Markdown tables in a text: the rows of each, by the names of its columns."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[dict(zip(rows[0], row, strict=True)) for row in rows[2:]] for rows in found if rows]
