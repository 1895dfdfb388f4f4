"""Compiling ahead: after `turncoat compile` no later process compiles anything, whatever it asks of the learner."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.architecture.test_start_up import PACKAGE, one_compiles, run
from tests.cli.typed import refusal
from tests.contract.makers import MAKERS, Maker, each
from turncoat._compile import kernel_files
from turncoat._compile.cache import CACHE
from turncoat._compile.progress import TEXT
from turncoat.learners import LEARNERS
from turncoat.learners.compile_methods import compile_methods
from turncoat.learners.entries import ENTRIES
from turncoat.simulate import compile_ahead

EVERYTHING = """
import copy, json, pickle
import numpy
import turncoat as tc
from turncoat._compile.progress import compiling

def use(learner, scale):
    label, other = learner.arms[:2]
    learner.tell(learner.ask(), loss=0.25 * scale)
    learner.tell(learner.ask(), reward=0.5 * scale)
    learner.tell(learner.ask(allowed=[label, other]), loss=0.75 * scale)
    learner.forget(learner.ask(allowed=[other]))
    learner.probabilities(), learner.probabilities(allowed=[label])
    learner.observe(0, 0.5 * scale, 0.5)
    learner.observe(1, 0.5 * scale, 0.5, allowed=[0, 1])
    waiting = learner.ask()
    learner.add_arm("new")
    learner.retire_arm(other)
    learner.tell(waiting, loss=0.5 * scale)
    learner.tell(learner.ask(allowed=["new", label]), loss=0.5 * scale)
    str(learner), repr(learner), learner.explain().to_dict(), learner.believed, learner.master_probabilities
    table = scale * numpy.random.default_rng(1).random((50, learner.n_arms))
    tc.play(learner, table)
    restored = tc.restore(json.loads(json.dumps(learner.state())))
    pickle.loads(pickle.dumps(restored)), copy.deepcopy(restored)
    restored.tell(restored.ask(), loss=0.5 * scale)
    tc.play(restored, numpy.asfortranarray(table))

use(tc.Turncoat(["red", "green", "blue"], seed=1), 1.0)
use(tc.Turncoat(["red", "green"], seed=1, loss_range=(0.0, 8.0)), 8.0)
use(tc.Turncoat(["red", "green", "blue"], seed=1, loss_range="adaptive"), 100.0)
learner = tc.Turncoat(5, seed=1)
for name in ("flip/3", "adaptive/5", "table"):
    game = tc.environments.Table(numpy.zeros((9, 5))) if name == "table" else tc.environments.scenario(name, 100)
    tc.play(learner, game)
learner.certificate(3), learner.explain()
many = tc.Turncoat(100, seed=1)
many.tell(many.ask(), loss=0.5)
tc.compile()
print(compiling.n_compiled)
"""


@pytest.mark.slow
def test_after_turncoat_compile_nothing_is_left_to_compile(tmp_path: Path) -> None:
    command = "import sys; sys.argv = ['turncoat', 'compile', 'turncoat']; from turncoat.cli import main; main()"
    kept: Any = {"NUMBA_CACHE_DIR": str(tmp_path), "COLUMNS": "200"}
    with one_compiles():
        first, environments, last = run(command, limit=250.0, **kept)
        if CACHE is not None:  # other tests find them there
            shutil.copytree(tmp_path / CACHE.name, CACHE, dirs_exist_ok=True)
    assert first.split()[0] == "turncoat" and first.endswith(" s")
    assert environments.split()[0] == "environments"
    assert last.startswith("compiled ") and str(tmp_path) in last and "compiled 0 kernels" not in last
    assert run(EVERYTHING, limit=250.0, **kept) == ["0"]
    assert run(command, **kept)[-1].startswith("compiled 0 kernels")


@pytest.fixture
def looked_for(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were needed and not there, in this process: compiled, or read from disk."""
    found: list[str] = []
    load: Any = kernel_files._PackageCache.load_overload

    def watched(self: Any, sig: Any, target_context: Any) -> Any:
        found.append(f"{self._name}{sig}")
        return load(self, sig, target_context)

    monkeypatch.setattr(kernel_files._PackageCache, "load_overload", watched)
    return found


@pytest.mark.slow
@pytest.mark.jit_off
@each(MAKERS, kinds=False, modes=False, all_learners=False)
def test_methods_of_every_learner_can_be_compiled(make: Maker) -> None:
    """Index learners could not: their indices are an attribute, and were called."""
    compile_methods(make(3, 1000, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "ucb1",
        "dlinucb",
        *(
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in ("exp3", "cbce", "switching-linear", "master-base, shared")
        ),
    ],
)
def test_every_kind_of_learner_can_be_compiled(name: str, looked_for: list[str]) -> None:
    tc.compile(name, environments=["flip/3"])
    looked_for.clear()
    makers: dict[str, Any] = {**LEARNERS, **ENTRIES}
    learner = makers[name](5, 100, seed=1)
    losses = [0.5] * 5 if learner.sees_all else 0.5
    learner.tell(learner.ask(), losses)
    if name == "switching-linear":
        tc.play_points(learner, tc.environments.BallSwitching(5, 50, 2))
    else:
        tc.play(learner, np.full((20, 5), 0.5))
        tc.play(learner, tc.environments.scenario("flip/3", 50))
        learner.probabilities()
    tc.restore(json.loads(json.dumps(learner.state())))
    assert [kernel for kernel in looked_for if not kernel.startswith("write_vectors")] == []


def test_learners_classes_makers_and_names_are_taken() -> None:
    given = tc.Exp3(["a", "b"], seed=3, horizon=10)
    before = given.state()
    said: list[str] = []
    takes = [given, tc.Exp3, partial(tc.Exp3, form="gain"), tc.told(tc.Exp3S), "exp3", "exp3.s, told S"]
    table = tc.environments.Table([[0.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is said of a learner that is thrown away
        tc.compile(*takes, environments=["flip/3", table], on_compile=lambda name, seconds: said.append(name))
    assert given.state() == before
    assert [said[i] for i in (0, 1, 4, 5, 6, 7)] == ["exp3", "exp3", "exp3", "exp3.s, told S", "flip/3", "table"]


@pytest.mark.parametrize(
    "words, match",
    [
        (["exp4"], "there is no learner 'exp4'; near it are"),
        ([3], "3 is or makes no learner"),
        ([lambda arms, horizon, seed: "none"], "is or makes no learner"),
    ],
)
def test_what_is_no_learner_is_refused_before_anything_is_compiled(
    words: list[Any], match: str, looked_for: list[str]
) -> None:
    with pytest.raises(tc.TurncoatError, match=match):
        tc.compile("exp3", *words)
    assert looked_for == []


def test_what_is_no_environment_is_refused() -> None:
    for wrong in ("flip/4", 3):
        with pytest.raises(tc.TurncoatError, match=r"flip/3|no environment"):
            tc.compile("exp3", environments=[wrong])


def test_the_command_refuses_in_one_line() -> None:
    assert "no learner 'exp4'" in refusal("compile", "exp4")
    assert "flip/3" in refusal("compile", "exp3", "-e", "flip/4")


def test_without_a_folder_to_keep_kernels_in_the_command_says_so(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "turncoat", "compile"],
        env={"PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(file / "folder")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: nothing can be kept in ") and TEXT not in done.stderr


def test_all_are_compiled_by_name() -> None:
    """By every name that a race or `turncoat list` knows a learner can be made."""
    made = [compile_ahead._learner_of(name) for name in {**LEARNERS, **ENTRIES}]
    assert {type(learner) for learner in made} == set(LEARNERS.values())
