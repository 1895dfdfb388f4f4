"""Arms that come and go.

A retired arm loses its weight in every mirror-descent base, and the others keep their proportions; its index is below
any other for ever, so nobody leads with it. What was seen of it stays in the means that other arms are compared with.
A new arm enters every mirror-descent base with 1/n of the mass, n arms being there now; it is untried in the detectors,
which so propose it soon, and unsampled in the followers. Rates follow the number of arms that are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from turncoat._compile.jit import borrow, jit, jit_inside
from turncoat.learners.base.buffer import HEAD
from turncoat.learners.turncoat.constants import N_DETECTORS, N_LEADERS, N_MIRRORS, set_rates
from turncoat.learners.turncoat.index_bases import ABSENT, UNTRIED, crown, crown_all, lead, refresh, untried
from turncoat.learners.turncoat.mirror_bases import rebuild, rescale
from turncoat.learners.turncoat.state import TurncoatState, buffer_size, view
from turncoat.types import Vector

TREES = ("weights", "crowns")  # whose leaves stand from row P on


@jit
def retire(buffer: Vector, arm: int) -> None:
    """Take a living arm away; another one lives."""
    state = view(borrow(buffer))
    n, place = int(state.n_living[0]) - 1, int(state.place[arm])
    last = int(state.living[n])
    state.living[place], state.place[last] = last, place
    state.living[n], state.place[arm] = 0.0, -1.0
    state.n_living[0] = n
    leaf = state.P + arm
    for i in range(N_MIRRORS):
        state.weights[leaf, i] = 0.0
    rebuild(state.weights)
    for i in range(N_MIRRORS):
        rescale(state, i, 1.0 / (state.weights[1, i] + n * state.offset[i]))
    for i in range(N_LEADERS):
        state.crowns[leaf, i] = ABSENT
    crown(state.crowns, leaf >> 1)
    lead(state)
    set_rates(state)
    uncover(state)


def grown(buffer: Vector) -> Vector:
    """The same learner with one arm more, the last one."""
    before = view(buffer)
    larger = np.zeros(HEAD + 1 + buffer_size(before.K + 1))
    larger[HEAD] = before.K + 1
    after = view(larger)
    after.crowns[:] = ABSENT
    for name in before._fields:
        old: Any = getattr(before, name)
        new: Any = getattr(after, name)
        if name in TREES:
            new[after.P : after.P + before.K] = old[before.P : before.P + before.K]
        elif name not in ("K", "P"):
            new[tuple(slice(n) for n in old.shape)] = old
    enter(larger)
    return larger


@jit
def enter(buffer: Vector) -> None:
    """Let the last arm begin."""
    state = view(borrow(buffer))
    n, arm = int(state.n_living[0]), state.K - 1
    state.living[n], state.place[arm] = arm, n
    state.n_living[0] = n + 1
    rebuild(state.weights)
    for i in range(N_MIRRORS):
        state.weights[state.P + arm, i] = state.weights[1, i] / n
    rebuild(state.weights)
    for i in range(N_DETECTORS):
        state.starts[i, arm] = state.clock[0]
        state.sizes[i, arm, 0] = state.sizes[i, arm, 1] = 1.0
        state.crowns[state.P + arm, i] = untried(state.clock[0], arm)
    for i in range(N_DETECTORS, N_LEADERS):
        state.crowns[state.P + arm, i] = UNTRIED
    crown_all(state.crowns)
    if state.fading[0, 1] > 0.0:
        refresh(state, arm)
    lead(state)
    set_rates(state)
    uncover(state)


@jit_inside
def uncover(state: TurncoatState) -> None:
    """The certificate covers no tell from before arms changed."""
    state.spent[state.spent.size - 1] = float(state.clock[0])


def gone(state: TurncoatState) -> set[int]:
    """The arms that were retired."""
    return set(np.flatnonzero(state.place < 0.0).tolist())
