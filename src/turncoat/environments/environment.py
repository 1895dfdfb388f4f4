"""What every environment offers."""

from __future__ import annotations

from typing import Any, Protocol


class Environment(Protocol):
    """A game: how many arms and rounds, and `game`, the NamedTuple that the registered `loss_of(game, t, arm)` reads.

    An oblivious adversary's losses are a pure function of round and arm, so any round can be looked at again and every
    learner meets the same losses.
    """

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        ...

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        ...

    @property
    def game(self) -> Any:
        """The fields compiled code reads."""
        ...
