"""An environment of a user's own, in a module or typed in: an edited one is new."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OWN = """
from typing import NamedTuple
import turncoat as tc
from turncoat._jit import jit_rule, register_environment

class ConstantGame(NamedTuple):
    unused: int

@jit_rule
def loss_of(game, t, arm):
    return 0.25

register_environment(ConstantGame, loss_of=loss_of)

class Constant:
    n_arms, horizon, game = 1, 1, ConstantGame(0)
"""
PLAY = """
try:
    print(tc.play(tc.Uniform(1), Constant()).tolist())
except tc.TurncoatError:
    print("refused")
"""


def printed(folder: Path, code: str) -> str:
    """What a fresh Python prints that runs the code in a folder."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_an_edited_kernel_is_compiled_anew(tmp_path: Path) -> None:
    """numba's cache looks at the file of the loop, not of the kernel in it: a second process was given the old loss."""
    module = tmp_path / "own_games.py"
    for loss, said in (("0.25", "[0]"), ("1.5", "refused")):
        module.write_text(OWN.replace("0.25", loss))
        assert printed(tmp_path, f"from own_games import *{PLAY}") == said


def test_a_kernel_that_was_typed_in_needs_no_file(tmp_path: Path) -> None:
    """numba refuses to cache a function without a file; then there is nothing to cache."""
    assert printed(tmp_path, OWN + PLAY) == "[0]"
