"""play: the one compiled loop in which a learner meets an environment.

The loop calls the same kernels as `ask` and `tell`, with the same random numbers, so the arms are those of asking and
telling by hand. It runs in blocks of rounds, so that Ctrl-C is heard between them. What it writes down is up to its
caller: the arm of every round for `play`, running totals for a race. Totals are added up round by round, so they are
the same to the last bit whatever the blocks are.
"""

from __future__ import annotations

import reprlib
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.dispatch import ask, is_game, loss_of, mean_of, see, teach
from turncoat._compile.jit import borrow, jit_game
from turncoat.environments.environment import Environment
from turncoat.environments.table import TableGame, as_losses
from turncoat.errors import LossError, OptionError, TableError
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.linear import LinearLearner
from turncoat.learners.linear.switching_linear import SwitchingLinear
from turncoat.types import Ints, Vector

_FIRST_BLOCK = 256
_BLOCK_SECONDS = 0.05  # how long Ctrl-C may wait


class Notes(NamedTuple):
    """What the loop writes down. `played` or `counts` may be empty: then it leaves them out, and the sums with counts.

    A round with a loss outside the range is neither told nor counted. Only losses that are told are looked at.
    """

    played: Ints  # the arm of every round, from the first one of this call on
    counts: Ints  # (K,) how often each arm was played
    sums: Vector  # (2,) the losses of the arms played, and their mean losses
    refused: Ints  # (1,) the arm whose loss was outside the range


@jit_game
def run(state: Any, game: Any, notes: Notes, first: int, stop: int, low: float, high: float) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round whose loss is outside the range."""
    state = borrow(state)
    game = borrow(game)
    played, counts, sums, refused = borrow(notes)
    for t in range(first, stop):
        choice = ask(state)
        arm = choice[0]
        if played.size > 0:
            played[t - first] = arm
        loss = loss_of(game, t, arm)
        wrong = teach(state, game, t, choice, loss, low, high)
        if wrong >= 0:
            refused[0] = wrong
            return t
        if counts.size > 0:
            counts[arm] += 1
            sums[0] += loss
            sums[1] += mean_of(game, t, arm)
        see(game, t, arm)
    return stop


def advance(learner: Learner, state: Any, game: Any, notes: Notes, first: int, stop: int) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round with a loss that the learner cannot be told.

    One that finds out the range by itself is handed what is outside, and the loop goes on.
    """
    reached = run(state, game, notes, first, stop, *learner.told_at_once())
    while reached < stop:
        arm = int(notes.refused[0])
        loss = float(loss_of(game, reached, arm))
        if not learner.take_in(arm, loss):
            return reached
        if notes.counts.size > 0:
            notes.counts[arm] += 1
            notes.sums[0] += loss
            notes.sums[1] += mean_of(game, reached, arm)
        see(game, reached, arm)
        later = notes._replace(played=notes.played[reached + 1 - first :])
        reached = run(state, game, later, reached + 1, stop, *learner.told_at_once())
    return stop


def blank_notes(n_rounds: int, n_arms: int) -> Notes:
    """Notes of the arms of so many rounds, and of totals over so many arms; 0 for what is not wanted."""
    played, counts, refused = (np.zeros(n, dtype=np.int64) for n in (n_rounds, n_arms, 1))
    return Notes(played, counts, np.zeros(2), refused)


def play(learner: Learner, losses: ArrayLike | Environment) -> Ints:
    """Play a whole game: a (rounds, arms) table of losses in the learner's loss_range, or an environment.

    A table of rewards is turned into losses first: lowest + highest - rewards.

    Returns the arm index of every round. The learner goes on from where it stands and is left after the last round;
    outstanding decisions stay outstanding. A learner with full information is told all losses of a round, any other
    that of its arm. One outside the range is an error that names round and arm, and the learner is then as it was
    before. Ctrl-C leaves it after the last finished block of rounds. An adaptive adversary begins afresh: it has seen
    nothing of earlier plays. A linear learner sees the environment's features; where there are none, its arms are the
    unit vectors.
    """
    if not isinstance(learner, Learner):
        raise OptionError(f"{reprlib.repr(learner)} is not a learner: accepted is what a class of turncoat made")
    game, horizon, n_arms = _game(losses)
    features = getattr(losses, "features", None)
    if n_arms != learner.n_arms and not sees(learner, features):
        hint = " (is the table transposed?)" if horizon == learner.n_arms else ""
        raise TableError(f"the losses have {n_arms} arms and the learner {learner.n_arms}; accepted is the same{hint}")
    played, notes = np.empty(horizon, dtype=np.int64), blank_notes(0, 0)
    state = state_in(learner, features)
    with learner.whole_game():
        t, block = 0, _FIRST_BLOCK
        while t < horizon:
            stop = min(t + block, horizon)
            began = time.perf_counter()
            reached = advance(learner, state, game, notes._replace(played=played[t:stop]), t, stop)
            if reached < stop:
                raise bad_loss(losses, game, reached, int(notes.refused[0]), *learner.accepts)
            block = 2 * block if time.perf_counter() - began < _BLOCK_SECONDS / 2 else block
            t = stop
    return played


def sees(learner: Learner, features: Any) -> bool:
    """Is this a linear learner in a game whose arms have features? To all others an arm is a number."""
    return features is not None and isinstance(learner, LinearLearner)


def state_in(learner: Learner, features: Any) -> Any:
    """The learner's state for the compiled loop, with the features of the game's arms if it can see them."""
    if isinstance(learner, LinearLearner) and features is not None:
        return learner.seeing(learner.rows(features))
    if isinstance(learner, SwitchingLinear):
        raise OptionError(
            f"{learner!r} plays points of a ball, not arms; accepted is play_points, with a BallSwitching"
        )
    return learner.view()


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


def bad_loss(losses: Any, game: Any, t: int, arm: int, low: float, high: float) -> LossError:
    """What to say of a loss outside the range, with its place."""
    return outside(losses, float(loss_of(game, t, arm)), t, arm, low, high)


def outside(losses: Any, value: float, t: int, arm: int, low: float, high: float) -> LossError:
    """The same where the value is known: an adaptive adversary would now say another one."""
    accepted = f"accepted are numbers from {low} to {high} (see loss_range)"
    if hasattr(losses, "game"):
        return LossError(f"the loss in round {t}, arm {arm} of {type(losses).__name__} is {value!r}; {accepted}")
    return TableError(f"the loss in row {t}, column {arm} is {value!r}; {accepted}")
