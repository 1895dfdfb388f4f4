"""Where the regret of a master came from: from the master, or from the bases it chose among.

With c_t(h) = <p_{t,h}, l_t>, what base h loses on average in round t, the regret against L*(S) is, for every base h,
    [sum_t l_t(a_t) - sum_t c_t(h)] + [sum_t c_t(h) - L*(S)]
the master's regret against base h, and the base's against the best path. Both theorems of Kim & Yun (TMLR 2025,
appendix A) bound these two parts one by one, in expectation, for a base near S; here they are measured for all bases.

The sums need the losses of all arms, which no learner sees. So an equal learner plays the game again, through the same
loop, and before each of its rounds the losses of all arms are looked up and charged to its bases as they stand. The
game itself, and its time, are those of a race without the split. Cost: O(HK) a round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from turncoat._compile.dispatch import loss_of
from turncoat._compile.jit import borrow, jit_game
from turncoat.environments import Environment
from turncoat.errors import OptionError
from turncoat.learners.base.master import Master
from turncoat.learners.base.omd_bases import expected_loss
from turncoat.racing.cell import Cell
from turncoat.racing.checkpoints import blocks
from turncoat.racing.theory import theorem_of
from turncoat.simulate.loop import Notes, bad_loss, blank_notes, run
from turncoat.types import Ints, Matrix, Vector

MOST_ROUNDS = 10**6  # of a game whose regret is split
BLOCK_CELLS = 10**7  # base × arm × round between two looks at whether to stop


class Tally(NamedTuple):
    """What the loop adds up, and its room for the losses of one round."""

    losses: Vector  # (K,)
    totals: Vector  # (H,) expected loss of every base so far


@jit_game
def run_split(state: Any, game: Any, notes: Notes, tally: Tally, first: int, stop: int, low: float, high: float) -> int:
    """Play rounds first … stop - 1, as `run` does, and charge every base for each before it is played."""
    state = borrow(state)
    game = borrow(game)
    notes = borrow(notes)
    losses, totals = borrow(tally)
    for t in range(first, stop):
        for arm in range(losses.size):
            losses[arm] = loss_of(game, t, arm)
        for h in range(totals.size):
            totals[h] += expected_loss(state.bases, h, losses)
        if run(state, game, notes, t, t + 1, low, high) == t:
            return t
    return stop


def can_split(learner: Any) -> TypeGuard[Master]:
    """Is this one of the paper's masters?"""
    return isinstance(learner, Master)


def parse_split(split: Any, horizon: int) -> bool:
    """Whether to split the regret."""
    if not isinstance(split, bool):
        raise OptionError(f"split is {split!r}; accepted are True and False")
    if split and horizon > MOST_ROUNDS:
        raise OptionError(f"horizon is {horizon} and split is True; accepted are up to {MOST_ROUNDS} rounds with split")
    return split


def split_cell(cell: Cell, twin: Master, environment: Environment, stopping: Callable[[], bool]) -> Cell:
    """The cell with its bases' losses. `twin` is what its learner was before the first round; both are used up."""
    base_loss = split_losses(twin, environment, cell.t, stopping)
    theorem = theorem_of(twin, environment, int(cell.t[-1]))
    return cell._replace(base_loss=base_loss, theorem=theorem, n_arms=environment.n_arms)


def split_losses(
    learner: Master, environment: Environment, t: Ints, stopping: Callable[[], bool] = lambda: False, block: int = 0
) -> Matrix:
    """The expected loss of every base at each checkpoint (n, H). Learner and environment are fresh, and used up."""
    state, game, (low, high) = learner.view(), environment.game, learner.loss_range
    H, K = learner.base_probabilities.shape
    notes, tally = blank_notes(0, 0), Tally(np.zeros(K), np.zeros(H))
    base_loss = np.empty((t.size, H))
    size = block or max(1, BLOCK_CELLS // (H * K))
    run_split(state, game, notes, tally, 0, 0, low, high)  # compiles it, where there are no rounds
    for row, first, stop in blocks(t, lambda: size, stopping):
        reached = run_split(state, game, notes, tally, first, stop, low, high)
        if reached < stop:
            raise bad_loss(environment, game, reached, int(notes.refused[0]), low, high)
        base_loss[row] = tally.totals
    return base_loss
