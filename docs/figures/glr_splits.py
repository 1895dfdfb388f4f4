"""What the capped list of candidate splits costs GLR-klUCB: detection delay, false alarms, time per round.

    python docs/figures/glr_splits.py

prints the tables of docs/learners/glr-kl-ucb.md: rewards of one arm under the test alone (threshold "practical",
delta = 1/sqrt(T)), the same 200 streams for every cap; then the learner over a stationary game. Two minutes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import turncoat as tc
from turncoat._compile.jit import jit
from turncoat.learners.parts.glr import LOWER, UPPER, evidence, extend
from turncoat.types import Vector

CAPS = (4, 8, 16, 32, 64, 1_000_000)  # the last is no cap: every corner is kept
STREAMS = 200
LATER = (10**4, 10**5, 10**6)


@jit
def alarm(rewards: Vector, length: int, log_scale: float) -> tuple[int, int]:
    """The pull at which the test first fires, or 0, and the most corners that a chain held."""
    at, sums = np.zeros((2, length)), np.zeros((2, length))
    sizes, total, most = np.ones(2, np.int64), 0.0, 0
    for t in range(rewards.size):
        total += rewards[t]
        beta = 1.5 * np.log(t + 1.0) + log_scale
        found = beta
        for i in range(2):
            at[i, sizes[i]], sums[i, sizes[i]] = t + 1.0, total
            sizes[i] = extend(at[i], sums[i], sizes[i], LOWER if i == 0 else UPPER)
            found = evidence(at[i], sums[i], sizes[i], found)
            most = max(most, sizes[i] - 2)
        if found > beta:
            return t + 1, most
    return 0, most


def step(T: int, change: int, before: float, after: float) -> Vector:
    """Means that jump once."""
    return np.where(np.arange(T) < change, before, after)


def drift(T: int, start: int, first: float, last: float) -> Vector:
    """Means that stand still, then move in a straight line to the end."""
    return np.interp(np.arange(T), [0, start, T - 1], [first, first, last])


GAMES: dict[str, tuple[Vector, int]] = {
    "0.5, 10,000 pulls, delta = 1": (step(10_000, 0, 0.5, 0.5), 10_000),
    "0.5 to 0.7 after 100 pulls": (step(10_000, 100, 0.5, 0.7), 100),
    "0.5 to 0.7 after 5,000": (step(10_000, 5_000, 0.5, 0.7), 5_000),
    "0.5 to 0.55 after 20,000": (step(100_000, 20_000, 0.5, 0.55), 20_000),
    "0.02 to 0.01 after 50,000": (step(100_000, 50_000, 0.02, 0.01), 50_000),
    "0.3 to 0.7 in 20,000 steps": (drift(20_000, 1, 0.3, 0.7), 0),
    "0.3 to 0.7 in 100,000 steps after 100,000": (drift(200_000, 100_000, 0.3, 0.7), 100_000),
    "0.3 to 0.7 in 20,000 steps, no noise": (drift(20_000, 1, 0.3, 0.7), 0),
    "0.3 to 0.7 in 100,000 steps, no noise": (drift(100_000, 1, 0.3, 0.7), 0),
}


def mean_delay(means: Vector, change: int, cap: int, log_scale: float, noisy: bool) -> tuple[float, int, int]:
    """Mean delay, a change that is never seen counting to the end; streams with an alarm before it; most corners."""
    delays, early, corners = [], 0, 0
    for seed in range(STREAMS if noisy else 1):
        chance = np.random.default_rng(seed)
        rewards = (chance.random(means.size) < means).astype(float) if noisy else means
        found, most = alarm(rewards, min(cap // 2, means.size) + 3, log_scale)
        corners = max(corners, most)
        early += 0 < found <= change
        delays.append((found or means.size) - change)
    return float(np.mean(delays)), early, corners


def table() -> None:
    """Print the mean delay of every game and cap; for the game without a change, the false alarms."""
    print("| rewards | " + " | ".join(f"{cap:,}" if cap < 10**6 else "all" for cap in CAPS) + " | corners |")
    print("|---" * (len(CAPS) + 2) + "|")
    for name, (means, change) in GAMES.items():
        delta = 1.0 if "delta = 1" in name else 1.0 / np.sqrt(means.size)
        found = [mean_delay(means, change, cap, np.log(3.0 / delta), "no noise" not in name) for cap in CAPS]
        cells = [f"{early} alarms" if change == means.size else f"{delay:,.0f}" for delay, early, _ in found]
        assert change == means.size or not any(early for _, early, _ in found)
        print(f"| {name} | " + " | ".join(cells) + f" | {found[-1][2]} |", flush=True)


def costs() -> None:
    """Print the processor time per round of 5,000 rounds after 1e4, 1e5 and 1e6 of a stationary game: least of 60."""
    variants: list[dict[str, Any]] = [{}, {"restart": "local"}, {"every": 10}]
    block = tc.environments.Stationary(10, 5_000, seed=2)
    states, best = {}, {}
    for i, words in enumerate(variants):
        for t in LATER:
            learner = tc.GLRklUCB(10, 2 * LATER[-1], seed=1, **words)
            tc.play(learner, tc.environments.Stationary(10, t, seed=1))
            states[i, t], best[i, t] = learner.state(), np.inf
    for _ in range(60):  # in turn, so that whatever else the machine does hits all alike
        for at, state in states.items():
            again = tc.restore(state)
            begin = time.process_time()
            tc.play(again, block)
            best[at] = min(best[at], time.process_time() - begin)
    print("\n| ns per round, K = 10 | at t = 1e4 | 1e5 | 1e6 |")
    print("|---|---|---|---|")
    for i, words in enumerate(variants):
        shown = ", ".join(f"{word}={value!r}" for word, value in words.items()) or "as it comes"
        print(f"| {shown} | " + " | ".join(f"{best[i, t] / block.horizon * 1e9:.0f}" for t in LATER) + " |")


if __name__ == "__main__":
    table()
    costs()
