"""play: the one compiled loop in which a learner meets an environment.

The loop calls the same kernels as `ask` and `tell`, with the same random numbers, so the arms are those of asking and
telling by hand. It runs in blocks of rounds, so that Ctrl-C is heard between them. What it writes down is up to its
caller: the arm of every round for `play`, running totals for a race. Totals are added up round by round, so they are
the same to the last bit whatever the blocks are.

`play_points` is the same for a learner that plays points of a ball and meets loss vectors.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.dispatch import ask, sees_all, tell, view_of
from turncoat._compile.games import is_game, loss_of, open_game, pack, see
from turncoat._compile.jit import jit_game, jit_part, without_refcount
from turncoat.environments.ball import BallGame, BallSwitching, write_vector
from turncoat.environments.environment import Environment
from turncoat.environments.table import TableGame, as_losses
from turncoat.errors import OptionError, TableError
from turncoat.learners.base.learner import Learner
from turncoat.learners.linear.switching_linear import SwitchingLinear, SwitchingLinearState
from turncoat.mirror.cholesky import dot
from turncoat.simulate.late import ByHand, Timing, advance_late, parse_timing, start_late
from turncoat.simulate.rounds import Game, Notes, bad_loss, blank_notes, close_round, count, game_of, parts_in, sees
from turncoat.types import Ints, Matrix, Vector

_FIRST_BLOCK = 256
_BLOCK_SECONDS = 0.05  # how long Ctrl-C may wait


@jit_part
def play_rounds(state: Any, game: Any, notes: Any, first: int, stop: int, low: float, high: float) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round whose loss is outside the range."""
    played, counts, sums, refused, outside = notes
    for t in range(first, stop):
        choice = ask(state)
        arm = choice[0]
        if played.size > 0:
            played[t - first] = arm
        loss = loss_of(game, t, arm)
        if not low <= loss <= high:
            refused[0], outside[0] = arm, loss
            return t
        tell(state, choice, (loss - low) / (high - low))
        if counts.size > 0:
            count(game, t, arm, loss, counts, sums)
        see(game, t, arm)
    return stop


@jit_part
def play_rounds_seeing_all(state: Any, game: Any, notes: Any, first: int, stop: int, low: float, high: float) -> int:
    """The same for learners that are told the losses of all arms."""
    played, counts, sums, refused, outside = notes
    for t in range(first, stop):
        choice = ask(state)
        arm = choice[0]
        if played.size > 0:
            played[t - first] = arm
        loss = loss_of(game, t, arm)
        for k in range(state.losses.size):
            one = loss_of(game, t, k)
            if not low <= one <= high:
                refused[0], outside[0] = k, one
                return t
            state.losses[k] = (one - low) / (high - low)
        tell(state, choice, state.losses)
        if counts.size > 0:
            count(game, t, arm, loss, counts, sums)
        see(game, t, arm)
    return stop


@cache
def loop_of(State: Any) -> Callable[..., int]:
    """The compiled loop of learners with this state: `play_rounds` on the learner's parts.

    A closure over the class of the state: numba finds it on disk again (jit.py).
    """
    if sees_all(State):

        @jit_game
        def run_seeing_all(parts: Any, game: Any, notes: Any, first: int, stop: int, low: float, high: float) -> int:
            state, game, notes = view_of(State, without_refcount(parts)), open_game(game), without_refcount(notes)
            return play_rounds_seeing_all(state, game, notes, first, stop, low, high)

        return run_seeing_all

    @jit_game
    def run(parts: Any, game: Any, notes: Any, first: int, stop: int, low: float, high: float) -> int:
        state, game, notes = view_of(State, without_refcount(parts)), open_game(game), without_refcount(notes)
        return play_rounds(state, game, notes, first, stop, low, high)

    return run


