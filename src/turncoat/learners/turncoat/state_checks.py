"""Checks of restored states, before compiled code uses numbers as indices. Earlier rules: earlier_rules.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from turncoat.learners.base.saved_state import are_counts
from turncoat.learners.base.shared_master import FIRST
from turncoat.learners.parts.glr import chain_damage
from turncoat.learners.turncoat.constants import FIRST_GUESS, N_CLIPPED, N_DETECTORS, PRIOR, RECALLED, set_rates
from turncoat.learners.turncoat.index_bases import ABSENT
from turncoat.learners.turncoat.mirror_bases import FOLDED
from turncoat.learners.turncoat.observers.history import ENOUGH
from turncoat.learners.turncoat.slots import MOST_CREDIT, slots_of
from turncoat.learners.turncoat.state import BELIEFS, PAGES, TurncoatState, fill_tree
from turncoat.mirror.entropy import LARGEST_TOTAL, SMALLEST_TOTAL

SAFE = 1.0 + 1e-9  # for what rounding may add
SUM_TOLERANCE = 1e-9
ROOM = 1e20  # for totals between two rescalings, while arms come


def damage(state: TurncoatState) -> str:
    """What is wrong with the numbers of a state, which are finite; empty if nothing is."""
    looks = (_arms, _rates, _trust, _mirrors, _leaders, _slots, _detectors, _followers, _history)
    return next((wrong for look in looks if (wrong := look(state))), "")


def _arms(state: TurncoatState) -> str:
    n, living = int(state.n_living[0]), state.living
    if not are_counts(state.n_living, living) or not 1 <= state.n_living[0] <= state.K or np.any(living >= state.K):
        return "living holds no arms"
    place = np.full(state.K, -1.0)
    place[living[:n].astype(int)] = np.arange(n)
    if np.count_nonzero(place >= 0) != n or not np.array_equal(place, state.place):
        return "living and place do not agree"
    return ""


def _rates(state: TurncoatState) -> str:
    N, t = FIRST_GUESS, int(state.clock[0])
    while t > N:
        N *= 2
    if state.guess[0] != N:
        return f"guess is not what it is after {t} tells"
    again = state.copy()
    set_rates(again)
    named = ((getattr(state, name), getattr(again, name)) for name in ("eta", "rates", "floors"))
    if not all(np.allclose(found, expected, rtol=1e-9, atol=0.0) for found, expected in named):
        return "eta, rates and floors are not those of its guess"
    return ""


def _trust(state: TurncoatState) -> str:
    least = np.minimum(state.floors, np.array(PRIOR) / sum(PRIOR))
    if abs(state.p.sum() - 1.0) > SUM_TOLERANCE or np.any(state.p * SAFE < least):
        return "p is no distribution above its floors"
    if state.seen[0] > (state.clock[0] + FIRST) * SAFE or state.seen[1] > SAFE:
        return "seen holds more than was told"
    if not are_counts(state.spent[2:]) or state.spent[2] > state.clock[0]:
        return "spent counts more than was told"
    return ""


def _absent(state: TurncoatState) -> Any:
    """Which leaves of the trees are no arm, or a retired one."""
    absent = np.ones(state.P, dtype=bool)
    absent[: state.K] = state.place < 0
    return absent


def _mirrors(state: TurncoatState) -> str:
    again = state.weights.copy()
    again[0] = 0.0
    fill_tree(again, np.add)
    if not np.array_equal(again, state.weights):
        return "weights holds sums that are not those of its leaves"
    leaves, absent, n = state.weights[state.P :], _absent(state), float(state.n_living[0])
    if np.any(leaves[absent] != 0.0) or np.any(leaves[~absent, :N_CLIPPED] <= 0.0) or np.any(state.offset[:N_CLIPPED]):
        return "weights and offset are not those of its arms"
    if np.any(leaves < -(state.offset * SAFE if n > FOLDED else 0.0)):
        return "weights and offset are below 0 together"
    alive = np.zeros(2 * state.P)
    alive[state.P :] = ~absent
    fill_tree(alive, np.add)
    if not np.array_equal(alive, state.alive):
        return "alive does not count the arms that are there"
    total, most = state.weights[1], LARGEST_TOTAL * ROOM
    if np.any(np.maximum(total, state.offset) > most) or np.any(total + n * state.offset < SMALLEST_TOTAL / ROOM):
        return "weights and offset have no total"
    return ""


def _leaders(state: TurncoatState) -> str:
    again = state.max_trees.copy()
    fill_tree(again, np.maximum)
    if not np.array_equal(again, state.max_trees):
        return "max_trees holds indices that are not the largest of its leaves"
    leaves = state.max_trees[state.P :]
    if np.any(leaves[_absent(state)] != ABSENT) or np.any(leaves[~_absent(state)] < 0.0):
        return "max_trees holds indices of arms that are not there, or none of one that is"
    if not np.array_equal(state.leaders, leaves.argmax(axis=0)):
        return "leaders holds arms that have not the largest index"
    return ""


def _slots(state: TurncoatState) -> str:
    if not are_counts(state.owners, state.credit) or np.any(state.owners >= state.K):
        return "owners and credit hold no arms"
    if np.any(slots_of(state.owners) != np.arange(state.M)) or np.any(state.credit > MOST_CREDIT):
        return "owners and credit are not those of the slots"
    return ""


def _detectors(state: TurncoatState) -> str:
    n, clock = state.counts, state.clock[0]
    if not are_counts(n, state.starts, state.n_restarts, state.restarted, state.sizes, state.at):
        return "counts are not whole numbers"
    late = np.any(n + state.starts > clock) or np.any(state.restarted > clock)
    if late or np.any(state.sums > n * SAFE) or np.any(state.n_restarts > clock):
        return "more was counted than was told"
    if wrong := _list(state):
        return wrong
    if np.any(state.recalled > RECALLED) or np.any(state.recalled_sums > state.recalled * SAFE):
        return "recalled and recalled_sums hold more than is kept"
    if np.any(state.noise.sum(axis=1) > 0.25 * clock * SAFE):
        return "noise holds more than was told"
    owners = state.owners.astype(int)
    for i, slot, side in np.ndindex(*state.sizes.shape):
        size, told = float(state.sizes[i, slot, side]), float(n[i, owners[slot]])
        total = float(state.sums[i, owners[slot]])
        if wrong := chain_damage(state.at[i, slot, side], state.split_sums[i, slot, side], size, told, total):
            return wrong
    return ""


def _list(state: TurncoatState) -> str:
    """Is everything listed once that is marked, and nothing else?"""
    if not are_counts(state.n_listed, state.listed) or np.any(state.n_listed > state.L):
        return "listed holds no arms"
    for i in range(N_DETECTORS):
        arms = state.listed[i, : int(state.n_listed[i])].astype(int)
        marked = np.zeros(state.L)
        if np.any(arms >= state.K):
            return "listed holds no arms"
        marked[arms] = 1.0
        if np.count_nonzero(marked) != arms.size or not np.array_equal(marked, state.is_listed[i]):
            return "listed and is_listed do not agree"
    return ""


def _followers(state: TurncoatState) -> str:
    w, n, total = state.fading.T
    if (
        np.any(w < 1.0)
        or np.any(w > LARGEST_TOTAL)
        or np.any(n > w * state.clock[0] * SAFE)
        or np.any(total > n * SAFE)
    ):
        return "fading holds more than was told"
    if np.any(state.samples > n[:, None] * SAFE) or np.any(state.rewards > state.samples * SAFE):
        return "samples and rewards hold more than was told"
    return ""


def _history(state: TurncoatState) -> str:
    clock, vote, beliefs, (n, kept) = float(state.clock[0]), state.vote, state.beliefs, state.n_beliefs
    if not are_counts(state.page, state.plays, state.n_beliefs, beliefs[:, [0, 1, 3]], vote[2:], vote[:1] + 1.0):
        return "what the history counts is not whole"
    page, written, room = state.page
    if page >= PAGES or written >= room or state.plays.sum() > clock:
        return "page and plays hold more than was told"
    if np.any(beliefs[:, 1] >= state.K) or np.any(beliefs[:, [0, 3]] > clock):
        return "beliefs holds no arms, or rounds to come"
    if not -1.0 <= vote[0] < state.K or not 0.0 <= vote[1] <= ENOUGH or not 0.0 <= vote[2] <= clock + 1.0:
        return "vote holds no arm, or more votes than there were"
    if kept > min(n, BELIEFS) or n > clock:
        return "n_beliefs holds more than there can be"
    return ""
