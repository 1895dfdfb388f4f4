"""play_points: the compiled loop in which a learner that plays points meets loss vectors. For arms: simulate/loop.py.

It calls the same kernels as `ask` and `tell`, with the same random numbers, and hears Ctrl-C between blocks of rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from turncoat._compile.dispatch import ask, tell
from turncoat._compile.jit import borrow, jit_game
from turncoat.environments.ball import BallSwitching, write_vector
from turncoat.errors import OptionError
from turncoat.learners.linear.switching_linear import SwitchingLinear
from turncoat.mirror.cholesky import dot
from turncoat.types import Matrix, Vector

AT_ONCE = 4096  # rounds that Ctrl-C may wait for


@jit_game
def run(state: Any, game: Any, vector: Vector, points: Matrix, first: int, stop: int, high: float) -> None:
    """Play the points of rounds first … stop - 1 against loss vectors; `vector` is room for one of them."""
    state = borrow(state)
    game = borrow(game)
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
        for t in range(0, game.horizon, AT_ONCE):
            stop = min(t + AT_ONCE, game.horizon)
            run(learner.view(), game.game, vector, points, t, stop, high)
    return points