def advance(learner: Learner, parts: Any, game: Game, notes: Notes, first: int, stop: int) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round with a loss that the learner cannot be told.

    A learner with loss_range="adaptive" is given the loss that lies outside, and the loop goes on.
    """
    run = loop_of(learner.state_type)
    reached = run(parts, game.words, tuple(notes), first, stop, *learner.told_at_once())
    while reached < stop:
        arm = int(notes.refused[0])
        loss = float(notes.outside[0])
        if not learner.take_in(arm, loss):
            return reached
        close_round(game.words, tuple(notes), reached, arm, loss)
        later = notes._replace(played=notes.played[reached + 1 - first :])
        reached = run(parts, game.words, tuple(later), reached + 1, stop, *learner.told_at_once())
    return stop


Advance: TypeAlias = Callable[[Notes, int, int], int]  # (notes, first, stop): stop, or the round of a bad loss


def advancing(learner: Learner, parts: Any, game: Game, timing: Timing, horizon: int) -> Advance:
    """How the rounds of a game are played: in the compiled loop, in that of late losses, or by asking and telling."""
    if timing.at_once and not learner.n_waiting:

        def at_once(notes: Notes, first: int, stop: int) -> int:
            reached = advance(learner, parts, game, notes, first, stop)
            learner.asked_in_loop(reached - first, at_once=True)
            return reached

        return at_once
    if learner.by_kernels:
        late = start_late(learner, timing, horizon)

        def later(notes: Notes, first: int, stop: int) -> int:
            reached = advance_late(learner, parts, game, notes, late, first, stop)
            learner.asked_in_loop(reached - first, at_once=False)
            return reached

        return later
    return ByHand(learner, game, timing, horizon, lambda decision, t: int(decision.index), learner.accepts).advance


def play(learner: Learner, losses: ArrayLike | Environment, *, delay: int = 0, batch: int = 1) -> Ints:
    """Play a whole game: a (rounds, arms) table of losses in the learner's loss_range, or an environment.

    A table of rewards is turned into losses first: lowest + highest - rewards.

    Returns the arm index of every round. The learner goes on from where it stands and is left after the last round;
    outstanding decisions stay outstanding. A learner with full information is told all losses of a round, any other
    that of its arm. A loss outside the range raises an error that names round and arm, and the learner is left as it
    was. Ctrl-C leaves it after the last finished block of rounds. An adaptive adversary begins afresh: it has seen
    nothing of earlier plays. A linear learner sees the environment's features; where there are none, its arms are the
    unit vectors.

    `delay`: every loss is told so many rounds later. `batch`: losses are told at the end of batches of so many rounds.
    What is left is told after the last round.
    """
    if not isinstance(learner, Learner):
        raise OptionError(f"{reprlib.repr(learner)} is not a learner: accepted is what a class of turncoat made")
    timing = parse_timing(delay, batch)
    game, horizon, n_arms = _game(losses)
    features = getattr(losses, "features", None)
    if n_arms != learner.n_arms and not sees(learner, features):
        hint = " (is the table transposed?)" if horizon == learner.n_arms else ""
        raise TableError(f"the losses have {n_arms} arms and the learner {learner.n_arms}; accepted is the same{hint}")
    played, notes = np.empty(horizon, dtype=np.int64), blank_notes(0, 0)
    go_on = advancing(learner, parts_in(learner, features), game, timing, horizon)
    with learner.whole_game():
        t, block = 0, _FIRST_BLOCK
        while t < horizon:
            stop = min(t + block, horizon)
            began = time.perf_counter()
            reached = go_on(notes._replace(played=played[t:stop]), t, stop)
            if reached < stop:
                raise bad_loss(losses, notes, reached, *learner.accepts)
            block = 2 * block if time.perf_counter() - began < _BLOCK_SECONDS / 2 else block
            t = stop
    return played


def _game(losses: Any) -> tuple[Game, int, int]:
    """What compiled code reads, and how many rounds and arms there are."""
    if hasattr(losses, "game"):
        environment = losses.fresh() if hasattr(losses, "fresh") else losses
        if not is_game(environment.game):
            text = (
                f"{reprlib.repr(losses)} has a game of type {type(environment.game).__name__}, which is not registered"
            )
            raise OptionError(f"{text}; accepted are tables, and environments made known by register_environment")
        return game_of(environment, means=False), environment.horizon, environment.n_arms
    table = as_losses(losses)
    fields = TableGame(table)
    return Game(fields, pack(fields, means=False)), table.shape[0], table.shape[1]


POINTS_AT_ONCE = 4096  # rounds that Ctrl-C may wait for


@jit_game
def run(buffer: Vector, fields: Any, vector: Vector, points: Matrix, first: int, stop: int, high: float) -> None:
    """Play the points of rounds first … stop - 1 against loss vectors; `vector` is room for one of them."""
    state = view_of(SwitchingLinearState, without_refcount(buffer))
    game = BallGame(*without_refcount(fields))
    for t in range(first, stop):
        choice = ask(state)
        points[t] = state.point
        write_vector(game, t, vector)
        loss = dot(state.point, vector) / high
        tell(state, (choice[0], 1.0), min(max(0.5 + 0.5 * loss, 0.0), 1.0))


def play_points(learner: SwitchingLinear, game: BallSwitching) -> Matrix:
    """Play a whole game over the ball; the points, (rounds, dimension). As `play`, for learners that play points."""
    if not isinstance(learner, SwitchingLinear) or not isinstance(game, BallSwitching):
        raise OptionError(f"{learner!r} and {game!r} do not play; accepted are a SwitchingLinear and a BallSwitching")
    if learner.dimension != game.dimension:
        raise OptionError(
            f"{game!r} has {game.dimension} dimensions and the learner {learner.dimension}; accepted is the same"
        )
    low, high = learner.loss_range
    if high < game.size + game.noise:
        raise OptionError(
            f"loss_range is {(low, high)!r} and losses reach {game.size + game.noise:g}; accepted is a wider one"
        )
    points, vector = np.empty((game.horizon, game.dimension)), np.empty(game.dimension)
    with learner.whole_game():
        for t in range(0, game.horizon, POINTS_AT_ONCE):
            stop = min(t + POINTS_AT_ONCE, game.horizon)
            run(learner.parts, tuple(game.game), vector, points, t, stop, high)
    return points
