"""An environment of a user's own: a NamedTuple, a kernel and three attributes are enough. An edited one is new."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import turncoat as tc
from turncoat._compile.cache import CACHE
from turncoat._compile.games import mean_of, planted_of, see
from turncoat._compile.progress import TEXT
from turncoat.environments import Table, jit_rule, register_environment
from turncoat.errors import LossError


class BrokenGame(NamedTuple):
    """One loss too large, in round 5."""

    losses: Any


@jit_rule
def broken_loss(game: BrokenGame, t: int, arm: int) -> float:
    return 1.5 if t == 5 else float(game.losses[arm])


register_environment(BrokenGame, loss_of=broken_loss)


class Broken:
    """Not even an Environment by name."""

    n_arms, horizon = 2, 9
    game = BrokenGame(np.array([0.25, 0.75]))


@pytest.mark.jit_off
def test_a_loss_outside_the_range_is_named_with_its_round_and_arm() -> None:
    learner = tc.Uniform(2, seed=1)
    before = learner.state()
    with pytest.raises(
        LossError, match=r"the loss in round 5, arm [01] of Broken is 1.5; accepted are numbers from 0.0"
    ):
        tc.play(learner, Broken())  # type: ignore[arg-type]
    assert learner.state() == before


@pytest.mark.jit_off
def test_a_table_in_an_array_is_named_by_row_and_column() -> None:
    with pytest.raises(LossError, match=r"the loss in row 0, column 0 is 1.5"):
        tc.play(tc.Uniform(1, seed=1), [[1.5]])
    with pytest.raises(LossError, match=r"the loss in round 0, arm 0 of Table is 0.5; accepted are numbers from 0.6"):
        tc.play(tc.Uniform(1, seed=1, loss_range=(0.6, 1.0)), Table([[0.5]]))


@pytest.mark.jit_off
def test_what_is_not_said_is_taken_for_granted() -> None:
    """Losses are their own means, nothing is planted, and the adversary does not look."""
    assert mean_of(Broken.game, 0, 1) == 0.75 and planted_of(Broken.game, 0) == -1
    see(Broken.game, 0, 1)
    assert Broken.game.losses.tolist() == [0.25, 0.75]


class ScaledGame(NamedTuple):
    """Its rule has a parameter that is never passed."""

    losses: Any


@jit_rule
def scaled_loss(game: ScaledGame, t: int, arm: int, scale: float = 0.5) -> float:
    return scale * float(game.losses[arm])


register_environment(ScaledGame, loss_of=scaled_loss)


@pytest.mark.jit_off
def test_a_rule_may_have_parameters_with_values_of_their_own() -> None:
    learner = tc.Uniform(2, seed=1, loss_range=(0.0, 0.6))  # so that losses of 1 would be refused
    environment = Broken()
    environment.game = ScaledGame(np.array([1.0, 1.0]))  # type: ignore[assignment]
    assert tc.play(learner, environment).size == 9  # type: ignore[arg-type]


OWN = """
from typing import NamedTuple
from turncoat.environments import Environment, jit_rule, register_environment

class ConstantGame(NamedTuple):
    unused: int

@jit_rule
def loss_of(game, t, arm):
    return 0.25

register_environment(ConstantGame, loss_of=loss_of)

class Constant(Environment):
    name, n_arms, horizon, n_switches, game = "constant", 1, 1, None, ConstantGame(0)
"""
SHOW = "print(Constant().losses()[0, 0])"


def printed(folder: Path, code: str) -> str:
    """What a fresh Python prints that runs the code in a folder."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr.replace(f"{TEXT}\n", "")) == (0, "")
    return done.stdout.strip()


def test_an_edited_kernel_is_compiled_anew(tmp_path: Path) -> None:
    """numba's cache looks at the file of the loop, not of the kernel in it: a second process was given the old loss."""
    module = tmp_path / "own_games.py"
    for loss in ("0.25", "0.75"):
        module.write_text(OWN.replace("0.25", loss))
        assert printed(tmp_path, f"from own_games import Constant; {SHOW}") == loss


def test_a_kernel_that_was_typed_in_needs_no_file(tmp_path: Path) -> None:
    """numba refuses to cache a function without a file; then there is nothing to cache."""
    assert printed(tmp_path, OWN + SHOW) == "0.25"


@pytest.mark.skipif(CACHE is None, reason="there is no folder to keep kernels in")
def test_our_own_games_are_compiled_once(tmp_path: Path) -> None:
    """In another process than this one, which has compiled it: the block writer comes from disk."""
    tc.environments.scenario("flip/3", 10).losses()
    code = """
from turncoat.environments import scenario
from turncoat.environments.environment import write_losses
scenario("flip/3", 10).losses()
print(sum(write_losses.stats.cache_hits.values()), sum(write_losses.stats.cache_misses.values()))
"""
    assert printed(tmp_path, code) == "1 0"
