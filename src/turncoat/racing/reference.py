"""References: the comparator of an environment, seed and horizon, computed once for all learners.

A reference holds L*(0), …, L*(S_max) and the mean loss of the planted path at every checkpoint. Losses are streamed
from the environment's function, block by block, so that no horizon needs a table.

Against an adaptive adversary every cell has an AdaptiveComparator: a second, identical adversary is shown the arms that
were played, block by block, and the comparator sees the losses of all arms. So regret is against the best sequence of
arms on these losses, not on those that playing other arms would have caused (it is not policy regret).

Checkpoints: the few hundred rounds at which a race records its numbers, and the blocks of rounds between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.games import loss_of, mean_of, open_game, pack, planted_of, see
from turncoat._compile.jit import jit_game, without_refcount
from turncoat.environments import Environment
from turncoat.environments.environment import write_losses
from turncoat.regret import Comparator
from turncoat.simulate.rounds import outside
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.tables import BLOCK_CELLS, BLOCK_VALUES

N_LINEAR, N_LOGARITHMIC = 100, 100


class Stopped(Exception):
    """Raised between two blocks of rounds when the race is stopped."""


def checkpoints(horizon: int) -> Ints:
    """Numbers of rounds played, in rising order and each once: evenly spaced ones, even ones on a log scale, and T."""
    linear = [horizon * i // N_LINEAR for i in range(1, N_LINEAR + 1)]
    logarithmic = np.geomspace(1, horizon, N_LOGARITHMIC).round().astype(np.int64)
    both = np.union1d(np.array(linear, dtype=np.int64), logarithmic)
    return both[(both >= 1) & (both <= horizon)]


def blocks(t: Ints, size: Callable[[], int], stopping: Callable[[], bool]) -> Iterator[tuple[int, int, int]]:
    """Go from 0 to the last checkpoint, at most size() rounds at a time and never across a checkpoint.

    Yields the row of the next checkpoint and the rounds to play before it: first … stop - 1. It is reached where stop
    is t[row]. Raises Stopped between two blocks if the race is stopping.
    """
    first = 0
    for row, goal in enumerate(t.tolist()):
        while first < goal:
            if stopping():
                raise Stopped
            stop = min(first + size(), goal)
            yield row, first, stop
            first = stop


ROUNDS_AT_ONCE = 1024  # rounds at a time


@jit_game
def write_met(game: Any, first: int, arms: Ints, out: Matrix) -> None:
    """The losses of all arms in the rounds from the first on, a row of `out` each, while these arms are played."""
    game = open_game(game)
    for i in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[i, arm] = loss_of(game, first + i, arm)
        see(game, first + i, arms[i])


def check_losses(environment: Environment, first: int, losses: Matrix) -> None:
    """Refuse losses outside [0, 1], in the rounds from the first on."""
    if losses.size and not (losses.min() >= 0.0 and losses.max() <= 1.0):  # NaN fails both
        i, arm = np.argwhere(~((losses >= 0.0) & (losses <= 1.0)))[0]
        raise outside(environment, float(losses[i, arm]), first + int(i), int(arm), 0.0, 1.0)


class AdaptiveComparator:
    """Sees what an adversary does, and keeps the comparator up to date."""

    def __init__(self, environment: Environment, max_switches: int) -> None:
        self.environment = environment.fresh()
        self.game = self.environment.game
        self.words = pack(self.game)
        self.max_switches = max_switches
        self.comparator = Comparator(environment.n_arms, max_switches)
        self.room = np.empty((ROUNDS_AT_ONCE, environment.n_arms))

    def see(self, first: int, arms: Ints) -> None:
        """Go through the rounds in which these arms were played; what the other arms cost is looked at, too."""
        losses = self.room[: arms.size]
        write_met(self.words, first, arms, losses)
        check_losses(self.environment, first, losses)
        self.comparator.advance(losses)


LEAST_SWITCHES, MOST_SWITCHES = 8, 64  # of the comparator, by default
MOST_SEGMENTS = 1000  # of a planted path that is kept


class Reference(NamedTuple):
    """What learners are measured against: arrays over the n checkpoints, `t` being the rounds played.

    An adaptive adversary's losses depend on the arms played: `best` has no columns then, and the cells have their own.
    """

    t: Ints  # (n,)
    best: Matrix  # (n, S_max + 1) L*(s) of the rounds so far
    planted: Vector  # (n,) cumulative mean loss of the planted path; empty where nothing is planted
    n_switches: int  # of the planted path; -1 where nothing is planted
    starts: Ints  # (m,) where the segments of the planted path begin; empty if they are more than a thousand
    path: Ints  # (m,) their arms


@jit_game
def follow(game: Any, walk: Any, first: int, stop: int) -> None:
    """Follow the planted path through rounds first … stop - 1. `walk`: what `start_walk` returned."""
    game = open_game(game)
    total, n_segments, starts, arms = without_refcount(walk)
    last = arms.size - 1
    for t in range(first, stop):
        arm = planted_of(game, t)
        if arm != arms[last]:
            if n_segments[0] < starts.size:
                starts[n_segments[0]] = t
                arms[n_segments[0]] = arm
            n_segments[0] += 1
            arms[last] = arm
        total[0] += mean_of(game, t, arm)


def start_walk() -> tuple[Vector, Ints, Ints, Ints]:
    """How far the planted path was followed: its mean loss (1,), its number of segments (1,), their starts and arms.

    There is room for the first thousand segments, and in `arms` one place more, for the arm of the present one.
    """
    arms = np.full(MOST_SEGMENTS + 1, -1, dtype=np.int64)
    return np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(MOST_SEGMENTS, dtype=np.int64), arms


def default_switches(n_switches: int | None, horizon: int) -> int:
    """The default S_max: twice the planted switches, at least 8, at most 64, and less than the horizon."""
    wanted = 2 * (n_switches or 0)
    return min(max(LEAST_SWITCHES, min(wanted, MOST_SWITCHES)), horizon - 1)


def compute_reference(
    environment: Environment,
    t: Ints,
    max_switches: int,
    stopping: Callable[[], bool] = lambda: False,
    block: int = 0,
) -> Reference:
    """Stream over the environment up to the last checkpoint; `block` rows at a time, 0 for as many as stay in cache."""
    K, oblivious = environment.n_arms, environment.oblivious
    comparator = Comparator(K, max_switches)
    size = block or max(1, min(BLOCK_VALUES // K, BLOCK_CELLS // (K * (max_switches + 1))))
    is_planted = environment.n_switches is not None
    room = np.empty((size, K)) if oblivious else np.empty((0, K))
    best = np.empty((t.size, max_switches + 1 if oblivious else 0))
    planted = np.empty(t.size if is_planted else 0)
    total, n_segments, starts, arms = walk = start_walk()
    game = environment.game  # kept for as long as its words are used
    words = pack(game)
    for row, first, stop in blocks(t, lambda: size, stopping):
        if oblivious:
            losses = room[: stop - first]
            write_losses(words, first, losses)
            check_losses(environment, first, losses)
            comparator.advance(losses)
            if stop == t[row]:
                best[row] = comparator.losses()
        if is_planted:
            follow(words, walk, first, stop)
            planted[row] = total[0]
    n = int(n_segments[0]) if n_segments[0] <= MOST_SEGMENTS else 0
    n_switches = -1 if environment.n_switches is None else environment.n_switches
    return Reference(t, best, planted, n_switches, starts[:n].copy(), arms[:n].copy())
