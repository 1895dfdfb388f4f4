"""Race learners over the same games and say how each did, with an interval over the seeds.

Streams: SeedSequence(seed, spawn_key=(i, 0)) makes the environment of seed i and (i, 1) every learner, so all learners
meet the same losses, and adding one changes nothing for the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from turncoat.environments import Piecewise
from turncoat.play import play
from turncoat.race.entries import Maker
from turncoat.regret import best_switching_losses
from turncoat.types import Vector


class Standing(NamedTuple):
    """How one learner did: one number a seed."""

    learner: str
    pseudo_regret: Vector  # mean loss above the planted path
    exact_regret: Vector  # loss above L*(S), the best path with S switches in hindsight
    ns_per_round: float  # the fastest seed, compiling left out

    @property
    def mean(self) -> float:
        """The mean pseudo-regret."""
        return float(self.pseudo_regret.mean())

    @property
    def half_width(self) -> float:
        """Half of Student's 95 % interval for the mean; NaN for a single seed."""
        n = len(self.pseudo_regret)
        return student_975(n - 1) * float(self.pseudo_regret.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan


def student_975(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, within 0.1 % beyond.

    The expansion in 1/freedom is that of G. W. Hill, "Algorithm 396: Student's t-quantiles", Comm. ACM 13 (1970).
    """
    if freedom == 1:
        return math.tan(0.475 * math.pi)
    if freedom == 2:
        return 0.95 * math.sqrt(2.0 / (1.0 - 0.95**2))
    z = 1.959963984540054
    terms = (
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
        (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0,
    )
    return z + math.fsum(term / freedom ** (i + 1) for i, term in enumerate(terms))


def standings(
    makers: Mapping[str, Maker],
    environment: Callable[[np.random.SeedSequence], Piecewise],
    n_seeds: int,
    seed: int,
    on_finish: Callable[[str, int], Any] = lambda learner, i: None,
) -> list[Standing]:
    """Every maker's learner plays the environment of every seed. `on_finish(learner, i)` is called after each game."""
    pseudo = {name: np.empty(n_seeds) for name in makers}
    exact = {name: np.empty(n_seeds) for name in makers}
    fastest = dict.fromkeys(makers, math.inf)
    for make in makers.values():  # compile first, so that no clock sees it
        play(make(2, 1000, seed=0, n_switches=0), Piecewise(2, 1, 0))
    for i in range(n_seeds):
        game = environment(np.random.SeedSequence(seed, spawn_key=(i, 0)))
        losses, S = game.losses(), game.n_switches
        best = best_switching_losses(losses, S)[S]
        planted = game.mean_losses(game.planted_path()).sum()
        for name, make in makers.items():
            stream = np.random.SeedSequence(seed, spawn_key=(i, 1))
            learner = make(game.n_arms, game.horizon, seed=stream, n_switches=S)
            began = time.perf_counter()
            played = play(learner, game)
            fastest[name] = min(fastest[name], (time.perf_counter() - began) / game.horizon * 1e9)
            pseudo[name][i] = game.mean_losses(played).sum() - planted
            exact[name][i] = losses[np.arange(game.horizon), played].sum() - best
            on_finish(name, i)
    return [Standing(name, pseudo[name], exact[name], fastest[name]) for name in makers]


def leaderboard(results: list[Standing]) -> list[Standing]:
    """Best first, by mean pseudo-regret."""
    return sorted(results, key=lambda standing: standing.mean)
