"""Rounds per second of `tc.race`, beside `tc.play` on a table of the same losses, and beside other libraries' engines.

The game is the scenario stationary/0: ten arms with 0/1 losses, one of them better by 0.3 in mean. The other libraries
play arms of the same means, with draws of their own.

A race does more than play: it computes the reference of every game (the comparator L*(S), once for all learners),
writes down checkpoints and saves each cell to the disk. So it is timed twice: for cells alone, in a folder that has the
references already, as when a learner is added to an older race; and for all of it.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import turncoat as tc
from benchmarks import smpybandits
from benchmarks.peers import PEERS
from benchmarks.results import Result, Table, Target, best_of, seconds
from turncoat.learners.entries import ENTRIES, Maker, make_learner
from turncoat.racing.reference import checkpoints, compute_reference, default_switches

GAME = "stationary/0"
GAMMA = 0.1  # the peers' exploration


class Roster(NamedTuple):
    """Who races, and over how many seeds."""

    entries: dict[str, Maker]
    n_seeds: int


EXP3, SHARED, DEFAULT = "Exp3", "AdaptiveMasterBase, shared", "default roster"
ROSTERS = {
    EXP3: Roster({"exp3": tc.Exp3}, 4),
    SHARED: Roster({"adaptive-master-base, shared": partial(tc.AdaptiveMasterBase, feedback="shared")}, 4),
    DEFAULT: Roster(ENTRIES, 2),
}
PLAY, CELLS, RACE, REFERENCE = "play on a table", "race, cells alone", "race, all of it", "reference"
PYMAB, PYMAB_LOOP, SMPYBANDITS = "pymab, its Experiment", "pymab, its policy in a loop", "SMPyBandits, its Evaluator"
TEAMS = {"1 worker": 1, "all workers": None}

Way: TypeAlias = tuple[str, str]  # how it is played, and by which roster
Timing: TypeAlias = Callable[[], float]


def stream(spawn: int) -> np.random.SeedSequence:
    """What a race of seed 0 gives its first environment (0), and its learners (1)."""
    return np.random.SeedSequence(0, spawn_key=(0, spawn))


def playing(roster: Roster, table: tc.environments.Table) -> Timing:
    """A timing of as many plays as a race of the roster has cells."""

    def games() -> None:
        for maker in [*roster.entries.values()] * roster.n_seeds:
            tc.play(make_learner(maker, table.n_arms, table.horizon, stream(1), 0), table)

    return lambda: seconds(games)


def racing(roster: Roster, horizon: int, workers: int | None, laid: Path | None = None) -> Timing:
    """A timing of a race that saves to the disk, in an empty folder or in a copy of one that has the references."""

    def once() -> float:
        with tempfile.TemporaryDirectory() as room:
            folder = Path(room) / "race"
            if laid is not None:
                shutil.copytree(laid, folder)
            words: dict[str, Any] = {"seeds": roster.n_seeds, "folder": folder, "workers": workers}
            return seconds(lambda: tc.race(roster.entries, GAME, horizon, **words))

    return once


def laying(environment: tc.environments.Environment) -> Timing:
    """A timing of the reference of one game."""
    S = default_switches(environment.n_switches, environment.horizon)
    return lambda: seconds(lambda: compute_reference(environment, checkpoints(environment.horizon), S))


def ours(T: int, laid: Path) -> dict[Way, Timing]:
    """Everything of Turncoat's, compiled here; `laid` becomes a folder with the references."""
    environment = tc.environments.scenario(GAME, T, stream(0))
    table = tc.environments.Table(environment.losses())
    n_seeds = max(roster.n_seeds for roster in ROSTERS.values())
    tc.race({"uniform": tc.Uniform}, GAME, T, seeds=n_seeds, folder=laid)
    shutil.rmtree(laid / "cells")
    timings: dict[Way, Timing] = {(REFERENCE, ""): laying(environment)}
    for name, roster in ROSTERS.items():
        racing(roster, 1_000, 1)()  # compile
        playing(roster, tc.environments.Table(environment.losses_block(0, 1_000)))()
        timings[PLAY, name] = playing(roster, table)
        for team, workers in TEAMS.items():
            timings[f"{CELLS}, {team}", name] = racing(roster, T, workers, laid)
            timings[f"{RACE}, {team}", name] = racing(roster, T, workers)
    return timings


