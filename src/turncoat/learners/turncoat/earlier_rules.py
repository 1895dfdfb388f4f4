"""Migration: makes states of the present rule from saved states of earlier rules.

    rule 1    the slow base was charged its mean loss, and had another rate and floor; `spent` held eight sums
    rule 2    each arm had chains and plays of its own, however many arms there were

A migrated state keeps weights, trust, samples, beliefs and, up to 1,024 arms, chains and plays; of more arms those that
were told most since their last restart get the slots. Its certificate begins anew: earlier tells are not covered.

If there are more or fewer clipped or signed bases than then, each new base begins with the weights of the old base
nearest in place in the grid of rates, and the new bases of one old base divide its trust. Old bases that none begins
with are dropped, and their trust is shared among the others in proportion.
"""

from __future__ import annotations

import numpy as np

from turncoat._compile.state import HEAD, LENGTH, State, array, computed
from turncoat.learners.turncoat.constants import N_BASES, N_CLIPPED, N_DETECTORS, N_MIRRORS, N_SIGNED, set_rates
from turncoat.learners.turncoat.index_bases import enlist_all
from turncoat.learners.turncoat.slots import slots_of
from turncoat.learners.turncoat.state import BELIEFS, CORNERS, PAGES, SLOTS, TurncoatState, fill_tree, least_power
from turncoat.types import Ints, Matrix, Vector

OLD_CLIPPED, OLD_SIGNED, OLD_DETECTORS, OLD_FOLLOWERS = 3, 6, 1, 4
OLD_MIRRORS, OLD_LEADERS = OLD_CLIPPED + OLD_SIGNED, OLD_DETECTORS + OLD_FOLLOWERS
OLD_BASES = OLD_MIRRORS + OLD_LEADERS
SUMS_OF_RULE_1 = 8
LARGEST_GUESS = 2.0**60
SMALLEST_TRUST = 1e-300
ANEW = ("rates", "floors", "chance", "covered", "x", "rest", "spent")  # what is not taken from an earlier state


class EarlierState(State):
    """The state of rule 2. That of rule 1 has more numbers in `spent`."""

    K: int
    P: int = computed(least_power, "K")
    n_living: Vector = array(1)
    guess: Vector = array(1)
    eta: Vector = array(1)
    rates: Vector = array(OLD_MIRRORS)
    floors: Vector = array(OLD_BASES)
    p: Vector = array(OLD_BASES)
    chance: Vector = array(OLD_BASES)
    covered: Vector = array(OLD_BASES)
    x: Vector = array(OLD_BASES)
    rest: Vector = array(OLD_MIRRORS)
    seen: Vector = array(2)
    offset: Vector = array(OLD_MIRRORS)
    living: Vector = array("K")
    place: Vector = array("K")
    weights: Matrix = array("2 * P", OLD_MIRRORS)
    max_trees: Matrix = array("2 * P", OLD_LEADERS)
    leaders: Vector = array(OLD_LEADERS)
    counts: Matrix = array(OLD_DETECTORS, "K")
    sums: Matrix = array(OLD_DETECTORS, "K")
    starts: Matrix = array(OLD_DETECTORS, "K")
    recalled: Matrix = array(OLD_DETECTORS, "K")
    recalled_sums: Matrix = array(OLD_DETECTORS, "K")
    sizes: Vector = array(OLD_DETECTORS, "K", 2)
    at: Vector = array(OLD_DETECTORS, "K", 2, CORNERS)
    split_sums: Vector = array(OLD_DETECTORS, "K", 2, CORNERS)
    n_restarts: Vector = array(OLD_DETECTORS)
    fading: Matrix = array(OLD_FOLLOWERS, 3)
    samples: Matrix = array(OLD_FOLLOWERS, "K")
    rewards: Matrix = array(OLD_FOLLOWERS, "K")
    spent: Vector = array(3)
    page: Vector = array(3)
    plays: Matrix = array(PAGES, "K")
    trust: Matrix = array(PAGES, OLD_BASES)
    vote: Vector = array(3)
    beliefs: Matrix = array(BELIEFS, 4)
    n_beliefs: Vector = array(2)


