"""What AdSwitch's bounded memory costs, what its constants are worth, and its time per round.

    python docs/figures/ad_switch.py

prints the tables of docs/learners/ad-switch.md. Three minutes.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np

import turncoat as tc
from turncoat._compile.jit import jit
from turncoat.learners.parts.dyadic import moment, n_rows
from turncoat.types import Matrix, Vector

STREAMS = 100
LATER = (10**4, 10**5, 10**6)
THEORY = {"confidence": 2.0, "elimination": 16.1, "precision": 16.0, "exploration": 1.0}


@jit
def alarm(rewards: Vector, c: float, kept: bool) -> int:
    """The sample of an arm at which (3) first holds, or the last one."""
    sums = np.zeros(rewards.size + 1)
    lo, hi = 0.0, 1.0
    for t in range(1, rewards.size + 1):
        sums[t] = sums[t - 1] + rewards[t - 1]
        for i in range(n_rows(t - 1, 60) if kept else t):
            before = moment(t - 1, i) if kept else i
            n = t - before
            mean, width = (sums[t] - sums[before]) / n, math.sqrt(c / n)
            lo, hi = max(lo, mean - width), min(hi, mean + width)
        if lo > hi:
            return t
    return rewards.size


@jit
def rejection(rewards: Matrix, e: float, kept: bool) -> int:
    """The pair of samples of two arms, played in turn, at which (6) first holds for the second; or the last one."""
    sums = np.zeros((len(rewards) + 1, 2))
    for t in range(1, len(rewards) + 1):
        sums[t] = sums[t - 1] + rewards[t - 1]
        for i in range(n_rows(t - 1, 60) if kept else t):
            before = moment(t - 1, i) if kept else i
            n = t - before
            gap = (sums[t, 0] - sums[before, 0] - sums[t, 1] + sums[before, 1]) / n
            if gap > 0.0 and gap * gap * (n - 1) > e:
                return t
    return len(rewards)


def delays() -> None:
    """Print mean delays of the tests for changes and for worse arms, with all starts and with those that are kept."""
    print("| | all starts | those kept | later by |")
    print("|---|--:|--:|--:|")
    for T, change, before, after in ((10**5, 2000, 0.3, 0.6), (10**5, 500, 0.1, 0.9), (10**5, 5000, 0.5, 0.7)):
        for confidence in (0.5, 2.0):
            found = [[], []]  # type: list[list[int]]
            for seed in range(STREAMS):
                chance = np.random.default_rng(seed)
                means = np.repeat([before, after], [change, 2 * change + 4000])
                rewards = chance.random(means.size) < means
                for kept in (False, True):
                    found[kept].append(alarm(rewards.astype(float), confidence * math.log(T), kept) - change)
            assert min(map(min, found)) > 0 and max(map(max, found)) < 2 * change + 4000
            line(f"change {before} to {after} after {change:,}, `confidence={confidence:g}`", found)
    for change, gap in ((0, 0.3), (1000, 0.3), (5000, 0.2)):
        for elimination in (0.5, 16.1):
            found = [[], []]
            for seed in range(STREAMS):
                chance = np.random.default_rng(seed)
                later = (np.arange(change + 20_000) >= change)[:, None]
                rewards = chance.random((change + 20_000, 2)) < 0.6 - np.array([0.0, gap]) * later
                for kept in (False, True):
                    found[kept].append(rejection(rewards.astype(float), elimination * math.log(1e5), kept) - change)
            early = sum(delay <= 0 for delay in found[0])
            found = [[delay for delay, one in zip(each, found[0], strict=True) if one > 0] for each in found]
            name = f"worse by {gap} after {change:,}, `elimination={elimination:g}`"
            line(name + f" ({early} early)" * (early > 0), found)


def line(name: str, found: list[list[int]]) -> None:
    """Print one line of the table."""
    full, kept = (float(np.mean(delay)) for delay in found)
    print(f"| {name} | {full:,.0f} | {kept:,.0f} | {kept / full - 1:.0%} |", flush=True)


def race() -> None:
    """Print the regret of some constants and rivals."""
    makers: dict[str, Any] = {
        "ad-switch": tc.AdSwitch,
        "`exploration=1`": partial(tc.AdSwitch, exploration=1.0),
        "`elimination=1`": partial(tc.AdSwitch, elimination=1.0),
        "`precision=16`": partial(tc.AdSwitch, precision=16.0),
        "`confidence=2`": partial(tc.AdSwitch, confidence=2.0),
        "the paper's constants": partial(tc.AdSwitch, **THEORY),  # type: ignore[arg-type]
        "`glr-kl-ucb`": tc.GLRklUCB,
        "`glr-kl-ucb`, `exploration=0.1`": partial(tc.GLRklUCB, exploration=0.1),
        "`exp3.s, told S`": tc.told(tc.Exp3S),
        "`uniform`": tc.Uniform,
    }
    games = ["stationary/0", "flip/3", "flip/10", "piecewise/10", "close/10"]
    cells: dict[str, list[str]] = {name: [] for name in makers}
    for T, names in ((10**5, games), (10**6, ["flip/10"])):
        board = tc.race(makers, environments=names, horizon=T, seeds=10, seed=0).leaderboard()
        for name in names:
            for row in board.filter(board["environment"] == name).iter_rows(named=True):
                cells[row["learner"]].append(f"{row['regret']:,.0f} ± {row['high'] - row['regret']:,.0f}")
    print("\n| | " + " | ".join([*games, "flip/10, T = 1e6"]) + " |\n" + "|---" * 7 + "|")
    for name, entries in cells.items():
        print(f"| {name} | " + " | ".join(entries) + " |")


def costs() -> None:
    """Print the processor time per round of 5,000 rounds after 1e4, 1e5 and 1e6, K = 10: least of 40."""
    variants: dict[str, tuple[dict[str, Any], float]] = {
        "as it comes, gap 0.3": ({}, 0.3),
        "all arms alike, none rejected": ({"elimination": 100.0, "confidence": 2.0}, 0.0),
        "the paper's constants, gap 0.3": (THEORY, 0.3),
    }
    best = {}
    for name, (words, gap) in variants.items():
        block = tc.environments.Stationary(10, 5_000, gap=gap, seed=2)
        for t in LATER:
            learner = tc.AdSwitch(10, 2 * LATER[-1], seed=1, **words)
            tc.play(learner, tc.environments.Stationary(10, t, gap=gap, seed=1))
            assert learner.n_restarts == 0  # or its history would be shorter than t
            state, best[name, t] = learner.state(), np.inf
            for _ in range(40):
                again = tc.restore(state)
                begin = time.process_time()
                tc.play(again, block)
                best[name, t] = min(best[name, t], time.process_time() - begin)
    print("\n| ns per round, K = 10 | at t = 1e4 | 1e5 | 1e6 |\n|---|--:|--:|--:|")
    for name in variants:
        print(f"| {name} | " + " | ".join(f"{best[name, t] / 5_000 * 1e9:.0f}" for t in LATER) + " |")


if __name__ == "__main__":
    delays()
    race()
    costs()
