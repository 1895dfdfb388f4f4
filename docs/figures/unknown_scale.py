"""What it costs Turncoat not to know the range of losses: the table of docs/production.md.

Run: python docs/figures/unknown_scale.py, about two minutes. Prints the table. Both learners play the same games, and
regret is against the planted path, in expectation over the noise of losses, in units of losses.
"""

from __future__ import annotations

import numpy as np

import turncoat as tc
from turncoat._compile.games import mean_of, planted_of
from turncoat.environments import scenario
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.loss_range import LossRange
from turncoat.types import Ints, Matrix

ROUNDS = 20_000
SEEDS = 30
SCENARIOS = ("piecewise/10", "real/10", "drift/20")
SPREAD = 0.5  # of the logarithm of a latency


def regrets_in(name: str, seed: int) -> tuple[float, float]:
    """Regret with the range known, which is [0, 1], and unknown."""
    environment = scenario(name, ROUNDS, seed)
    game = environment.game

    def regret(loss_range: LossRange) -> float:
        played = tc.play(Turncoat(environment.n_arms, seed=seed, loss_range=loss_range), environment)
        return float(
            sum(mean_of(game, t, int(arm)) - mean_of(game, t, planted_of(game, t)) for t, arm in enumerate(played))
        )

    return regret((0.0, 1.0)), regret("adaptive")


def latencies(seed: int) -> tuple[Matrix, Matrix]:
    """Of five servers, in milliseconds, log-normal, and their means. Five times another one becomes the fast one."""
    rng = np.random.default_rng(seed)
    medians = np.full((ROUNDS, 5), 120.0)
    for i, rounds in enumerate(np.array_split(np.arange(ROUNDS), 6)):
        medians[rounds, (2 * i) % 5] = 80.0
    return medians * np.exp(SPREAD * rng.normal(size=medians.shape)), medians * np.exp(SPREAD**2 / 2)


def regrets_of_latencies(seed: int, outlier: float = 0.0) -> tuple[float, float]:
    """Regret with the range known, from 0 to the largest latency there will be, and unknown.

    `outlier`: all servers hang once, that long, after a quarter of the rounds.
    """
    losses, means = latencies(seed)
    losses[ROUNDS // 4] = np.maximum(losses[ROUNDS // 4], outlier)

    def regret(loss_range: LossRange) -> float:
        played: Ints = tc.play(Turncoat(5, seed=seed, loss_range=loss_range), losses)
        return float((means[np.arange(ROUNDS), played] - means.min(axis=1)).sum())

    return regret((0.0, float(losses.max()))), regret("adaptive")


def row(name: str, pairs: list[tuple[float, float]]) -> str:
    """Means over seeds, and their ratio with an interval from 4,000 resamplings of seeds."""
    regrets = np.array(pairs)
    known, unknown = regrets.mean(axis=0)
    resampled = regrets[np.random.default_rng(0).integers(0, SEEDS, (4000, SEEDS))].mean(axis=1)
    low, high = np.quantile(resampled[:, 1] / resampled[:, 0], [0.025, 0.975])
    return f"| {name} | {known:,.0f} | {unknown:,.0f} | {unknown / known:.2f} | {low:.2f} – {high:.2f} |"


if __name__ == "__main__":
    print("| game | range known | adaptive | ratio | 95 % interval |\n|---|---|---|---|---|")
    for name in SCENARIOS:
        print(row(f"`{name}`", [regrets_in(name, seed) for seed in range(SEEDS)]), flush=True)
    print(row("latencies", [regrets_of_latencies(seed) for seed in range(SEEDS)]), flush=True)
    print(row("latencies, and once 30 s", [regrets_of_latencies(seed, 30_000.0) for seed in range(SEEDS)]))