def migrated(buffer: Vector, rule: int) -> Vector:
    """The buffer of an earlier rule as one of this rule; an empty one if the earlier rule cannot have written it."""
    K = int(buffer[HEAD]) if buffer.size > HEAD and 1.0 <= buffer[HEAD] <= buffer.size else 0
    sizes = {"K": K, "P": least_power(K), LENGTH: buffer.size}
    if rule == 1:
        at, n = EarlierState.layout.fields["spent"].at.at(sizes), EarlierState.layout.fields["spent"].length.at(sizes)
        buffer = np.delete(buffer, slice(at + n, at + SUMS_OF_RULE_1))
    if not K or buffer.size != EarlierState.layout.end.at({**sizes, LENGTH: buffer.size}):
        return np.empty(0)
    before = EarlierState(buffer)
    fresh: Vector = TurncoatState.lay_out(K=K)[0]
    state = TurncoatState(fresh)
    for name, old in before.items():
        new = getattr(state, name)
        if isinstance(old, np.ndarray) and name not in ANEW and new.shape == old.shape:
            new[...] = old
    _take_slots(before, state)
    _take_bases(before, state)
    state.alive[state.P : state.P + K] = state.place >= 0.0
    fill_tree(state.alive, np.add)
    for i in range(N_DETECTORS):  # of arms that were added later, the start is later
        alive = state.place >= 0.0
        state.restarted[i] = state.starts[i][alive].min(initial=state.clock[0]) if state.n_restarts[i] > 0.0 else 0.0
    if 1.0 <= state.n_living[0] <= K and 0.0 <= state.living.min() <= state.living.max() < K:
        enlist_all(state)
    state.spent[2] = float(state.clock[0])
    if 1.0 <= state.n_living[0] <= K and 1.0 <= state.guess[0] <= LARGEST_GUESS:
        set_rates(state)
        if not np.array_equal(sources(), np.arange(OLD_BASES)):
            _lift(state.p, state.floors)
    return fresh


def _take_slots(before: EarlierState, state: TurncoatState) -> None:
    """Chains and plays, of the arms that were told most."""
    arms = np.arange(state.K)
    told = np.lexsort((-arms, before.place >= 0.0, before.counts[0]))  # the arm told most comes last
    state.owners[:] = np.arange(state.M)
    if state.K > SLOTS:
        state.owners[slots_of(arms[told])] = arms[told]  # numpy keeps the last one that is given a place
        state.credit[:] = 1.0
    owners = state.owners.astype(int)
    state.sizes[:], state.at[:] = before.sizes[:, owners], before.at[:, owners]
    state.split_sums[:], state.plays[:] = before.split_sums[:, owners], before.plays[:, owners].T


def sources() -> Ints:
    """For each base of the present rule, the old base whose weights it begins with."""
    clipped = np.minimum(np.arange(N_CLIPPED), OLD_CLIPPED - 1)
    places = np.linspace(0.0, OLD_SIGNED - 1.0, N_SIGNED) if N_SIGNED > 1 else np.zeros(N_SIGNED)
    signed = OLD_CLIPPED + np.round(places).astype(np.int64)
    return np.concatenate([clipped, signed, OLD_MIRRORS + np.arange(N_BASES - N_MIRRORS)])


def _take_bases(before: EarlierState, state: TurncoatState) -> None:
    """Copy weights and trust. New bases that begin with the same old base divide its trust."""
    of = sources()
    heirs = np.bincount(of, minlength=OLD_BASES)[of]
    state.weights[:], state.offset[:] = before.weights[:, of[:N_MIRRORS]], before.offset[of[:N_MIRRORS]]
    for old, new in ((before.p[None], state.p[None]), (before.trust, state.trust)):
        new[:] = old[:, of] / heirs
        if len({*of.tolist()}) < OLD_BASES:
            new *= old.sum(axis=1, keepdims=True) / np.maximum(new.sum(axis=1, keepdims=True), SMALLEST_TRUST)


def _lift(p: Vector, floors: Vector) -> None:
    """Raise what lies below its floor, at the cost of the others."""
    for _ in range(N_BASES):
        low = p <= floors
        p[low] = floors[low]
        if low.all() or abs(p.sum() - 1.0) < 1e-15:
            return
        p[~low] *= (1.0 - floors[low].sum()) / p[~low].sum()
