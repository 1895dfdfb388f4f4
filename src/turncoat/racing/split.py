"""Where the regret of a master came from: from the master, or from the bases it chose among.

With c_t(h) = <p_{t,h}, l_t>, what base h loses on average in round t, the regret against L*(S) is, for every base h,
    [sum_t l_t(a_t) - sum_t c_t(h)] + [sum_t c_t(h) - L*(S)]
the master's regret against base h, and the base's against the best path. Both theorems of Kim & Yun (TMLR 2025,
appendix A) bound these two parts one by one, in expectation, for a base near S; here they are measured for all bases.

The sums need the losses of all arms, which no learner sees. So an equal learner plays the game again, through the same
loop, and before each of its rounds the losses of all arms are looked up and charged to its bases as they stand. The
game itself, and its time, are those of a race without the split. Cost: O(HK) per round.

The bounds of the paper's theorems for a finished game of one of its masters.

Theorem 1 is for `MasterBase` and Theorem 2 for `AdaptiveMasterBase`, as the paper has them: own feedback, exact
projection, tuned for the race's horizon, losses in [0, 1], an adversary that does not look at the arms played. S is
what was planted. Theorem 2 is evaluated with the rho that its base h* had in the end; rho never falls, so that is its
largest. Both bound expectations, and so does the mean over many seeds; that of one game is a figure and no guarantee
(docs/regret.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeGuard

import numpy as np

from turncoat._compile.dispatch import view_of
from turncoat._compile.games import loss_of, open_game
from turncoat._compile.jit import jit_game, without_refcount
from turncoat.bounds import Bound, theorem_1, theorem_2
from turncoat.environments import Environment
from turncoat.errors import OptionError
from turncoat.learners import AdaptiveMasterBase, MasterBase
from turncoat.learners.base.master import Master
from turncoat.learners.base.omd_bases import expected_loss
from turncoat.racing.cell import Cell
from turncoat.racing.reference import Reference, blocks
from turncoat.simulate.loop import play_rounds
from turncoat.simulate.rounds import bad_loss, blank_notes, game_of
from turncoat.types import Ints, Matrix

MOST_ROUNDS = 10**6  # of a game whose regret is split
BLOCK_CELLS = 10**7  # base × arm × round between two looks at whether to stop


@cache
def split_loop(State: Any) -> Callable[..., int]:
    """The loop of masters with this state: as `loop_of` has it, and every base is charged before each round.

    `tally`: room for the losses of one round, (K,), and the expected loss of every base so far, (H,).
    """

    @jit_game
    def run_split(parts: Any, game: Any, notes: Any, tally: Any, first: int, stop: int, low: float, high: float) -> int:
        state = view_of(State, without_refcount(parts))
        game, (notes, (losses, totals)) = open_game(game), without_refcount((notes, tally))
        for t in range(first, stop):
            for arm in range(losses.size):
                losses[arm] = loss_of(game, t, arm)
            for h in range(totals.size):
                totals[h] += expected_loss(state, h, losses)
            if play_rounds(state, game, notes, t, t + 1, low, high) == t:
                return t
        return stop

    return run_split


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
    game, (low, high) = game_of(environment), learner.loss_range
    run = split_loop(learner.state_type)
    H, K = learner.base_probabilities.shape
    notes, tally = blank_notes(0, 0), (np.zeros(K), np.zeros(H))
    base_loss = np.empty((t.size, H))
    size = block or max(1, BLOCK_CELLS // (H * K))
    run(learner.parts, game.words, tuple(notes), tally, 0, 0, low, high)  # compiles it, where there are no rounds
    for row, first, stop in blocks(t, lambda: size, stopping):
        reached = run(learner.parts, game.words, tuple(notes), tally, first, stop, low, high)
        if reached < stop:
            raise bad_loss(environment, notes, reached, low, high)
        base_loss[row] = tally[1]
    return base_loss


MASTER_TERMS = ("clipping the master", "starting the master", "master variance", "rising master rates")
BASE_TERMS = ("clipping the bases", "switches", "falling base rate", "base variance")
COLUMNS = {name: name.replace(" ", "_") for name in (*MASTER_TERMS, *BASE_TERMS)}
BOUNDS = ("theorem", "S", "base", "candidate", "rho", "bound", "master_bound", "base_bound", *COLUMNS.values())


def theorem_of(learner: Master, environment: Environment, horizon: int) -> str:
    """The theorem that bounds the learner's regret: "1", "2 paper" or "2 theorem" (its rate); "" where none does."""
    in_range = learner.loss_range == (0.0, 1.0) and learner.horizon == horizon
    as_in_paper = learner.feedback == "own" and learner.projection == "exact"
    if not (environment.oblivious and in_range and as_in_paper):
        return ""
    if isinstance(learner, AdaptiveMasterBase):
        return f"2 {learner.rate}"
    return "1" if isinstance(learner, MasterBase) else ""


def bound_of(cell: Cell, reference: Reference) -> Bound | None:
    """The bound of the cell's theorem for the planted S, with the rho of the game; None where there is none."""
    T, K, S = int(cell.t[-1]), cell.n_arms, reference.n_switches
    theorem, _, rate = cell.theorem.partition(" ")
    if not theorem or S < 0:
        return None
    if theorem == "1":
        return theorem_1(T, K, S)
    before: Any = {"rate": rate}
    base = int(theorem_2(T, K, S, **before).parameters["base"])
    return theorem_2(T, K, S, **before, rho=float(cell.rho[-1, base]))


def bounds_of(cell: Cell, reference: Reference) -> dict[str, Any]:
    """The row of a cell in the frame of bounds, NaN where nothing is known; no row if it was not split."""
    if not cell.base_loss.size:
        return dict.fromkeys(BOUNDS, np.empty(0))
    bound = bound_of(cell, reference)
    if bound is None:
        return dict.fromkeys(BOUNDS, np.array([math.nan]))
    terms = {term.name: term.value for term in bound.terms}
    parts = {
        "master_bound": math.fsum(terms.get(name, 0.0) for name in MASTER_TERMS),
        "base_bound": math.fsum(terms.get(name, 0.0) for name in BASE_TERMS),
    }
    row = {
        "theorem": int(cell.theorem[0]),
        "S": reference.n_switches,
        "base": int(bound.parameters["base"]),
        "candidate": bound.parameters["h*"],
        "rho": bound.parameters.get("rho", math.nan),
        "bound": bound.total,
        **parts,
        **{column: terms.get(name, math.nan) for name, column in COLUMNS.items()},
    }
    return {column: np.array([value]) for column, value in row.items()}
