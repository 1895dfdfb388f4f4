"""Versions of the package that play beside the installed one: other constants, or the sources of another checkout.

A rule is a folder with a copy of the package in which some constants may be replaced. It plays in a process of its own,
with kernels of its own: constants stay constants of a module, which the compiler sees, and the installed package is the
same with and without this. What a rule has played is known by a hash of its sources.

    rule = rule_of(home, "ETA=1.5", SHIPPED, constants("ETA=1.5"))
    play_rule(rule, [(game, 0), (game, 1)], threads=1, done=print)
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import turncoat
from experiments.games import Game, fingerprint
from experiments.players import Player, anytime
from experiments.playing import title
from experiments.store import Line
from turncoat.errors import OptionError, TurncoatError, unknown

SHIPPED = Path(str(turncoat.__file__)).parent
ROOT = Path(__file__).parents[1]
NO_RULE = ("cli", "report", "service")  # they show and serve: another version of them is the same rule


class RuleError(TurncoatError):
    """A rule that does not play."""


class Rule(NamedTuple):
    """A folder that holds the package as `turncoat`, and what it is called in tables."""

    name: str
    folder: Path
    digest: str

    @property
    def player(self) -> Player:
        """What its results are known by."""
        return Player(self.name, anytime, f"Turncoat of sources {self.digest}", "a rule that is screened")


def constants(setting: str) -> dict[str, str]:
    """`ETA=1.5 WINDOWS=(64.0, math.inf)` by name; values are expressions of Python."""
    found = {}
    for part in re.split(r"[\s,;]+(?=[A-Z][A-Z0-9_]*=)", setting.strip()):
        name, equals, value = part.partition("=")
        try:
            ast.parse(value, mode="eval")
        except SyntaxError:
            equals = ""
        if not equals or not name.isidentifier():
            raise OptionError(f"{part!r} is no setting; accepted is NAME=VALUE, several of them with spaces between")
        found[name] = value
    return found


def assigned(node: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def replaced(source: str, values: Mapping[str, str]) -> str:
    """A module with other constants: each is assigned again, right after the line that assigns it."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        lines[node.end_lineno : node.end_lineno] = [
            f"{name} = {values[name]}" for name in assigned(node) & values.keys()
        ]
    return "\n".join(lines) + "\n"


def replace_in(package: Path, values: Mapping[str, str]) -> None:
    """Replace constants of Turncoat, each in the one module that assigns it."""
    sources = {file: file.read_text() for file in sorted((package / "learners" / "turncoat").glob("*.py"))}
    names = {file: {name for node in ast.parse(text).body for name in assigned(node)} for file, text in sources.items()}
    for name in values:
        holding = [file.name for file, found in names.items() if name in found]
        if not holding:
            raise unknown(
                "constant", name, sorted(word for found in names.values() for word in found if word.isupper())
            )
        if len(holding) > 1:
            raise OptionError(f"{name} is assigned in {' and '.join(holding)}; accepted are names of one module")
    for file, text in sources.items():
        file.write_text(replaced(text, {name: value for name, value in values.items() if name in names[file]}))


def digest_of(package: Path) -> str:
    """A hash of the sources that decide a result."""
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        words = file.relative_to(package)
        if words.parts[0] not in NO_RULE:
            digest.update(str(words).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def package_in(folder: Path) -> Path:
    """The package in a checkout, or in the folder that holds it."""
    for place in (folder / "src" / "turncoat", folder / "turncoat", folder):
        if (place / "learners" / "turncoat").is_dir():
            return place
    raise OptionError(f"{folder} has no src/turncoat; accepted is a checkout of the repository")


def rule_of(home: Path, name: str, package: Path, values: Mapping[str, str]) -> Rule:
    """Copy a package and replace constants. The copy is kept in `home`, under a hash of its sources."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as made:
        copy = Path(made) / "rule" / "turncoat"
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if values:
            replace_in(copy, values)
        rule = Rule(name, home.absolute() / digest_of(copy), digest_of(copy))
        if not rule.folder.exists():
            copy.parent.rename(rule.folder)
    return rule


def play_rule(rule: Rule, pieces: Iterable[tuple[Game, int]], threads: int, done: Callable[[Line], None]) -> None:
    """Play repetitions of games in a process of the rule's own. `done` is called with every result as it comes."""
    todo = {(game.name, rep): game for game, rep in pieces}
    paths = os.pathsep.join([str(rule.folder), str(ROOT)])
    own = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(rule.folder / "kernels"), "PYTHONWARNINGS": "ignore"}
    order = json.dumps([threads, [[game, rep] for (_, rep), game in todo.items()]])
    command = [sys.executable, "-m", "experiments.rule_process"]
    pipe, where = subprocess.PIPE, rule.folder
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=said, cwd=where, text=True, env=os.environ | own
        ) as process,
    ):
        assert process.stdin and process.stdout
        try:
            with process.stdin as asked:
                asked.write(order)
            for text in process.stdout:
                name, rep, regret, seconds, mark = json.loads(text)
                game = todo.pop((name, rep))
                if mark != fingerprint(game, rep, game.make(rep)):
                    raise RuleError(f"{rule.name} plays another game than this package under the name {name!r}")
                done(Line(rule.player.key, rule.name, title(game), game.horizon, rep, regret, seconds))
        except BaseException:
            process.kill()
            raise
        if process.wait() or todo:
            said.seek(0)
            last = (said.read().strip().splitlines() or ["it ended early"])[-1]
            raise RuleError(f"{rule.name} did not play: {last}")
