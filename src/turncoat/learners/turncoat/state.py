"""Turncoat's state: the fields of its buffer."""

from __future__ import annotations

from typing import Any

from turncoat._compile.jit import jit_rule
from turncoat._compile.state import State, array, computed
from turncoat.learners.turncoat.constants import N_BASES, N_DETECTORS, N_FOLLOWERS, N_LEADERS, N_MIRRORS
from turncoat.types import Matrix, Vector

CORNERS = 35  # of a detector's chain (glr.py): 64 candidate changes per arm
PAGES = 64  # of the history
SLOTS = 1024  # up to so many arms, each has room for its chains and its plays (slots.py)
BELIEFS = 64  # the last ones are kept


@jit_rule
def least_power(K: int) -> int:
    """The least power of two from K on."""
    P = 1
    while P < K:
        P *= 2
    return P


@jit_rule
def n_slots(K: int) -> int:
    """For how many of K arms there is a slot."""
    return min(K, SLOTS)


@jit_rule
def list_room(K: int) -> int:
    """The room for a list of arms: none where there are so few that all of them are gone through."""
    return K if K > SLOTS else 0


def fill_tree(tree: Matrix, combine: Any) -> None:
    """Every row of a tree from the two below it, with numpy: compiling `rebuild` or `rebuild_max` takes longer."""
    n = len(tree) // 2
    while n > 1:
        tree[n // 2 : n] = combine(tree[n : 2 * n : 2], tree[n + 1 : 2 * n : 2])
        n //= 2


class TurncoatState(State):
    """K arms were ever there, n_living still are; P is the least power of two from K on. M arms have a slot (slots.py).

    Trees have their root in row 1, the children of row i in rows 2i and 2i + 1, and arm k in row P + k.
    """

    K: int
    P: int = computed(least_power, "K")
    M: int = computed(n_slots, "K")
    L: int = computed(list_room, "K")
    n_living: Vector = array(1)
    guess: Vector = array(1)  # N
    eta: Vector = array(1)  # the master's rate
    rates: Vector = array(N_MIRRORS)
    floors: Vector = array(N_BASES)
    p: Vector = array(N_BASES)  # the master's distribution over bases
    chance: Vector = array(N_BASES)  # room for the probability of an arm under each base
    covered: Vector = array(N_BASES)  # room
    x: Vector = array(N_BASES)  # room
    rest: Vector = array(N_MIRRORS)  # room
    seen: Vector = array(2)  # what the baselines are made of
    offset: Vector = array(N_MIRRORS)  # added to every arm's weight, for signed bases
    living: Vector = array("K")  # the arms that are there, in the first n_living places
    place: Vector = array("K")  # where an arm stands in `living`; -1 for a retired one
    alive: Vector = array("2 * P")  # a tree of how many arms are there
    weights: Matrix = array("2 * P", N_MIRRORS)  # sum trees of the mirror-descent bases
    max_trees: Matrix = array("2 * P", N_LEADERS)  # trees of the largest index
    leaders: Vector = array(N_LEADERS)  # the arm of the largest index
    counts: Matrix = array(N_DETECTORS, "K")  # since the arm's last restart
    sums: Matrix = array(N_DETECTORS, "K")  # of rewards
    starts: Matrix = array(N_DETECTORS, "K")  # the clock when the arm was added, or at a restart (`since`)
    recalled: Matrix = array(N_DETECTORS, "K")  # what is kept of the arm from before it, in samples
    recalled_sums: Matrix = array(N_DETECTORS, "K")
    noise: Vector = array(N_DETECTORS, "K", 2)  # sums over all rewards r of an arm, of r(1 - r) and of m(1 - m)
    owners: Vector = array("M")  # whose the slots are
    credit: Vector = array("M")  # of the owners: so many tells of other arms they outlast
    sizes: Vector = array(N_DETECTORS, "M", 2)  # of the chains
    at: Vector = array(N_DETECTORS, "M", 2, CORNERS)
    split_sums: Vector = array(N_DETECTORS, "M", 2, CORNERS)
    n_restarts: Vector = array(N_DETECTORS)
    restarted: Vector = array(N_DETECTORS)  # the clock at the last restart
    n_listed: Vector = array(N_DETECTORS)
    listed: Matrix = array(
        N_DETECTORS, "L"
    )  # the arms whose index was computed since then, in the first n_listed places
    is_listed: Matrix = array(N_DETECTORS, "L")  # 1 for those arms
    fading: Matrix = array(N_FOLLOWERS, 3)  # how much too large its numbers are; its samples; their rewards
    samples: Matrix = array(N_FOLLOWERS, "K")
    rewards: Matrix = array(N_FOLLOWERS, "K")
    spent: Vector = array(3)  # the certificate's two sums (certificate.py), and tells that it does not cover
    page: Vector = array(3)  # of the history: the one being written, rounds on it, rounds that fit on it
    plays: Matrix = array("M", PAGES)  # rounds of each owner of a slot on each page
    trust: Matrix = array(PAGES, N_BASES)  # p at the end of each page
    vote: Vector = array(3)  # the arm with the most votes, how many more than all others, the last round without doubt
    beliefs: Matrix = array(BELIEFS, 4)  # since when, which arm, its q summed up, tells: a ring; n_beliefs - 1 is now
    n_beliefs: Vector = array(2)  # there ever were; kept
