"""What the compiled loops share: the game they play, the notes they write, and the error for a loss out of range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.games import mean_of, open_game, pack, see
from turncoat._compile.jit import jit_entry, jit_part
from turncoat.errors import LossError, OptionError, TableError
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.linear import LinearLearner
from turncoat.learners.linear.switching_linear import SwitchingLinear
from turncoat.types import Ints, Vector


class Game(NamedTuple):
    """A game as an environment has it, and as compiled loops take it."""

    fields: Any
    words: Any


def game_of(environment: Any, means: bool = True) -> Game:
    """The game of an environment. Without `means`, loops must not count."""
    fields = environment.game
    return Game(fields, pack(fields, means))


class Notes(NamedTuple):
    """What the loop writes. An empty `played` is not written; where `counts` is empty, neither it nor `sums` is.

    A round with a loss outside the range is neither told nor counted. Only losses that would be told are checked.
    """

    played: Ints  # the arm of every round, from the first one of this call on
    counts: Ints  # (K,) how often each arm was played
    sums: Vector  # (2,) the losses of the arms played, and their mean losses
    refused: Ints  # (1,) the arm whose loss was outside the range
    outside: Vector  # (1,) that loss


def blank_notes(n_rounds: int, n_arms: int) -> Notes:
    """Notes of the arms of so many rounds, and of totals over so many arms; 0 for what is not wanted."""
    played, counts, refused = (np.zeros(n, dtype=np.int64) for n in (n_rounds, n_arms, 1))
    return Notes(played, counts, np.zeros(2), refused, np.zeros(1))


@jit_part
def count(game: Any, t: int, arm: int, loss: float, counts: Ints, sums: Vector) -> None:
    """Add a round to the totals."""
    counts[arm] += 1
    sums[0] += loss
    sums[1] += mean_of(game, t, arm)


@jit_entry
def close_round(game: Any, notes: Any, t: int, arm: int, loss: float) -> None:
    """Count a round that the learner was told outside the loop, and show it to the adversary."""
    game, (_, counts, sums, _, _) = open_game(game), notes
    if counts.size > 0:
        count(game, t, arm, loss, counts, sums)
    see(game, t, arm)


def sees(learner: Learner, features: Any) -> bool:
    """Is this a linear learner in a game whose arms have features? To all others an arm is a number."""
    return features is not None and isinstance(learner, LinearLearner)


def parts_in(learner: Learner, features: Any) -> Any:
    """What the compiled loop is given of a learner; with the features of the game's arms if it can see them."""
    if isinstance(learner, LinearLearner) and features is not None:
        return learner.parts_seeing(learner.rows(features))
    if isinstance(learner, SwitchingLinear):
        raise OptionError(
            f"{learner!r} plays points of a ball, not arms; accepted is play_points, with a BallSwitching"
        )
    return learner.parts


def bad_loss(losses: Any, notes: Notes, t: int, low: float, high: float) -> LossError:
    """The error for the loss that the loop refused in round t."""
    return outside(losses, float(notes.outside[0]), t, int(notes.refused[0]), low, high)


def outside(losses: Any, value: float, t: int, arm: int, low: float, high: float) -> LossError:
    """The same for a known value: asked again, an adaptive adversary could give another loss."""
    accepted = f"accepted are numbers from {low} to {high} (see loss_range)"
    if hasattr(losses, "game"):
        return LossError(f"the loss in round {t}, arm {arm} of {type(losses).__name__} is {value!r}; {accepted}")
    return TableError(f"the loss in row {t}, column {arm} is {value!r}; {accepted}")
