"""Keys of what users write themselves: an edited class is another one, wherever it was written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.racing.makers import FollowTheLeader
from turncoat.environments import Stationary
from turncoat.errors import OptionError
from turncoat.racing.result_keys import class_hash, environment_parts, learner_parts

BASE = """
ARM = 0

class Base:
    def __init__(self, arms, horizon=None, *, seed=None):
        self.arms = arms

    def ask(self):
        return ARM

    def tell(self, arm, loss):
        pass
"""
SUB = "from own_base import Base\n\nclass Sub(Base):\n    pass\n"
RACE = """
import turncoat as tc
result = tc.race({{"mine": {name}}}, ["flip/3"], 50, seeds=1, folder="race", on_progress=lambda now: print("played"))
print(result.shares.filter(result.shares["share"] == 1.0)["arm"].unique().item())
"""


def said(folder: Path, script: str) -> list[str]:
    """What a script prints that comes through a pipe, as what is typed in does: it has no file."""
    words = [sys.executable, "-W", "ignore", "-"]
    done = subprocess.run(words, input=script, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_class_that_was_typed_in_and_edited_is_another_one(tmp_path: Path) -> None:
    """It has no file, and what was in the folder passed for the results of every later version of it."""
    race = RACE.format(name="Base")
    assert said(tmp_path, BASE + race) == ["played", "0"]
    assert said(tmp_path, BASE + race) == ["0"]
    assert said(tmp_path, BASE.replace("return ARM", "return ARM + 1") + race) == ["played", "1"]
    assert said(tmp_path, BASE.replace("ARM = 0", "ARM = 2") + race) == ["played", "2"]


def test_a_class_whose_parent_was_edited_is_another_one(tmp_path: Path) -> None:
    """Only the file of the class itself counted, and its parent may do all the work."""
    (tmp_path / "own_base.py").write_text(BASE)
    (tmp_path / "own_sub.py").write_text(SUB)
    race = "from own_sub import Sub\n" + RACE.format(name="Sub")
    assert said(tmp_path, race) == ["played", "0"]
    assert said(tmp_path, race) == ["0"]
    (tmp_path / "own_base.py").write_text(BASE.replace("ARM = 0", "ARM = 1"))
    assert said(tmp_path, race) == ["played", "1"]


def typed_in(module: str, text: str) -> type:
    """The class Mine of a module that has no file."""
    space = sys.modules.setdefault(module, type(sys)(module)).__dict__
    exec(text, space)
    kind: type = space["Mine"]
    return kind


@pytest.mark.parametrize(
    "change",
    [
        ("rate = 1", "rate = 2"),
        ("seed=None", "seed=7"),
        ("x + 1", "x + 2"),
        ("return 3", "return 4"),
        ("return 5", "return 6"),
        ("{1, 2}", "{1, 3}"),
        ("y * y", "y * y * y"),
    ],
    ids=" → ".join,
)
def test_whatever_is_edited_shows(change: tuple[str, str]) -> None:
    text = """
def outside(y):
    return y * y
class Mine:
    rate = 1
    def __init__(self, *, seed=None):
        self.seed = seed in {1, 2}
    def inner(self):
        return lambda x: x + 1
    @property
    def three(self):
        return 3
    @staticmethod
    def five():
        return 5
"""
    assert change[0] in text
    before = class_hash(typed_in("typed_in_for_a_test", text))
    assert before == class_hash(typed_in("typed_in_for_a_test", text + "result = [1, 2]\n")) != ""
    assert before != class_hash(typed_in("typed_in_for_a_test", text.replace(*change)))


def test_ours_are_known_by_the_hash_of_the_package() -> None:
    assert class_hash(tc.Exp3) == class_hash(Stationary) == "" != class_hash(FollowTheLeader)


class Odd(FollowTheLeader):
    """Its state() is not what ours is."""

    def state(self, what: Any = None) -> Any:
        return {"sums": np.zeros(2)} if what is None else what


class Odder(Odd):
    """Its state() cannot even be called."""

    def state(self, what: Any) -> Any:  # type: ignore[override]
        return what


@pytest.mark.parametrize("kind", [Odd, Odder])
def test_a_state_that_is_not_plain_is_not_taken_for_one(kind: type) -> None:
    """json's TypeError once ended such a race."""
    one, other = kind(2, seed=1), kind(2, seed=2)
    assert learner_parts("odd", one) == learner_parts("odd", kind(2, seed=1)) != learner_parts("odd", other)
    one.sums = lambda: 0
    with pytest.raises(OptionError, match="the results of 'odd' cannot be stored"):
        learner_parts("odd", one)


def test_fields_that_are_not_plain_are_named() -> None:
    class Mine(Stationary):
        def fields(self) -> dict[str, Any]:
            return {**super().fields(), "weights": np.ones(2)}

    with pytest.raises(OptionError, match=r"the field 'weights' of <Mine: 3 arms.*accepted are plain JSON"):
        environment_parts(Mine(3, 50))
