"""Nanoseconds per round of `tc.play`, per learner and number of arms, beside a bare loop of two uniforms and one exp.

The game is `Piecewise`, a function of round and arm, so that no table has to be read; Uniform, which learns nothing,
shows what the game and the loop themselves cost.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import TypeAlias

import turncoat as tc
from benchmarks.results import Result, Table, Target, best_of, seconds
from turncoat._compile.jit import jit_game
from turncoat.random import seed_words, uniform
from turncoat.types import Words

ARMS = [2, 10, 100, 1_000, 10_000, 100_000]
N_SWITCHES = 4
GAP = 0.3
Game: TypeAlias = tuple[str, int]  # who plays, and how many arms
BARE: Game = ("bare loop: 2 uniforms, 1 exp", 0)
FREE: Game = ("  the same, rounds not waiting", 0)
TARGET_LEARNER = "AdaptiveMasterBase, own"
TURNCOAT = "Turncoat"
MICROSECONDS = {10: 1.5, 1_000: 6.0}  # K: what a round of Turncoat may take

MAKERS: dict[str, Callable[..., tc.Learner]] = {
    "Uniform": tc.Uniform,
    "Exp3": tc.Exp3,
    "Exp3S": partial(tc.Exp3S, n_switches=N_SWITCHES),
    "ClippedOMD": partial(tc.ClippedOMD, n_switches=N_SWITCHES),
    "MasterBase, own": tc.MasterBase,
    "MasterBase, shared": partial(tc.MasterBase, feedback="shared"),
    "AdaptiveMasterBase, own": tc.AdaptiveMasterBase,
    "AdaptiveMasterBase, shared": partial(tc.AdaptiveMasterBase, feedback="shared"),
    TURNCOAT: tc.Turncoat,
}


@jit_game
def bare_loop(words: Words, n_rounds: int) -> float:
    """Two uniforms and one exp per round; each round waits for the one before, as a learner's must."""
    x = 0.5
    for _ in range(n_rounds):
        x = math.exp(-x * uniform(words)) + uniform(words)
    return x


@jit_game
def bare_throughput(words: Words, n_rounds: int) -> float:
    """The same work in rounds that do not wait for one another: what the processor can overlap."""
    x = 0.0
    for _ in range(n_rounds):
        x += math.exp(-uniform(words)) + uniform(words)
    return x


def make(learner: str, n_arms: int, horizon: int) -> tc.Learner:
    """A fresh learner; parameters that are capped at this horizon are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TuningWarning)
        return MAKERS[learner](n_arms, horizon, seed=1)


def bare_game(loop: Callable[[Words, int], float], n_rounds: int) -> Callable[[], float]:
    """A timing of a bare loop, compiled here."""
    loop(seed_words(0), 10)
    return lambda: seconds(lambda: loop(seed_words(0), n_rounds))


def whole_game(learner: str, n_arms: int, horizon: int) -> Callable[[], float]:
    """A timing of a whole game, compiled here; the learner is new each time."""
    tc.play(make(learner, 2, 100), tc.environments.Piecewise(2, 100, N_SWITCHES, gap=GAP))
    game = tc.environments.Piecewise(n_arms, horizon, N_SWITCHES, gap=GAP, seed=0)

    def once() -> float:
        player = make(learner, n_arms, horizon)
        return seconds(lambda: tc.play(player, game))

    return once


def measure(T: int, repeats: int, learners: Iterable[str] = MAKERS, arms: Iterable[int] = ARMS) -> dict[Game, float]:
    """Nanoseconds per round of every learner at every number of arms, and of the bare loops."""
    timings: dict[Game, Callable[[], float]] = {BARE: bare_game(bare_loop, T), FREE: bare_game(bare_throughput, T)}
    for learner, K in product(learners, arms):
        timings[learner, K] = whole_game(learner, K, T)
    return {game: took / T * 1e9 for game, took in best_of(repeats, timings).items()}


def run(quick: bool) -> Result:
    """The table of all learners, and the targets."""
    T, repeats = (20_000, 3) if quick else (100_000, 25)
    ns = measure(T, repeats)
    rows: list[list[object]] = [[name, ns[name, 0], *[""] * (len(ARMS) - 1)] for name, _ in (BARE, FREE)]
    rows += [[name, *(ns[name, K] for K in ARMS)] for name in MAKERS]
    note = (
        f"best of {repeats}; Piecewise, {N_SWITCHES} switches, gap {GAP}, T = {T:,}; the game and play's checks are "
        "included; in the bare loop each round waits for the last, as a learner's must"
    )
    table = Table("play: ns per round", note, ["learner", *(f"K={K:,}" for K in ARMS)], rows)
    few, many = ns[TARGET_LEARNER, 10], ns[TARGET_LEARNER, 100_000]
    targets = [
        Target(f"{TARGET_LEARNER}: K=10 against the bare loop", few / ns[BARE], 6.0, at_most=True),
        Target(f"{TARGET_LEARNER}: K=100,000 against K=10", many / few, 8.0, at_most=True),
    ]
    for K, limit in MICROSECONDS.items():
        targets.append(Target(f"{TURNCOAT}: a round, K={K:,}", ns[TURNCOAT, K] / 1e3, limit, True, "µs"))
    return Result([table], targets)
