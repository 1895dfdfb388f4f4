"""The learners that the package exports, from the classes in its source: `make generated` writes them.

    python -m tests.architecture.exports

A learner is a class in src/turncoat/learners with a `name` and `facts`. Written are src/turncoat/learners/__init__.py,
whole, and the names in src/turncoat/__init__.py, which imports them when they are first used. The sources are parsed
and not imported: a list that is out of date cannot hide a new learner.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
ROOT = SOURCE / "turncoat" / "__init__.py"
LEARNERS = SOURCE / "turncoat" / "learners" / "__init__.py"

TEMPLATE = '''"""Learners, one file each: bandit algorithms, masters over them, and learners with full information.

Generated from the classes by `make generated`. The names in `__all__` are exported by `turncoat` too.
"""

from __future__ import annotations

{imports}

# isort: split
from turncoat.learners.registry import LEARNERS as LEARNERS
from turncoat.learners.registry import restore  # when all learners are known

__all__ = [
{names}
]
'''
BESIDE = """
from turncoat._compile.dispatch import register_learner as register_learner
from turncoat._compile.jit import jit_rule as jit_rule
from turncoat._compile.state import State as State
from turncoat._compile.state import array as array
from turncoat._compile.state import computed as computed
from turncoat.learners.base.declarations import SETTINGS as SETTINGS
from turncoat.learners.base.declarations import Facts as Facts
from turncoat.learners.base.declarations import Option as Option
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.linear import LinearLearner as LinearLearner
"""


def learners() -> Iterator[tuple[str, str]]:
    """(module, class) of every learner."""
    for file in LEARNERS.parent.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            body = node.body if isinstance(node, ast.ClassDef) else []
            assigned = {ast.unparse(one.targets[0]) for one in body if isinstance(one, ast.Assign)}
            if isinstance(node, ast.ClassDef) and {"name", "facts"} <= assigned:
                yield ".".join(file.relative_to(SOURCE).with_suffix("").parts), node.name


def exports() -> list[str]:
    """What `turncoat.learners` exports, and `turncoat` with it."""
    return sorted([*(name for _, name in learners()), "FullInformationLearner", "Learner", "restore"])


def package() -> str:
    """src/turncoat/learners/__init__.py as it should be."""
    imports = [f"from {module} import {name}" for module, name in learners()] + BESIDE.split("\n")[1:-1]
    names = "\n".join(f'    "{name}",' for name in exports())
    by_module = sorted(imports, key=lambda line: line.split()[1])  # a stable sort: names as they are given
    return TEMPLATE.format(imports="\n".join(by_module), names=names)


def root(text: str) -> str:
    """src/turncoat/__init__.py with the learners' names as they should be."""
    names = textwrap.fill(" ".join(exports()), 120)
    return re.sub(r'(_LEARNERS = """)[^"]*(""")', lambda found: f"{found[1]}\n{names}\n{found[2]}", text)


if __name__ == "__main__":
    LEARNERS.write_text(package(), encoding="utf-8")
    ROOT.write_text(root(ROOT.read_text(encoding="utf-8")), encoding="utf-8")
