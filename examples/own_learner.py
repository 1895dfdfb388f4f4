"""A learner of your own, raced against ours: the same rule first in plain Python, then compiled.

The rule is epsilon-greedy with a short memory: play the arm that looks best, now and then any other, and let each
estimate follow the losses as a running average, so that old ones fade (R. S. Sutton, A. G. Barto, "Reinforcement
Learning", 2nd edition 2018, equation 2.5). The two differ in nothing but their random numbers, and in speed.

    python examples/own_learner.py            # 10,000 rounds, 10 seeds
    python examples/own_learner.py --quick    # 2,000 rounds, 3 seeds
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

import turncoat as tc
from turncoat import statistics
from turncoat.learners import State, array, jit_rule, register_learner
from turncoat.random import uniform
from turncoat.types import Label, Seed, Vector

EPSILON = 0.1  # how often any arm is played
STEP = 0.05  # how fast an estimate follows: it remembers about 1/STEP losses


# -- in plain Python: anything with ask and tell can race ------------------------------------------------------------


class Greedy:
    """A maker is called as Greedy(arms, horizon, seed=…); ask returns an index, which comes back with its loss."""

    def __init__(self, arms: int, horizon: int | None = None, *, seed: Any = None) -> None:
        self.chance = np.random.default_rng(seed)
        self.estimates = [0.0] * arms  # below what any arm costs: each is tried until it looks worse

    def ask(self) -> int:
        """Any arm with probability EPSILON, else the one that looks best."""
        if self.chance.random() < EPSILON:
            return int(self.chance.random() * len(self.estimates))
        return self.estimates.index(min(self.estimates))

    def tell(self, arm: int, loss: float) -> None:
        """Let the estimate follow."""
        self.estimates[arm] += STEP * (loss - self.estimates[arm])


# -- the same, compiled: it runs in the fast loop, and can all that our learners can ---------------------------------


class GreedyState(State):
    """The learner's buffer, declared: K is the first field. Random words and clock every learner has."""

    K: int
    estimates: Vector = array("K")


@jit_rule
def probability(state: GreedyState, arm: int) -> float:
    """EPSILON is shared out; the arm that looks best has the rest."""
    return EPSILON / state.estimates.size + (1.0 - EPSILON if arm == np.argmin(state.estimates) else 0.0)


@jit_rule
def ask(state: GreedyState) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    if uniform(state.rng) < EPSILON:
        arm = int(uniform(state.rng) * state.estimates.size)
    else:
        arm = int(np.argmin(state.estimates))
    return arm, probability(state, arm)


@jit_rule
def tell(state: GreedyState, choice: tuple[int, float], loss: float) -> None:
    """Count the round and let the estimate follow."""
    arm = choice[0]
    state.clock[0] += 1
    state.estimates[arm] += STEP * (loss - state.estimates[arm])


register_learner(GreedyState, ask=ask, tell=tell, probability=probability)


class CompiledGreedy(tc.Learner):
    """The class around the kernels. `start` is given the state's constants; the rest of the buffer is 0."""

    name = "greedy"
    state_type = GreedyState
    uses_horizon = False  # nothing in it is tuned by T, and nothing divided by a propensity
    uses_propensity = False

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        self.start(K=self.n_arms)


# -- the race --------------------------------------------------------------------------------------------------------

OURS = "turncoat"
LEARNERS: dict[str, Callable[..., Any]] = {
    "yours": Greedy,
    "yours, compiled": CompiledGreedy,
    OURS: tc.Turncoat,
    "exp3.s, told S": tc.told(tc.Exp3S),
}
GAMES = ["flip/3", "piecewise/10", "levels/500"]  # two arms in turns, many arms in turns, changes that are none


def paired(result: tc.Result, game: str, one: str, other: str) -> str:
    """Regret of one learner minus that of another, seed by seed, with its interval."""
    last = result.traces.filter(pl.col("t") == pl.col("t").max(), environment=game)
    regrets = [last.filter(learner=name)["pseudo_regret"].to_numpy() for name in (one, other)]
    value, low, high = (part[0, 1] for part in statistics.differences(regrets))
    return f"{game}: {one} minus {other}: {value:.1f}, from {low:.1f} to {high:.1f}"


def main() -> None:
    """Race, and show who did how well."""
    words = argparse.ArgumentParser(description="Race a learner of your own against ours.")
    words.add_argument("--quick", action="store_true", help="2,000 rounds and 3 seeds")
    words.add_argument("--folder", help="keep the results there; what it holds already is not played again")
    chosen = words.parse_args()
    horizon, seeds = (2_000, 3) if chosen.quick else (10_000, 10)
    result = tc.race(LEARNERS, GAMES, horizon, seeds=seeds, folder=chosen.folder)
    board = result.leaderboard().select("environment", "rank", "learner", "regret", "low", "high", "ns_per_round")
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_width_chars=120,
        tbl_rows=-1,
        tbl_cols=-1,
        float_precision=1,
    ):
        print(board)
    print(f"regret after {horizon:,} rounds, mean over {seeds} seeds, with a 95 % interval from low to high\n")
    for game in GAMES:
        print(paired(result, game, "yours", OURS))
    print("below 0, the first lost less; an interval around 0 tells nothing apart; each speaks for its own game only")


if __name__ == "__main__":
    main()
