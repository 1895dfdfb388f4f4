"""play: the one compiled loop in which a learner meets an environment.

The loop calls the same kernels as `ask` and `tell`, with the same random numbers, so the arms are those of asking and
telling by hand. It runs in blocks of rounds, so that Ctrl-C is heard between them.
"""

from __future__ import annotations

import reprlib
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from turncoat._jit import ask, borrow, is_game, jit_game, loss_of, see, tell
from turncoat.environments.environment import Environment
from turncoat.environments.table import TableGame, as_losses
from turncoat.errors import LossError, OptionError, TableError
from turncoat.learners.learner import Learner
from turncoat.types import Ints

_FIRST_BLOCK = 256
_BLOCK_SECONDS = 0.05  # how long Ctrl-C may wait


@jit_game
def run(state: Any, game: Any, played: Ints, first: int, stop: int, low: float, high: float) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round whose loss is outside the range, told no more."""
    state = borrow(state)
    game = borrow(game)
    for t in range(first, stop):
        choice = ask(state)
        arm = choice[0]
        played[t] = arm
        loss = loss_of(game, t, arm)
        if not low <= loss <= high:
            return t
        tell(state, choice, (loss - low) / (high - low))
        see(game, t, arm)
    return stop


def play(learner: Learner, losses: ArrayLike | Environment) -> Ints:
    """Play a whole game: a (rounds, arms) table of losses in the learner's loss_range, or an environment.

    A table of rewards is turned into losses first: lowest + highest - rewards.

    Returns the arm index of every round. The learner goes on from where it stands and is left after the last round;
    outstanding decisions stay outstanding. A loss outside the range is an error that names round and arm, and the
    learner is then as it was before. Ctrl-C leaves it after the last finished block of rounds. An adaptive adversary
    begins afresh: it has seen nothing of earlier plays.
    """
    if not isinstance(learner, Learner):
        raise OptionError(f"{reprlib.repr(learner)} is not a learner: accepted is what a class of turncoat made")
    game, horizon, n_arms = _game(losses)
    if n_arms != learner.n_arms:
        hint = " (is the table transposed?)" if horizon == learner.n_arms else ""
        raise TableError(f"the losses have {n_arms} arms and the learner {learner.n_arms}; accepted is the same{hint}")
    low, high = learner.loss_range
    played = np.empty(horizon, dtype=np.int64)
    state = learner.view()
    with learner.whole_game():
        t, block = 0, _FIRST_BLOCK
        while t < horizon:
            stop = min(t + block, horizon)
            began = time.perf_counter()
            reached = run(state, game, played, t, stop, low, high)
            if reached < stop:
                raise _bad_loss(losses, game, reached, int(played[reached]), low, high)
            block = 2 * block if time.perf_counter() - began < _BLOCK_SECONDS / 2 else block
            t = stop
    return played


def _game(losses: Any) -> tuple[Any, int, int]:
    """What compiled code reads, and how many rounds and arms there are."""
    if hasattr(losses, "game"):
        environment = losses.fresh() if hasattr(losses, "fresh") else losses
        if not is_game(environment.game):
            text = (
                f"{reprlib.repr(losses)} has a game of type {type(environment.game).__name__}, which is not registered"
            )
            raise OptionError(f"{text}; accepted are tables, and environments made known by register_environment")
        return environment.game, environment.horizon, environment.n_arms
    table = as_losses(losses)
    return TableGame(table), table.shape[0], table.shape[1]


def _bad_loss(losses: Any, game: Any, t: int, arm: int, low: float, high: float) -> LossError:
    value = float(loss_of(game, t, arm))
    accepted = f"accepted are numbers from {low} to {high} (see loss_range)"
    if hasattr(losses, "game"):
        return LossError(f"the loss in round {t}, arm {arm} of {type(losses).__name__} is {value!r}; {accepted}")
    return TableError(f"the loss in row {t}, column {arm} is {value!r}; {accepted}")
