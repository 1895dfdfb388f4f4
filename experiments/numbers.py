"""What the tables say: ratios of regrets game by game, their geometric means over games, and whom to compare with.

A ratio is (R + r0)/(R' + r0) with the mean regrets of two players, none counted below 0, and r0 = ¼√(KT). Its interval
is over the repetitions, which both met alike; that of a geometric mean is over the games. Both are 95 % intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.games import Game
from turncoat.statistics import means
from turncoat.statistics.estimate import estimate
from turncoat.types import Floats

LEVEL = 0.95


class Span(NamedTuple):
    """A number and its interval."""

    value: float
    low: float
    high: float


class Board(NamedTuple):
    """Regrets over (games, players, repetitions)."""

    games: list[Game]
    players: list[str]
    regrets: Floats

    def of(self, player: str) -> Floats:
        """The regrets of one player, over (games, repetitions)."""
        return self.regrets[:, self.players.index(player)]

    def only(self, chosen: Sequence[str]) -> Board:
        """The same with these players alone."""
        return self._replace(
            players=list(chosen), regrets=self.regrets[:, [self.players.index(player) for player in chosen]]
        )


def mean(regrets: Floats) -> Span:
    """Mean regret."""
    return Span(*(float(part) for part in means(regrets, level=LEVEL)))


def raised_to(logs: Iterable[float]) -> Span:
    """A number and its interval from their logarithms, which a single repetition leaves without ends."""
    with np.errstate(over="ignore"):
        return Span(*(float(np.exp(part)) for part in logs))


def ratio(mine: Floats, theirs: Floats, offset: float) -> Span:
    """My regret over theirs in one game, from the regrets of each repetition."""

    def log_ratio(found: Floats) -> tuple[Floats, Floats]:
        raised = np.maximum(found, 0.0) + offset
        signs = np.array([1.0, -1.0])
        return (np.log(raised) * signs).sum(axis=-1), np.where(found > 0.0, signs / raised, 0.0)

    logs = estimate(np.stack([mine, theirs], axis=-1), log_ratio, LEVEL, "t")
    return raised_to(float(part) for part in logs)


def ratios(board: Board, player: str, rival: str) -> list[Span]:
    """A player over a rival, game by game."""
    pairs = zip(board.games, board.of(player), board.of(rival), strict=True)
    return [ratio(mine, theirs, game.offset) for game, mine, theirs in pairs]


def geometric(values: Sequence[float]) -> Span:
    """The geometric mean over games."""
    return raised_to(mean(np.log(np.array(values))))


def best_of(board: Board, rivals: Sequence[str]) -> list[str]:
    """The rival of least mean regret, game by game: known only afterwards."""
    found = board.only(rivals).regrets.mean(axis=2).argmin(axis=1)
    return [rivals[i] for i in found]


def against_best(board: Board, player: str, rivals: Sequence[str]) -> list[Span]:
    """A player over the best rival, game by game."""
    rows = zip(board.games, board.of(player), best_of(board, rivals), range(len(board.games)), strict=True)
    return [ratio(mine, board.of(rival)[i], game.offset) for game, mine, rival, i in rows]


def against_picked(board: Board, player: str, rivals: Sequence[str]) -> list[float]:
    """The same where the rival is picked by half of the repetitions and met in the others, both ways round.

    The best of many on the very repetitions it is measured on is too good by luck; this is not.
    """
    halves = [board._replace(regrets=board.regrets[..., start::2]) for start in (0, 1)]
    found = np.zeros(len(board.games))
    for picked, met in (halves, halves[::-1]):
        for i, (game, rival) in enumerate(zip(board.games, best_of(picked, rivals), strict=True)):
            found[i] += math.log(ratio(met.of(player)[i], met.of(rival)[i], game.offset).value) / 2
    return [math.exp(value) for value in found]
