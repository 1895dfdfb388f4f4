"""The ground of a race: what all learners of one environment share, computed once.

The comparator L*(0), …, L*(S_max) and the mean loss of the planted path at every checkpoint, streamed from the
environment's function block by block: no table, whatever the horizon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from turncoat._compile.dispatch import mean_of, planted_of
from turncoat._compile.jit import borrow, jit_game
from turncoat.environments import Environment
from turncoat.environments.environment import write_losses
from turncoat.racing.checkpoints import blocks
from turncoat.racing.witness import check_losses
from turncoat.regret import Comparator
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.tables import BLOCK_CELLS, BLOCK_VALUES

LEAST_SWITCHES, MOST_SWITCHES = 8, 64  # of the comparator, where nobody says how many
MOST_SEGMENTS = 1000  # of a planted path that is kept


class Ground(NamedTuple):
    """What learners are measured against: arrays over the n checkpoints, `t` being the rounds played.

    An adaptive adversary's losses depend on the arms played: `best` has no columns then, and the cells have their own.
    """

    t: Ints  # (n,)
    best: Matrix  # (n, S_max + 1) L*(s) of the rounds so far
    planted: Vector  # (n,) cumulative mean loss of the planted path; empty where nothing is planted
    n_switches: int  # of the planted path; -1 where nothing is planted
    starts: Ints  # (m,) where the segments of the planted path begin; empty if they are more than a thousand
    path: Ints  # (m,) their arms


class Walk(NamedTuple):
    """How far the planted path was followed."""

    total: Vector  # (1,) its mean loss
    n_segments: Ints  # (1,)
    starts: Ints  # as many of its segments as there is room for …
    arms: Ints  # … and one place more for the arm of the present one


@jit_game
def follow(game: Any, walk: Walk, first: int, stop: int) -> None:
    """Follow the planted path through rounds first … stop - 1."""
    game = borrow(game)
    total, n_segments, starts, arms = borrow(walk)
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


def start_walk() -> Walk:
    """Before the first round."""
    arms = np.full(MOST_SEGMENTS + 1, -1, dtype=np.int64)
    return Walk(np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(MOST_SEGMENTS, dtype=np.int64), arms)


def default_switches(n_switches: int | None, horizon: int) -> int:
    """S_max where nobody says: twice what was planted, from 8 to 64, and never more than a game can have."""
    wanted = 2 * (n_switches or 0)
    return min(max(LEAST_SWITCHES, min(wanted, MOST_SWITCHES)), horizon - 1)


def lay_ground(
    environment: Environment,
    t: Ints,
    max_switches: int,
    stopping: Callable[[], bool] = lambda: False,
    block: int = 0,
) -> Ground:
    """Stream over the environment up to the last checkpoint; `block` rows at a time, 0 for as many as stay in cache."""
    K, oblivious = environment.n_arms, environment.oblivious
    comparator = Comparator(K, max_switches)
    size = block or max(1, min(BLOCK_VALUES // K, BLOCK_CELLS // (K * (max_switches + 1))))
    is_planted = environment.n_switches is not None
    room = np.empty((size, K)) if oblivious else np.empty((0, K))
    best = np.empty((t.size, max_switches + 1 if oblivious else 0))
    planted = np.empty(t.size if is_planted else 0)
    walk = start_walk()
    for row, first, stop in blocks(t, lambda: size, stopping):
        if oblivious:
            losses = room[: stop - first]
            write_losses(environment.game, first, losses)
            check_losses(environment, first, losses)
            comparator.advance(losses)
            if stop == t[row]:
                best[row] = comparator.losses()
        if is_planted:
            follow(environment.game, walk, first, stop)
            planted[row] = walk.total[0]
    n = int(walk.n_segments[0]) if walk.n_segments[0] <= MOST_SEGMENTS else 0
    n_switches = -1 if environment.n_switches is None else environment.n_switches
    return Ground(t, best, planted, n_switches, walk.starts[:n].copy(), walk.arms[:n].copy())
