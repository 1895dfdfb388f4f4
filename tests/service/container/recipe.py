"""The container recipe, read; and run step by step in a folder that stands for the image, where no builder works."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
IN_IMAGE = re.compile(r"(?<![\w.~-])/(?=(?:usr|var)/)")  # where a folder of the image is named
OWNER = re.compile(r" -o \d+ -g \d+")


class Step(NamedTuple):
    """One instruction of the recipe."""

    name: str
    words: str


def steps(text: str) -> list[Step]:
    """The instructions in their order: comments are gone, continued lines are one."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [Step(*re.split(r"\s+", line.strip(), maxsplit=1)) for line in joined.splitlines()]


def only(recipe: list[Step], name: str) -> str:
    """The words of the instruction that occurs once."""
    (found,) = [step.words for step in recipe if step.name == name]
    return found


def health_check(recipe: list[Step]) -> list[str]:
    """The command of HEALTHCHECK."""
    command: list[str] = json.loads(only(recipe, "HEALTHCHECK").partition("CMD ")[2])
    return command


def start(recipe: list[Step]) -> list[str]:
    """The command that the container runs."""
    words: list[str] = json.loads(only(recipe, "ENTRYPOINT")) + json.loads(only(recipe, "CMD"))
    return words


def is_ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore leaves a file out of what is copied: the last pattern that fits decides."""
    parts = path.split("/")
    starts = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    ignored = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        tried = parts if wanted.startswith("**/") else starts
        if any(fnmatchcase(one, wanted.removeprefix("**/")) for one in tried):
            ignored = not pattern.startswith("!")
    return ignored


def ignore_patterns() -> list[str]:
    """The patterns of .dockerignore."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


class Image:
    """A folder that stands for the image. Folders of the image in commands and variables become folders in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.workdir = folder
        base = folder / "base"  # the base image's Python is this one
        base.mkdir(parents=True)
        (base / "python").symlink_to(Path(sys.executable).resolve())
        kept = ("PYTHON", "VIRTUAL_ENV", "NUMBA", "TURNCOAT")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(kept)}
        self.environment["PATH"] = f"{base}:{self.environment['PATH']}"

    def here(self, text: str) -> str:
        """The text with folders of the image where they are here."""
        return IN_IMAGE.sub(f"{self.root}/", text)

    def carry_out(self, step: Step) -> subprocess.CompletedProcess[str] | None:
        """Do what the step says, as far as it can be done here; what a RUN gave."""
        if step.name == "WORKDIR":
            self.workdir = Path(self.here(step.words))
            self.workdir.mkdir(parents=True, exist_ok=True)
        elif step.name == "ENV":
            for word in shlex.split(self.here(step.words)):
                name, _, value = word.partition("=")
                self.environment[name] = value.replace("$PATH", self.environment["PATH"])
        elif step.name == "COPY":
            self._copy(*step.words.split())
        elif step.name == "RUN":
            words = step.words if os.geteuid() == 0 else OWNER.sub("", step.words)
            return self.run(["sh", "-e", "-c", self.here(words)])
        return None

    def run(self, command: list[str], environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the image's working folder, with its variables."""
        return subprocess.run(
            command, cwd=self.workdir, env={**self.environment, **(environment or {})},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def _copy(self, *words: str) -> None:
        *sources, target = words
        patterns = ignore_patterns()
        for source in sources:
            start = ROOT / source
            for file in sorted(start.rglob("*")) if start.is_dir() else [start]:
                if file.is_dir() or is_ignored(str(file.relative_to(ROOT)), patterns):
                    continue
                to = self.workdir / target / (file.relative_to(start) if start.is_dir() else file.name)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)
