"""The witness of a game against an adaptive adversary: it sees the losses of all arms, as the arms played made them.

An equal adversary is shown the same arms, a block of rounds after the other, and the comparator goes along. So regret
is against the best sequence of arms on the losses that were met, which is not what other arms would have met.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from turncoat._compile.dispatch import loss_of, see
from turncoat._compile.jit import borrow, jit_game
from turncoat.environments import Environment
from turncoat.regret import Comparator
from turncoat.simulate.loop import outside
from turncoat.types import Ints, Matrix

WITNESSED = 1024  # rounds at a time


@jit_game
def write_met(game: Any, first: int, arms: Ints, out: Matrix) -> None:
    """The losses of all arms in the rounds from the first on, a row of `out` each, while these arms are played."""
    game = borrow(game)
    for i in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[i, arm] = loss_of(game, first + i, arm)
        see(game, first + i, arms[i])


def check_losses(environment: Environment, first: int, losses: Matrix) -> None:
    """Refuse losses outside [0, 1], in the rounds from the first on."""
    if losses.size and not (losses.min() >= 0.0 and losses.max() <= 1.0):  # NaN fails both
        i, arm = np.argwhere(~((losses >= 0.0) & (losses <= 1.0)))[0]
        raise outside(environment, float(losses[i, arm]), first + int(i), int(arm), 0.0, 1.0)


class Witness:
    """Sees what an adversary does, and keeps the comparator up to date."""

    def __init__(self, environment: Environment, max_switches: int) -> None:
        self.environment = environment.fresh()
        self.max_switches = max_switches
        self.comparator = Comparator(environment.n_arms, max_switches)
        self.room = np.empty((WITNESSED, environment.n_arms))

    def see(self, first: int, arms: Ints) -> None:
        """Go through the rounds in which these arms were played; what the other arms cost is looked at, too."""
        losses = self.room[: arms.size]
        write_met(self.environment.game, first, arms, losses)
        check_losses(self.environment, first, losses)
        self.comparator.advance(losses)
