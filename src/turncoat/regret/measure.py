"""Regret: what the played arms lost beyond a comparator. Losses and arms in, numbers out.

Totals are added up round by round, as the comparator's are. So the regret of a best sequence is exactly 0, and that of
any sequence with at most s switches is never below 0 at s, not even by a rounding error.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from turncoat._compile.jit import jit_game
from turncoat.regret.comparator import best_switching_losses
from turncoat.tables import as_table
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.tables import as_arms, as_switches, blocks


@jit_game
def add_losses(total: float, block: Matrix, arms: Ints) -> float:
    """The total, and on top of it the loss of one arm in each row of a block."""
    for i in range(block.shape[0]):
        total += block[i, arms[i]]
    return total


def _total(table: NDArray[Any], name: str, arms: ArrayLike) -> float:
    sequence = as_arms(name, arms, *table.shape)
    total = 0.0
    for start, block in blocks(table, 0):
        total = add_losses(total, block, sequence[start : start + len(block)])
    return float(total)


def switching_regret(losses: ArrayLike, played: ArrayLike, max_switches: int) -> Vector:
    """The loss of the played arms minus L*(s), for s = 0, …, max_switches.

    `losses` is a (T, K) table of finite numbers, `played` the T arms chosen, counted from 0.
    """
    as_switches("max_switches", max_switches)
    table = as_table(losses)
    return _total(table, "played", played) - best_switching_losses(table, max_switches)


def path_regret(losses: ArrayLike, played: ArrayLike, path: ArrayLike) -> float:
    """The loss of the played arms minus that of a given sequence of arms, such as the one an environment planted."""
    table = as_table(losses)
    return _total(table, "played", played) - _total(table, "path", path)
