"""Compile everything that a race will run, here and before any worker starts.

Processes that need the same loop at once would each compile it; and time spent compiling is no time of a learner's.
Every loop is called for no rounds at all, which compiles it, or reads it from disk.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from turncoat._compile.dispatch import loss_of, mean_of, see
from turncoat.environments import Environment
from turncoat.environments.environment import write_losses
from turncoat.learners import Learner
from turncoat.racing.reference import follow, start_walk
from turncoat.racing.split import can_split, split_losses
from turncoat.racing.witness import Witness
from turncoat.regret import Comparator
from turncoat.simulate.loop import blank_notes, run, state_in


def warm_up_ground(environment: Environment) -> None:
    """Compile what lays the ground."""
    block = np.empty((0, environment.n_arms))
    write_losses(environment.game, 0, block)
    follow(environment.game, start_walk(), 0, 0)
    Comparator(environment.n_arms, 1).advance(block)


def warm_up_cell(learner: Any, environment: Environment, split: bool = False) -> None:
    """Compile what plays the cell. Learner and environment are thrown away: an adversary may have seen a round."""
    game = environment.game
    if not environment.oblivious:
        Witness(environment, 1).see(0, np.empty(0, dtype=np.int64))
    if isinstance(learner, Learner):
        state = state_in(learner, environment.features)
        run(state, game, blank_notes(0, environment.n_arms), 0, 0, *learner.loss_range)
        if split and can_split(learner):
            split_losses(learner, environment, np.empty(0, dtype=np.int64))
    else:
        loss_of(game, 0, 0), mean_of(game, 0, 0), see(game, 0, 0)


def warm_up(
    grounds: list[Environment],
    cells: list[tuple[Any, Environment]],
    split: bool,
    on_compile: Callable[[int, int], Any] = lambda done, total: None,
) -> None:
    """Compile what lays these grounds and plays these cells, of which one of a kind is enough. All are thrown away."""
    total = len(grounds) + len(cells)
    on_compile(0, total)
    for done, environment in enumerate(grounds, 1):
        warm_up_ground(environment)
        on_compile(done, total)
    for done, (learner, environment) in enumerate(cells, 1 + len(grounds)):
        warm_up_cell(learner, environment, split)
        on_compile(done, total)


def as_sent(environment: Environment) -> Environment:
    """The environment as another process will have it: an array that was read-only here is not there."""
    sent: Environment = pickle.loads(pickle.dumps(environment))
    return sent
