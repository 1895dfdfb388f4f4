"""What a million outstanding decisions cost the learner: megabytes, and microseconds of ask and tell.

And what ten million rounds, in games of a hundred thousand, add to Turncoat: nothing.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np

import turncoat as tc
from benchmarks.results import Result, Table, Target, best_of, seconds
from turncoat.decision import Decision

N_OUTSTANDING = 1_000_000
K = 10
ROUNDS, GAMES = 100_000, 100  # that Turncoat plays, one game after the other


def learner_of(horizon: int) -> tc.Learner:
    """The learner that is measured."""
    return tc.AdaptiveMasterBase(K, horizon, seed=0)


def megabytes(n: int) -> tuple[float, float]:
    """What Python's allocator has handed out since before the first ask: at the end, and at the most.

    Decisions are discarded at once: memory for keeping them is the caller's.
    """
    learner = learner_of(n)
    learner.forget(learner.ask())  # compile
    tracemalloc.start()
    for _ in range(n):
        learner.ask()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / 1e6, peak / 1e6


def fresh(learner: tc.Learner, n_rounds: int) -> float:
    """Seconds for asks, each told at once."""

    def rounds() -> None:
        for _ in range(n_rounds):
            learner.tell(learner.ask(), 0.5)

    return seconds(rounds)


def late(learner: tc.Learner, waiting: list[Decision]) -> float:
    """Seconds for asks, and as many tells of decisions made long ago, in random order; as many wait as before."""

    def rounds() -> None:
        for decision in waiting:
            learner.ask()
            learner.tell(decision, 0.5)

    return seconds(rounds)


class Size(NamedTuple):
    """A learner after so many rounds: kilobytes of its buffer and of its saved state, and peak megabytes of all."""

    rounds: int
    buffer: float
    saved: float
    process: float


def size_of(learner: tc.Learner) -> Size:
    """How large it is now."""
    buffer = sum(part.nbytes for part in learner.view() if isinstance(part, np.ndarray)) / 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Size(learner.n_told, buffer, len(json.dumps(learner.state())) / 1e3, peak)


def over_time(rounds: int, games: int) -> tuple[Size, Size]:
    """One Turncoat through all games: after the first, and after the last."""
    learner = tc.Turncoat(K, seed=0)
    sizes = []
    for seed in range(games):
        tc.play(learner, tc.environments.Piecewise(K, rounds, 4, gap=0.3, seed=seed))
        if seed in (0, games - 1):
            sizes.append(size_of(learner))
    return sizes[0], sizes[1]


def long_life(quick: bool) -> Result:
    """Turncoat's size over time: flat."""
    early, late = over_time(*(10_000, 10) if quick else (ROUNDS, GAMES))
    rows: list[list[object]] = [[f"after {size.rounds:,} rounds", *size[1:]] for size in (early, late)]
    note = f"Turncoat, K={K}; process: the most it ever had, numba and all"
    table = Table("memory: a long life", note, ["", "buffer, kB", "saved state, kB", "process, MB"], rows)
    promise = f"Turncoat after {late.rounds:,} rounds against {early.rounds:,}: {{}}"
    targets = [
        Target(promise.format("its buffer"), late.buffer / early.buffer, 1.0, at_most=True),
        Target(promise.format("the process"), late.process / early.process, 1.02, at_most=True),
    ]
    return Result([table], targets)


def run(quick: bool) -> Result:
    """Memory and time, with and without the crowd; and over time."""
    flat, crowd = long_life(quick), outstanding(quick)
    return Result([*crowd.tables, *flat.tables], [*crowd.targets, *flat.targets])


def outstanding(quick: bool) -> Result:
    """Memory and time, with and without the crowd."""
    n, n_rounds, repeats = (100_000, 1_000, 3) if quick else (N_OUTSTANDING, 1_000, 50)
    held, peak = megabytes(n)
    empty, crowded = learner_of(3 * n), learner_of(3 * n)
    asked = [crowded.ask() for _ in range(n)]
    waiting = random.Random(0).sample(asked, repeats * n_rounds)
    del asked
    batches = iter([waiting[i * n_rounds : (i + 1) * n_rounds] for i in range(repeats)])
    best = best_of(
        repeats,
        {
            "none": lambda: fresh(empty, n_rounds),
            "all": lambda: fresh(crowded, n_rounds),
            "late": lambda: late(crowded, next(batches)),
        },
    )
    without, with_them, told_late = (best[key] / n_rounds * 1e6 for key in ("none", "all", "late"))
    rows: list[list[object]] = [
        ["held by the learner, MB", held],
        ["at the most, while growing, MB", peak],
        ["ask + tell, none outstanding, µs", without],
        ["ask + tell, all outstanding, µs", with_them],
        ["ask + tell of an old one, all outstanding, µs", told_late],
    ]
    note = f"AdaptiveMasterBase, own, K={K}; MB by tracemalloc; times: best of {repeats} × {n_rounds:,} rounds"
    table = Table(f"memory: {n:,} outstanding decisions", note, ["", "measured"], rows)
    targets = [
        Target(f"{n:,} outstanding decisions: held by the learner", held, 100.0 * n / N_OUTSTANDING, True, "MB"),
        Target(f"{n:,} outstanding decisions: ask + tell against none", with_them / without, 1.2, at_most=True),
    ]
    return Result([table], targets)
