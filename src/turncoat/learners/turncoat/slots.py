"""Slots: room for the long records of an arm, its chains (index_bases.py) and its plays (observers/history.py).

These take far more memory than an arm's sums, so there are SLOTS slots at most. Up to SLOTS arms have a slot each. Of
more arms, those that share a slot compete for it by majority vote (Boyer and Moore): a tell of the owner adds one
to the slot's credit, up to MOST_CREDIT; a tell of another arm takes one away or, if none is left, makes that arm the
owner. A new owner begins with empty pages and with one split per chain at most, between its samples so far and those to
come. An arm without a slot is not tested for changes; it learns and is proposed like the others. An arm that is told
often soon gets a slot.
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
    """Count a tell of `arm` as a vote for its slot; if that makes it the owner, its records begin anew."""
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
