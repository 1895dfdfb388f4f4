"""What the paper's theorems say of a game of one of its masters, once it was played.

Theorem 1 is for `MasterBase` and Theorem 2 for `AdaptiveMasterBase`, as the paper has them: own feedback, exact
projection, tuned for the race's horizon, losses in [0, 1], an adversary that does not look at the arms played. S is
what was planted. Theorem 2 is evaluated with the rho that its base h* had in the end; rho never falls, so that is its
largest. Both bound expectations, and so does the mean over many seeds; that of one game is a figure and no guarantee
(docs/regret.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from turncoat.bounds import Bound, theorem_1, theorem_2
from turncoat.environments import Environment
from turncoat.learners import AdaptiveMasterBase, MasterBase
from turncoat.learners.base.master import Master
from turncoat.racing.cell import Cell
from turncoat.racing.reference import Ground

MASTER_TERMS = ("clipping the master", "starting the master", "master variance", "rising master rates")
BASE_TERMS = ("clipping the bases", "switches", "falling base rate", "base variance")
COLUMNS = {name: name.replace(" ", "_") for name in (*MASTER_TERMS, *BASE_TERMS)}
BOUNDS = {
    **dict.fromkeys(("theorem", "S", "base"), "Int64"),
    **dict.fromkeys(("candidate", "rho", "bound", "master_bound", "base_bound", *COLUMNS.values()), "Float64"),
}


def theorem_of(learner: Master, environment: Environment, horizon: int) -> str:
    """The theorem that bounds the learner's regret: "1", "2 paper" or "2 theorem" (its rate); "" where none does."""
    in_range = learner.loss_range == (0.0, 1.0) and learner.horizon == horizon
    as_in_paper = learner.feedback == "own" and learner.projection == "exact"
    if not (environment.oblivious and in_range and as_in_paper):
        return ""
    if isinstance(learner, AdaptiveMasterBase):
        return f"2 {learner.rate}"
    return "1" if isinstance(learner, MasterBase) else ""


def bound_of(cell: Cell, ground: Ground) -> Bound | None:
    """The bound of the cell's theorem for the planted S, with the rho of the game; None where there is none."""
    T, K, S = int(cell.t[-1]), cell.n_arms, ground.n_switches
    theorem, _, rate = cell.theorem.partition(" ")
    if not theorem or S < 0:
        return None
    if theorem == "1":
        return theorem_1(T, K, S)
    before: Any = {"rate": rate}
    base = int(theorem_2(T, K, S, **before).parameters["base"])
    return theorem_2(T, K, S, **before, rho=float(cell.rho[-1, base]))


def bounds_of(cell: Cell, ground: Ground) -> dict[str, Any]:
    """The row of a cell in the frame of bounds, NaN where nothing is known; no row if it was not split."""
    if not cell.base_loss.size:
        return dict.fromkeys(BOUNDS, np.empty(0))
    bound = bound_of(cell, ground)
    if bound is None:
        return dict.fromkeys(BOUNDS, np.array([math.nan]))
    terms = {term.name: term.value for term in bound.terms}
    parts = {
        "master_bound": math.fsum(terms.get(name, 0.0) for name in MASTER_TERMS),
        "base_bound": math.fsum(terms.get(name, 0.0) for name in BASE_TERMS),
    }
    row = {
        "theorem": int(cell.theorem[0]),
        "S": ground.n_switches,
        "base": int(bound.parameters["base"]),
        "candidate": bound.parameters["h*"],
        "rho": bound.parameters.get("rho", math.nan),
        "bound": bound.total,
        **parts,
        **{column: terms.get(name, math.nan) for name, column in COLUMNS.items()},
    }
    return {column: np.array([value]) for column, value in row.items()}