def pymab_experiment(means: Sequence[float], T: int) -> float:
    """Seconds of pymab's own engine, in its Rust core."""
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
    from pymab.policies import EXP3Policy

    def experiment() -> None:
        Experiment(
            environment=BanditEnvironment(means=1.0 - np.array(means), reward_model=BernoulliReward()),
            policies={"exp3": EXP3Policy(n_arms=len(means), gamma=GAMMA)},
            config=ExperimentConfig(horizon=T, n_replicates=1, seed=0, backend="rust"),
        ).run()

    return seconds(experiment)


def pymab_loop(means: Sequence[float], T: int) -> float:
    """Seconds of a loop over the public calls of pymab's policy."""
    play, coins = PEERS["pymab EXP3"](means, GAMMA), np.random.default_rng(0).random(T).tolist()
    return seconds(lambda: play(coins))


def smpybandits_evaluator(means: Sequence[float], T: int) -> float:
    """Seconds of SMPyBandits' own engine."""
    return smpybandits.play([1.0 - mean for mean in means], GAMMA, T)


THEIRS: dict[str, Callable[[Sequence[float], int], float]] = {
    PYMAB: pymab_experiment,
    PYMAB_LOOP: pymab_loop,
    SMPYBANDITS: smpybandits_evaluator,
}


def theirs(T: int) -> tuple[dict[Way, Timing], list[str]]:
    """The EXP3s of other libraries, and what went wrong with those who cannot play."""
    means = tc.environments.scenario(GAME, T, stream(0)).means_block(0, 1)[0].tolist()
    timings: dict[Way, Timing] = {}
    broken = []
    for name, play in THEIRS.items():
        try:
            play(means, 100)
            timings[name, EXP3] = partial(play, means, T)
        except Exception as problem:  # whatever it is: it is said, and the rest goes on
            broken.append(f"{name} failed: {type(problem).__name__}: {problem}")
    return timings, broken


def measure(T: int, T_theirs: int, repeats: int) -> tuple[dict[Way, float], list[str]]:
    """Rounds per second, of all cells together; for the reference, of one game. And what went wrong."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TuningWarning)
        others, broken = theirs(T_theirs)
        took = best_of(repeats, {**ours(T, Path(folder) / "laid"), **others}, enough=10.0)
    n_cells = {name: len(roster.entries) * roster.n_seeds for name, roster in ROSTERS.items()}
    rounds = {way: T_theirs if way in others else n_cells.get(way[1], 1) * T for way in took}
    return {way: rounds[way] / took[way] for way in took}, broken


def run(quick: bool) -> Result:
    """One row for each way to play, and the targets: 0.8 of play, 50 times the peers."""
    T, T_theirs, repeats = (100_000, 5_000, 2) if quick else (1_000_000, 50_000, 10)
    found, broken = measure(T, T_theirs, repeats)
    ways = [PLAY, *(f"{what}, {team}" for what, team in product((CELLS, RACE), TEAMS))]
    shown = {way: speed / 1_000 for way, speed in found.items()}
    rows: list[list[object]] = [[way, *(shown[way, name] for name in ROSTERS)] for way in ways]
    rows += [[name, shown.get((name, EXP3), "failed"), *[""] * (len(ROSTERS) - 1)] for name in THEIRS]
    how = (
        f"best of {repeats}, fewer for the slow; {GAME}, K=10, T = {T:,}, for the peers {T_theirs:,}; races save to "
        f"disk; all of it: with the reference, {1e9 / found[REFERENCE, '']:.0f} ns for each round of a game, shared by "
        "its learners; peers: one thread"
    )
    table = Table("engine: thousands of rounds per second", "; ".join([how, *broken]), ["", *ROSTERS], rows)
    return Result([table], targets(found))


def targets(found: dict[Way, float]) -> list[Target]:
    """One worker against one thread. A loop over a policy measures nothing, so it is compared with cells alone."""
    cells, whole = f"{CELLS}, 1 worker", f"{RACE}, 1 worker"
    against_play = [
        Target(f"{name}: {what}, against {PLAY}", found[what, name] / found[PLAY, name], 0.8, False)
        for what, name in [*((cells, name) for name in ROSTERS), (whole, DEFAULT)]
    ]
    return against_play + [
        Target(f"{EXP3}: {what}, against {name}", found[what, EXP3] / found.get((name, EXP3), math.nan), 50.0, False)
        for what, name in [(whole, PYMAB), (cells, PYMAB_LOOP), (whole, SMPYBANDITS)]
    ]
