"""Table: losses written down in advance, one row a round and one column an arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat._jit import jit_rule, register_environment
from turncoat.errors import TableError
from turncoat.tables import as_table
from turncoat.types import Matrix


class TableGame(NamedTuple):
    """The losses themselves."""

    losses: Matrix


@jit_rule
def loss_of(game: TableGame, t: int, arm: int) -> float:
    """The entry in row t, column arm."""
    return float(game.losses[t, arm])


register_environment(TableGame, loss_of=loss_of)


def as_losses(losses: ArrayLike) -> Matrix:
    """The losses as a (rounds, arms) array compiled code can read; their values are not looked at."""
    return np.ascontiguousarray(as_table(losses), dtype=np.float64)


class Table:
    """An environment over a (rounds, arms) array of losses in [0, 1]. All values are checked once, here."""

    def __init__(self, losses: ArrayLike) -> None:
        self.losses: Matrix = as_losses(losses)
        wrong = ~((self.losses >= 0.0) & (self.losses <= 1.0))
        if wrong.any():
            t, arm = np.argwhere(wrong)[0]
            raise TableError(
                f"the loss in row {t}, column {arm} is {self.losses[t, arm]!r}; accepted are losses from 0 to 1"
            )
        self.game = TableGame(self.losses)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return int(self.losses.shape[1])

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.losses.shape[0])
