"""Compile everything that a race will run, here and before any worker starts.

Processes that need the same loop at once would each compile it; and time spent compiling is no time of a learner's.
Every loop is called for no rounds at all, which compiles it, or reads it from disk.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from turncoat._compile.games import pack
from turncoat._compile.kernel_files import is_ours
from turncoat._compile.side_process import Task, compile_all
from turncoat.environments import Environment
from turncoat.environments.environment import write_losses
from turncoat.learners import Learner
from turncoat.racing.reference import AdaptiveComparator, follow, start_walk
from turncoat.racing.split import can_split, split_losses
from turncoat.regret import Comparator
from turncoat.simulate.late import AT_ONCE, Timing
from turncoat.simulate.loop import advancing
from turncoat.simulate.rounds import blank_notes, game_of, parts_in


def precompile_reference(environment: Environment) -> None:
    """Compile what computes the reference."""
    block = np.empty((0, environment.n_arms))
    game = environment.game  # kept for as long as its words are used
    words = pack(game)
    write_losses(words, 0, block)
    follow(words, start_walk(), 0, 0)
    Comparator(environment.n_arms, 1).advance(block)


def precompile_cell(learner: Any, environment: Environment, split: bool = False, timing: Timing = AT_ONCE) -> None:
    """Compile what plays the cell. Learner and environment are thrown away: an adversary may have seen a round."""
    if not environment.oblivious:
        AdaptiveComparator(environment, 1).see(0, np.empty(0, dtype=np.int64))
    if isinstance(learner, Learner):
        parts, notes = parts_in(learner, environment.features), blank_notes(0, environment.n_arms)
        advancing(learner, parts, game_of(environment), timing, 0)(notes, 0, 0)
        if split and can_split(learner):
            split_losses(learner, environment, np.empty(0, dtype=np.int64))


def precompile(
    references: list[Environment],
    cells: list[tuple[Any, Environment]],
    split: bool,
    timing: Timing,
    on_compile: Callable[[int, int], Any] = lambda done, total: None,
    workers: int = 1,
) -> None:
    """Compile what computes these references and plays these cells; one of a kind is enough. All are thrown away.

    With several workers, a second process compiles some of the learners: those of the package, whose kernels it leaves
    on disk.
    """
    cells_of: dict[Any, list[tuple[Any, Environment]]] = {}  # by learner: most kernels of a cell are its learner's
    for learner, environment in cells:
        cells_of.setdefault(type(learner), []).append((learner, environment))
    tasks = [Task(partial(pack, environment.game), 0, False) for environment in references]  # soon done, so come first
    tasks += [Task(partial(precompile_reference, environment), 1, False) for environment in references]
    for group in cells_of.values():
        tasks.append(
            Task(partial(precompile_cells, group, split, timing), len(group), workers > 1 and all(map(_is_kept, group)))
        )
    done, total = 0, len(references) + len(cells)
    on_compile(0, total)
    for task in compile_all(tasks):
        for _ in range(task.size):
            done += 1
            on_compile(done, total)


def precompile_cells(cells: list[tuple[Any, Environment]], split: bool, timing: Timing) -> None:
    """Compile what plays these cells."""
    for learner, environment in cells:
        precompile_cell(learner, environment, split, timing)


def _is_kept(cell: tuple[Any, Environment]) -> bool:
    """Are the kernels of the cell kept on disk? Those of a learner or game from outside the package are not."""
    learner, environment = cell
    return is_ours(type(learner)) and is_ours(type(environment.game))


def as_sent(environment: Environment) -> Environment:
    """The environment as another process will have it: an array that was read-only here is not there."""
    sent: Environment = pickle.loads(pickle.dumps(environment))
    return sent
