"""Slots: where the long records of an arm stand, its chains (index_bases.py) and its plays (observers/history.py).

They take far more room than the sums of an arm, so there are SLOTS of them at most. Up to so many arms, each has a slot
of its own. Of more, those that share a slot hold a vote about it (Boyer and Moore's majority vote): a tell of the owner
adds to its credit, up to MOST_CREDIT; a tell of another arm takes one away, or makes that arm the owner if none is
left. It begins with empty pages, and with chains that have one split at most, before all that it is told from then on.
An arm without a slot is not tested for changes; it learns and is proposed like the others. An arm that is told often
has a slot soon.
"""

from __future__ import annotations

import numpy as np

from turncoat._compile.jit import jit, jit_step
from turncoat.learners.turncoat.constants import N_DETECTORS
from turncoat.learners.turncoat.state import PAGES, SLOTS, TurncoatState
from turncoat.types import Ints, Vector

MOST_CREDIT = 32.0  # tells
SPREAD = 619  # so that arms 1,024 apart do not share a slot


@jit
def slot_of(arm: int) -> int:
    """The slot of an arm."""
    return (arm + SPREAD * (arm // SLOTS)) % SLOTS


def slots_of(arms: Vector | Ints) -> Ints:
    """The slots of many arms."""
    whole = arms.astype(np.int64)
    slots: Ints = (whole + SPREAD * (whole // SLOTS)) % SLOTS
    return slots


@jit_step
def claim(state: TurncoatState, arm: int) -> None:
    """Vote for an arm that is told."""
    if state.K <= SLOTS:
        return
    slot = slot_of(arm)
    if state.owners[slot] == arm:
        state.credit[slot] = min(state.credit[slot] + 1.0, MOST_CREDIT)
    elif state.credit[slot] >= 1.0:
        state.credit[slot] -= 1.0
    else:
        state.owners[slot], state.credit[slot] = arm, 1.0
        for i in range(N_DETECTORS):
            for side in range(2):
                state.sizes[i, slot, side] = 2.0 if state.counts[i, arm] > 0.0 else 1.0
                state.at[i, slot, side, 1] = state.counts[i, arm]
                state.split_sums[i, slot, side, 1] = state.sums[i, arm]
        for page in range(PAGES):
            state.plays[slot, page] = 0.0
