"""Environment, the base class of environments: a game that compiled code can play, and ways to read its losses.

`game` is a NamedTuple. The kernels registered for its type (`register_environment`) say what an arm costs in a round:
`loss_of`, `mean_of`, `planted_of`, `see`. Everything here is written once on top of them.

An oblivious adversary's losses are a pure function of round and arm. So a horizon of 1e9 needs no table, any round can
be looked at again, and every learner meets the same losses. An adaptive one looks at the arms that were played and
keeps what it saw in arrays of its game; `fresh` gives an equal one that has seen nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.games import loss_of, mean_of, open_game, pack, planted_of
from turncoat._compile.jit import jit_game
from turncoat.errors import OptionError
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.games import parse_played
from turncoat.validation.numbers import parse_whole

MOST_CELLS = 10**8  # 0.8 GB: beyond that, go block by block


@jit_game
def write_losses(game: Any, start: int, out: Matrix) -> None:
    """The losses of all arms in the rounds from `start` on, a row of `out` each."""
    game = open_game(game)
    for i in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[i, arm] = loss_of(game, start + i, arm)


@jit_game
def write_means(game: Any, start: int, out: Matrix) -> None:
    """The mean losses of all arms in the rounds from `start` on, a row of `out` each."""
    game = open_game(game)
    for i in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[i, arm] = mean_of(game, start + i, arm)


@jit_game
def write_path(game: Any, start: int, out: Ints) -> None:
    """The planted arms of the rounds from `start` on."""
    game = open_game(game)
    for i in range(out.size):
        out[i] = planted_of(game, start + i)


@jit_game
def write_path_means(game: Any, arms: Ints, out: Vector) -> None:
    """The mean losses of these arms, one per round from round 0."""
    game = open_game(game)
    for t in range(out.size):
        out[t] = mean_of(game, t, arms[t])


def empty_table(n_rounds: int, width: int, columns: str, cells: str) -> Matrix:
    """Room for a table of so many rounds and columns, unless it is too large."""
    if n_rounds * width > MOST_CELLS:
        text = f"a table of {n_rounds} rounds and {width} {columns} is too large"
        raise OptionError(f"{text}; accepted are at most {MOST_CELLS} {cells}")
    return np.empty((n_rounds, width))


class Environment:
    """A game of `horizon` rounds over `n_arms` arms, whose planted path switches `n_switches` times (None: no path)."""

    name: ClassVar[str]
    words: ClassVar[tuple[str, ...]] = ()  # its own keyword arguments, kept as attributes of the same name
    oblivious: ClassVar[bool] = True

    n_arms: int
    horizon: int
    n_switches: int | None
    game: Any
    features: Matrix | None = None  # (n_arms, d): what linear learners see of the arms, where there is something

    def fields(self) -> dict[str, Any]:
        """Plain JSON values that identify this environment."""
        own = {word: getattr(self, word) for word in self.words}
        return {"environment": self.name, "n_arms": self.n_arms, "horizon": self.horizon, **own}

    def fresh(self) -> Self:
        """An equal environment that has seen nothing yet: itself, if it is oblivious."""
        return self

    def losses(self) -> Matrix:
        """The whole game as a (rounds, arms) table; long games are for `losses_block`."""
        return self.losses_block(0, self.horizon)

    def losses_block(self, start: int, stop: int) -> Matrix:
        """The losses of rounds start … stop - 1 as a table."""
        return self._table(write_losses, start, stop)

    def means(self) -> Matrix:
        """The mean losses of the whole game as a (rounds, arms) table; long games are for `means_block`."""
        return self.means_block(0, self.horizon)

    def means_block(self, start: int, stop: int) -> Matrix:
        """The mean losses of rounds start … stop - 1 as a table."""
        return self._table(write_means, start, stop)

    def planted_path(self) -> Ints:
        """The best arm of every round, in mean."""
        if self.n_switches is None:
            raise OptionError(f"{self!r} has no planted path")
        if self.horizon > MOST_CELLS:
            raise OptionError(f"the planted path has {self.horizon} rounds; accepted are at most {MOST_CELLS}")
        path = np.empty(self.horizon, dtype=np.int64)
        self._run(write_path, 0, path)
        return path

    def mean_losses(self, arms: ArrayLike) -> Vector:
        """The mean losses of playing these arms, one per round from round 0."""
        self._oblivious_only()
        played = parse_played("arms", arms, self.n_arms, self.horizon)
        means = np.empty(played.size)
        self._run(write_path_means, played, means)
        return means

    def _run(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call a compiled loop on the game, which is kept while the loop reads its arrays."""
        game = self.game
        kernel(pack(game), *arguments)

    def _table(self, write: Callable[..., None], start: int, stop: int) -> Matrix:
        """What a compiled loop writes of these rounds."""
        self._oblivious_only()
        stop = parse_whole("stop", stop, 0, self.horizon)
        n_rounds = stop - parse_whole("start", start, 0, stop)
        advice = " at once: take a block of rounds after the other, with losses_block and means_block"
        table = empty_table(n_rounds, self.n_arms, "arms", f"losses{advice}")
        self._run(write, start, table)
        return table

    def _oblivious_only(self) -> None:
        if not self.oblivious:
            raise OptionError(
                f"the losses of {self!r} depend on the arms played, so there is no table of them in advance; "
                "losses_against(played) is the table that a sequence of arms has met"
            )

    def __repr__(self) -> str:
        arms = "1 arm" if self.n_arms == 1 else f"{self.n_arms} arms"
        words = [arms, f"horizon {self.horizon}", *(f"{word}={getattr(self, word)!r}" for word in self.words)]
        return f"<{type(self).__name__}: {'; '.join(words)}>"
