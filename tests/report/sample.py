"""Frames from games that were really played, small enough for a test. (The race does this at any size.)"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import SCENARIOS, Environment
from turncoat.errors import TuningWarning
from turncoat.report import Frames
from turncoat.types import Matrix

Maker = Callable[[int, int, Any, int], tc.Learner]

MAKERS: dict[str, Maker] = {
    "adaptive-master-base, shared": lambda K, T, seed, S: tc.AdaptiveMasterBase(K, T, feedback="shared", seed=seed),
    "adaptive-master-base": lambda K, T, seed, S: tc.AdaptiveMasterBase(K, T, seed=seed),
    "master-base": lambda K, T, seed, S: tc.MasterBase(K, T, seed=seed),
    "clipped-omd, told S": lambda K, T, seed, S: tc.ClippedOMD(K, T, n_switches=S, seed=seed),
    "exp3.s, told S": lambda K, T, seed, S: tc.Exp3S(K, T, n_switches=S, seed=seed),
    "exp3": lambda K, T, seed, S: tc.Exp3(K, T, seed=seed),
}
MAX_SWITCHES = 30
Rows = dict[str, list[dict[str, Any]]]


class Ground(NamedTuple):
    """What all learners of one game share."""

    game: Environment
    losses: Matrix
    means: Matrix
    S: int
    checkpoints: list[int]
    best: dict[int, float]  # L*(S) at each checkpoint
    frontier: Any  # L*(0 … MAX_SWITCHES) at the end


def checkpoints(T: int) -> list[int]:
    """Rounds to look at: linear and logarithmic, T among them."""
    linear, logarithmic = np.linspace(T / 40, T, 40), np.geomspace(10, T, 24)
    return sorted({min(T, round(float(t))) for t in (*linear, *logarithmic)})


def ground(name: str, T: int, seed: int) -> Ground:
    """Play nothing yet: the game of one seed and its comparators."""
    game = SCENARIOS[name].make(T, np.random.SeedSequence(0, spawn_key=(seed, 0)))
    losses, S, rounds = game.losses(), game.n_switches or 0, checkpoints(T)
    best = {t: float(tc.best_switching_losses(losses[:t], S)[-1]) for t in rounds}
    return Ground(game, losses, game.means(), S, rounds, best, tc.best_switching_losses(losses, MAX_SWITCHES))


def cell(make: Maker, on: Ground, seed: int) -> tuple[tc.Learner, Iterator[tuple[int, Any]]]:
    """A learner and its game, checkpoint by checkpoint: (rounds so far, arms so far). The learner moves along."""
    T = on.game.horizon
    learner = make(on.game.n_arms, T, np.random.SeedSequence(0, spawn_key=(seed, 1)), on.S)

    def steps() -> Iterator[tuple[int, Any]]:
        arms = np.empty(0, dtype=np.int64)
        for t in on.checkpoints:
            arms = np.concatenate([arms, tc.play(learner, on.losses[len(arms) : t])])
            yield t, arms

    return learner, steps()


def record(rows: Rows, words: dict[str, Any], make: Maker, on: Ground) -> None:
    """Play one cell and write down what a race would."""
    learner, steps = cell(make, on, words["seed"])
    planted = on.means[np.arange(on.game.horizon), on.game.planted_path()].cumsum()
    began, arms = time.perf_counter(), np.empty(0, dtype=np.int64)
    for t, arms in steps:
        lost, mean = (table[np.arange(t), arms].sum() for table in (on.losses, on.means))
        rows["traces"].append({**words, "t": t, "regret": lost - on.best[t], "pseudo_regret": mean - planted[t - 1]})
        share = np.bincount(arms, minlength=on.game.n_arms) / t
        rows["shares"] += [{**words, "t": t, "arm": arm, "share": share[arm]} for arm in range(len(share))]
        if isinstance(learner, tc.MasterBase | tc.AdaptiveMasterBase):
            rho = learner.rho if isinstance(learner, tc.AdaptiveMasterBase) else [None] * len(learner.candidates)
            for h, (candidate, p) in enumerate(zip(learner.candidates, learner.master_probabilities, strict=True)):
                trusted = {"base": h, "candidate": candidate, "probability": p, "rho": rho[h]}
                rows["trust"].append({**words, "t": t, **trusted})
    took = time.perf_counter() - began
    rows["times"].append({**words, "ns_per_round": took / on.game.horizon * 1e9})
    regrets = on.losses[np.arange(on.game.horizon), arms].sum() - on.frontier
    rows["frontier"] += [{**words, "S": s, "regret": regret} for s, regret in enumerate(regrets)]


def standings(frontier: pl.DataFrame, times: pl.DataFrame, switches: dict[str, int]) -> pl.DataFrame:
    """A leaderboard for each environment."""
    rows: list[dict[str, Any]] = []
    for (environment,), frame in frontier.group_by("environment", maintain_order=True):
        at_S = frame.filter(pl.col("S") == min(switches[str(environment)], MAX_SWITCHES))
        board = []
        for (learner,), one in at_S.group_by("learner", maintain_order=True):
            x = one["regret"].to_numpy()
            half = 1.96 * x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan
            took = times.filter(pl.col("learner") == learner, pl.col("environment") == environment)
            board.append(
                {"environment": environment, "learner": learner, "regret": x.mean(), "low": x.mean() - half}
                | {"high": x.mean() + half, "ns_per_round": took["ns_per_round"].min()}
            )
        board.sort(key=lambda row: row["regret"])
        for rank, row in enumerate(board, 1):
            worse = sum(other["high"] < row["low"] for other in board)
            better = sum(other["low"] > row["high"] for other in board)
            rows.append({**row, "rank": rank, "rank_low": worse + 1, "rank_high": len(board) - better})
    return pl.DataFrame(rows)


def growth(names: list[str], makers: dict[str, Maker], horizons: list[int], n_seeds: int) -> pl.DataFrame:
    """Pseudo-regret at the end of games of several horizons."""
    rows = []
    for name in names:
        for T in horizons:
            for seed in range(n_seeds):
                game = SCENARIOS[name].make(T, np.random.SeedSequence(1, spawn_key=(seed, 0)))
                best = game.mean_losses(game.planted_path()).sum()
                losses = game.losses()  # a table: the pairs that `record` has compiled already
                for learner, make in makers.items():
                    stream = np.random.SeedSequence(1, spawn_key=(seed, 1))
                    played = tc.play(make(game.n_arms, T, stream, game.n_switches or 0), losses)
                    words = {"environment": name, "learner": learner, "seed": seed, "horizon": T}
                    rows.append({**words, "regret": game.mean_losses(played).sum() - best})
    return pl.DataFrame(rows)


def sample(names: list[str], makers: dict[str, Maker], T: int = 4000, n_seeds: int = 3) -> Frames:
    """A race of these learners on these scenarios, with everything a report can draw."""
    rows: Rows = {name: [] for name in ("games", "traces", "frontier", "shares", "planted", "trust", "times")}
    switches = dict.fromkeys(names, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TuningWarning)
        for name in names:
            for seed in range(n_seeds):
                on = ground(name, T, seed)
                switches[name] = max(switches[name], on.S)
                path = on.game.planted_path()
                starts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist()]
                rows["planted"] += [
                    {"environment": name, "seed": seed, "start": start, "arm": int(path[start])} for start in starts
                ]
                for learner, make in makers.items():
                    record(rows, {"environment": name, "learner": learner, "seed": seed}, make, on)
            words = {"horizon": T, "n_arms": on.game.n_arms, "n_switches": switches[name]}
            rows["games"].append({"environment": name, **words, "description": SCENARIOS[name].description})
        grown = growth(names, makers, [T // 16, T // 4, T], n_seeds)
    frames = {name: pl.DataFrame(table, infer_schema_length=None) for name, table in rows.items()}
    board = standings(frames["frontier"], frames["times"], switches)
    about = {"machine": "the machine of the tests", "seeds": str(n_seeds), "turncoat": tc.__version__}
    return Frames(**frames, growth=grown, leaderboard=board, title="Turncoat: the sample race", about=about)


def crowd(frames: Frames, n: int) -> Frames:
    """The same race with n learners: the ones there are, again and again under further names."""
    learners = frames.learners()
    names = {one: [f"{one} {i}" for i in range(math.ceil(n / len(learners)))] for one in learners}
    kept = [names[one][i] for i in range(math.ceil(n / len(learners))) for one in learners][:n]
    shift = {name: i for i, name in enumerate(kept)}
    many: dict[str, pl.DataFrame] = {}
    for field in fields(frames):
        frame = getattr(frames, field.name)
        if isinstance(frame, pl.DataFrame) and "learner" in frame.columns:
            again = frame.with_columns(pl.col("learner").replace_strict(names)).explode("learner")
            again = again.filter(pl.col("learner").is_in(kept))
            if "regret" in again.columns:  # no two the same
                grown = 1 + 0.04 * pl.col("learner").replace_strict(shift)
                again = again.with_columns(pl.col("^(regret|low|high)$") * grown)
            many[field.name] = again
    place = pl.col("regret").rank("ordinal").over("environment").cast(pl.Int64)
    many["leaderboard"] = many["leaderboard"].with_columns(rank=place, rank_low=place, rank_high=place)
    return replace(frames, **many)  # type: ignore[arg-type]
