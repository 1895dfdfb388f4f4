"""Adding and retiring arms: the kernels.

A retired arm loses its weight in every mirror-descent base, and the others keep their proportions; its index is below
any other for good, so no base leads with it. Its samples stay in the means that other arms are compared with. A new arm
enters every mirror-descent base with 1/n of the mass, n being the number of arms now; it is untried in the detectors,
which therefore propose it soon, and unsampled in the followers. Rates follow the number of living arms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from turncoat._compile.dispatch import view_of
from turncoat._compile.jit import jit, jit_entry, jit_step, without_refcount
from turncoat.learners.turncoat.constants import N_DETECTORS, N_LEADERS, N_MIRRORS, set_rates
from turncoat.learners.turncoat.index_bases import (
    ABSENT,
    UNTRIED,
    enlist_all,
    lead,
    raise_max,
    rebuild_max,
    refresh,
    untried,
)
from turncoat.learners.turncoat.mirror_bases import FOLDED, fold, rebuild, rescale, sum_up
from turncoat.learners.turncoat.slots import slot_of
from turncoat.learners.turncoat.state import TurncoatState, fill_tree
from turncoat.types import Vector

TREES = ("weights", "max_trees", "alive")  # whose leaves stand from row P on


@jit_entry
def retire(buffer: Vector, arm: int) -> None:
    """Retire a living arm, which is not the last one."""
    state = view_of(TurncoatState, without_refcount(buffer))
    n, place = int(state.n_living[0]) - 1, int(state.place[arm])
    last = int(state.living[n])
    state.living[place], state.place[last] = last, place
    state.living[n], state.place[arm] = 0.0, -1.0
    state.n_living[0] = n
    leaf = state.P + arm
    for i in range(N_MIRRORS):
        state.weights[leaf, i] = 0.0
    sum_up(state.weights, leaf >> 1)
    count(state.alive, leaf, -1.0)
    if n == FOLDED:
        fold(state)
    for i in range(N_MIRRORS):
        rescale(state, i, 1.0 / (state.weights[1, i] + n * state.offset[i]))
    for i in range(N_LEADERS):
        state.max_trees[leaf, i] = ABSENT
    raise_max(state.max_trees, leaf >> 1)
    lead(state)
    set_rates(state)
    uncover(state)


@jit
def count(alive: Vector, node: int, more: float) -> None:
    """One arm more or less, at this leaf."""
    while node >= 1:
        alive[node] += more
        node >>= 1


def grown(buffer: Vector) -> Vector:
    """The same learner with one arm more, the last one."""
    before = TurncoatState(buffer)
    larger, _ = TurncoatState.lay_out(K=before.K + 1)
    after = TurncoatState(larger)
    after.max_trees[:] = ABSENT
    after.owners[:] = np.arange(after.M)
    for name, old in before.items():
        new: Any = getattr(after, name)
        if name in TREES:
            new[after.P : after.P + before.K] = old[before.P : before.P + before.K]
        elif isinstance(old, np.ndarray):
            new[tuple(slice(n) for n in old.shape)] = old
    fill_tree(after.alive, np.add)
    if before.L == 0:
        enlist_all(after)
    enter(larger)
    return np.asarray(larger)


@jit_entry
def enter(buffer: Vector) -> None:
    """Initialise the last arm."""
    state = view_of(TurncoatState, without_refcount(buffer))
    n, arm = int(state.n_living[0]), state.K - 1
    state.living[n], state.place[arm] = arm, n
    state.n_living[0] = n + 1
    count(state.alive, state.P + arm, 1.0)
    rebuild(state.weights)
    for i in range(N_MIRRORS):
        state.weights[state.P + arm, i] = state.weights[1, i] / n
    rebuild(state.weights)
    for i in range(N_DETECTORS):
        state.starts[i, arm] = state.clock[0]
        if state.owners[slot_of(arm)] == arm:
            state.sizes[i, slot_of(arm)] = 1.0
        state.max_trees[state.P + arm, i] = untried(state.clock[0], arm)
    for i in range(N_DETECTORS, N_LEADERS):
        state.max_trees[state.P + arm, i] = UNTRIED
    rebuild_max(state.max_trees)
    if state.fading[0, 1] > 0.0:
        refresh(state, arm)
    lead(state)
    set_rates(state)
    uncover(state)


@jit_step
def uncover(state: TurncoatState) -> None:
    """Mark all tells so far as not covered by the certificate."""
    state.spent[2] = float(state.clock[0])


def gone(state: TurncoatState) -> set[int]:
    """The arms that were retired."""
    return set(np.flatnonzero(state.place < 0.0).tolist())
