"""What Turncoat writes down about itself, in bounded memory: `explain` reads it.

The diary has 64 pages. A page holds how often each arm was told over some rounds, and how much each base was trusted at
their end. When all pages are full, neighbours are put on one page, and pages hold twice the rounds from then on.

The arm believed best is the leader with the largest probability, with hysteresis: another one must hold more than half
of it for 16 tells, uninterrupted, before a switch is written down.
"""

from __future__ import annotations

from typing import Any

from turncoat._jit import jit_inside
from turncoat.learners.turncoat.recipe import N_BASES
from turncoat.learners.turncoat.state import CHANGES, PAGES

PATIENCE = 16.0


@jit_inside
def write(state: Any, arm: int) -> None:
    """One more round of an arm."""
    page = int(state.page[0])
    state.plays[page, arm] += 1.0
    state.page[1] += 1.0
    if state.page[1] < state.page[2]:
        return
    for h in range(N_BASES):
        state.trust[page, h] = state.p[h]
    state.page[1] = 0.0
    state.page[0] += 1.0
    if state.page[0] == PAGES:
        bind(state)


@jit_inside
def bind(state: Any) -> None:
    """Two pages become one."""
    half = PAGES // 2
    for i in range(half):
        for k in range(state.K):
            state.plays[i, k] = state.plays[2 * i, k] + state.plays[2 * i + 1, k]
        for h in range(N_BASES):
            state.trust[i, h] = state.trust[2 * i + 1, h]
    for i in range(half, PAGES):
        for k in range(state.K):
            state.plays[i, k] = 0.0
        for h in range(N_BASES):
            state.trust[i, h] = 0.0
    state.page[0] = half
    state.page[2] *= 2.0


@jit_inside
def believe(state: Any, top: int, q: float) -> None:
    """The leader with the largest probability was `top`, with q."""
    belief, now = state.belief, float(state.clock[0])
    if belief[0] < 0.0:  # nothing believed yet
        if q > 0.5:
            belief[0], belief[1], belief[2] = top, now, q
        return
    if top == belief[0] or q <= 0.5:
        belief[2] += q if top == belief[0] else 0.0
        belief[5] = 0.0
        return
    if belief[5] == 0.0 or top != belief[3]:
        belief[3], belief[4], belief[5] = top, now, 0.0
    belief[5] += 1.0
    if belief[5] < PATIENCE:
        return
    n = int(state.n_changes[0])
    settle(state, belief[4])
    row = n % CHANGES
    state.changes[row, 0] = belief[4]
    state.changes[row, 1] = belief[0]
    state.changes[row, 2] = top
    state.changes[row, 3] = 0.0
    state.n_changes[0] += 1.0
    belief[0], belief[1], belief[2] = top, belief[4], q * PATIENCE
    belief[5] = 0.0


@jit_inside
def settle(state: Any, until: float) -> None:
    """Write how sure it was of the last switch while it lasted."""
    n = int(state.n_changes[0])
    if n > 0:
        state.changes[(n - 1) % CHANGES, 3] = min(state.belief[2] / max(until - state.belief[1], 1.0), 1.0)
