"""The bases of Turncoat that propose a single arm, the one of the largest index: detectors and followers.

Equations (9) to (11) of docs/guarantee.md. An index is an upper confidence bound on an arm's mean reward, r = 1 - loss.
It is recomputed for the arm just told and for one other in turn: so a round costs O(log K), and an index is at most K
rounds old. Max trees, stacked like the sum trees of the mirror-descent bases, find the leader.

Rewards between 0 and 1 may vary less than 0/1 rewards of the same mean, and then a detector needs fewer of them. As
E r^2 = m - E r(1 - r), their variance is rho times m(1 - m), where for every arm
    rho = 1 - (sum of r(1 - r))/(sum of m(1 - m)), at least LEAST_NOISE                 (9a)
sums over all rewards, with m the mean since the last restart as it was then. The threshold of the test is rho times
that for 0/1 rewards, and a reward counts as 1/rho of them, against the sample that is recalled. Where all rewards are 0
or 1, rho is 1.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat._compile.jit import jit, jit_rule, jit_step
from turncoat.learners.parts.glr import LOWER, UPPER, evidence, extend, kl
from turncoat.learners.parts.kl import upper
from turncoat.learners.turncoat.constants import (
    ALARM,
    DETECTOR_INDEX,
    DOUBTED,
    FOLLOWER_INDEX,
    LEAST_NOISE,
    LEAST_PULLS,
    N_DETECTORS,
    N_FOLLOWERS,
    N_LEADERS,
    NOISE_PRIOR,
    PSEUDO_SAMPLES,
    RECALLED,
    TEST_EVERY,
    WINDOWS,
)
from turncoat.learners.turncoat.slots import slot_of
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.mirror.entropy import LARGEST_TOTAL
from turncoat.random import uniform_at
from turncoat.types import Matrix, Vector

UNTRIED = 2.0  # above any index of an arm that was tried; up to 1 more at random
ABSENT = -1.0  # below any index
LOG_2 = math.log(2.0)
_LOT = np.uint64(2718281828)

KEPT = tuple(1.0 - 1.0 / window for window in WINDOWS)  # of everything, each round


@jit
def untried(now: int, arm: int) -> float:
    """The index of an untried arm: untried arms come in a random order, which does not depend on the number of asks."""
    return UNTRIED + uniform_at(_LOT, now, arm)


@jit
def set_index(tree: Matrix, i: int, node: int, index: float) -> None:
    """Set a leaf of a max tree, for one base."""
    tree[node, i] = index
    while node > 1:
        node >>= 1
        tree[node, i] = max(tree[2 * node, i], tree[2 * node + 1, i])


@jit
def raise_max(tree: Matrix, node: int) -> None:
    """The largest index below a node and below all above it."""
    while node >= 1:
        for i in range(N_LEADERS):
            tree[node, i] = max(tree[2 * node, i], tree[2 * node + 1, i])
        node >>= 1


@jit
def rebuild_max(tree: Matrix) -> None:
    """The largest index below every node, from the leaves."""
    for node in range(tree.shape[0] // 2 - 1, 0, -1):
        for i in range(N_LEADERS):
            tree[node, i] = max(tree[2 * node, i], tree[2 * node + 1, i])


@jit
def find_leader(tree: Matrix, i: int) -> int:
    """The arm whose index is the largest under base i; of equals the first."""
    P, node = tree.shape[0] // 2, 1
    while node < P:
        node *= 2
        if tree[node + 1, i] > tree[node, i]:
            node += 1
    return int(node - P)


@jit_step
def learn(state: TurncoatState, arm: int, loss: float) -> None:
    """One more sample of an arm: every detector and follower adds it, and looks for its leader."""
    reward = 1.0 - loss
    for i in range(N_DETECTORS):
        detect(state, i, arm, reward)
    for i in range(N_FOLLOWERS):
        follow(state, i, arm, reward)
    in_turn = int(state.living[int(state.clock[0]) % int(state.n_living[0])])
    for k in (arm, in_turn):
        refresh(state, k)
    lead(state)


@jit_step
def lead(state: TurncoatState) -> None:
    """Look up every base's leader."""
    for i in range(N_LEADERS):
        state.leaders[i] = find_leader(state.max_trees, i)


@jit_rule
def since(state: TurncoatState, i: int, arm: int) -> float:
    """The round from which on detector i knows an arm: its last restart, or when the arm was added."""
    return max(float(state.starts[i, arm]), float(state.restarted[i]))


@jit_rule
def enlist(state: TurncoatState, i: int, arm: int) -> None:
    """Note that the index of an arm was computed, where not all arms are gone through at a restart."""
    if state.L > 0 and state.is_listed[i, arm] == 0.0:
        state.listed[i, int(state.n_listed[i])] = arm
        state.is_listed[i, arm] = 1.0
        state.n_listed[i] += 1.0


def enlist_all(state: TurncoatState) -> None:
    """Enlist all living arms."""
    if state.L > 0:
        living = state.living[: int(state.n_living[0])].astype(int)
        state.n_listed[:], state.listed[:, : living.size] = living.size, living
        state.is_listed[:, living] = 1.0


@jit_rule
def noise(state: TurncoatState, i: int, arm: int) -> float:
    """rho: how much an arm's rewards vary, 0/1 rewards being 1. Few rewards say little: NOISE_PRIOR is added below."""
    return max(float(1.0 - state.noise[i, arm, 0] / (state.noise[i, arm, 1] + NOISE_PRIOR)), LEAST_NOISE)  # (9a)


@jit_rule
def weighted(state: TurncoatState, i: int, arm: int, rho: float) -> tuple[float, float]:
    """Samples of an arm and their sum: those seen, and rho times those recalled."""
    n = state.counts[i, arm] + rho * state.recalled[i, arm]
    return n, state.sums[i, arm] + rho * state.recalled_sums[i, arm]


@jit_step
def refresh(state: TurncoatState, arm: int) -> None:
    """Compute the indices of an arm."""
    leaf = state.P + arm
    for i in range(N_DETECTORS):
        rho = noise(state, i, arm)
        n, total = weighted(state, i, arm, rho)
        if n > 0.0:
            level = rho * DETECTOR_INDEX * math.log(max(float(state.clock[0]) - since(state, i, arm), 2.0)) / n
            state.max_trees[leaf, i] = upper(min(total / n, 1.0), level)  # (10)
            enlist(state, i, arm)
    for i in range(N_FOLLOWERS):
        w, n_all, rewards = state.fading[i, 0], state.fading[i, 1], state.fading[i, 2]
        n = state.samples[i, arm] / w + PSEUDO_SAMPLES
        total = state.rewards[i, arm] / w + PSEUDO_SAMPLES * (rewards / n_all)
        bonus = math.sqrt(FOLLOWER_INDEX[i] * math.log(max(n_all / w, 1.0)) / n)
        state.max_trees[leaf, N_DETECTORS + i] = total / n + bonus  # (11)
    raise_max(state.max_trees, leaf >> 1)


@jit_step
def follow(state: TurncoatState, i: int, arm: int, reward: float) -> None:
    """Discount, then add a sample. Sums are stored too large by a factor w that grows: discounting is one product."""
    w = state.fading[i, 0] / KEPT[i]
    if w > LARGEST_TOTAL:
        for k in range(state.K):
            state.samples[i, k] /= w
            state.rewards[i, k] /= w
        state.fading[i, 1] /= w
        state.fading[i, 2] /= w
        w = 1.0
    state.fading[i, 0] = w
    state.samples[i, arm] += w
    state.rewards[i, arm] += w * reward
    state.fading[i, 1] += w
    state.fading[i, 2] += w * reward


@jit_step
def detect(state: TurncoatState, i: int, arm: int, reward: float) -> None:
    """Add a sample; every few pulls test whether the arm's mean has changed, and restart if it has."""
    state.counts[i, arm] += 1.0
    state.sums[i, arm] += reward
    n, total, slot = state.counts[i, arm], state.sums[i, arm], slot_of(arm)
    state.noise[i, arm, 0] += reward * (1.0 - reward)
    state.noise[i, arm, 1] += total / n * (1.0 - total / n)
    if state.owners[slot] != arm:
        return
    testing = n >= LEAST_PULLS and n % TEST_EVERY == 0
    threshold = math.log(ALARM * n) + 0.25 * math.log(state.guess[0]) if testing else 0.0
    threshold *= noise(state, i, arm)
    found = threshold
    for side in range(2):
        at, sums, size = state.at[i, slot, side], state.split_sums[i, slot, side], int(state.sizes[i, slot, side])
        at[size], sums[size] = n, total
        size = extend(at, sums, size, LOWER if side == 0 else UPPER)
        state.sizes[i, slot, side] = size
        if testing:
            found = evidence(at, sums, size, found)
    if found > threshold:  # (9)
        state.n_restarts[i] += 1.0
        start_again(state, i, arm)


@jit_step
def start_again(state: TurncoatState, i: int, arm: int) -> None:
    """Restart detector i after an alarm at this arm: it forgets all but RECALLED samples of every other arm.

    What changed one arm may have changed all: the mean of these samples is moved as far as that of the arm, and then by
    DOUBTED of the way to its new mean. Of more than 1,024 arms, those are gone through whose index was computed since
    the restart before (all arms have been, K rounds later): the others keep what is recalled of them as it is. So a
    restart takes no longer than the rounds since the one before.
    """
    slot = slot_of(arm)
    before, after = means_around(state.at[i, slot], state.split_sums[i, slot], state.sizes[i, slot])
    every = state.L == 0
    for j in range(int(state.n_living[0] if every else state.n_listed[i])):
        k = int(state.living[j] if every else state.listed[i, j])
        if state.place[k] >= 0.0:
            forget(state, i, k, arm, before, after)
        if not every:
            state.is_listed[i, k] = 0.0
    state.restarted[i], state.n_listed[i] = state.clock[0], 0.0


@jit_step
def forget(state: TurncoatState, i: int, k: int, changed: int, before: float, after: float) -> None:
    """Let detector i forget all but RECALLED samples of arm k, because the mean of arm `changed` has changed."""
    n, total = state.counts[i, k] + state.recalled[i, k], state.sums[i, k] + state.recalled_sums[i, k]
    state.recalled[i, k] = min(n, RECALLED) if k != changed else 0.0
    mean = min(max(total / n + after - before, 0.0), 1.0) if n > 0.0 else 0.0
    state.recalled_sums[i, k] = state.recalled[i, k] * (mean + DOUBTED * (after - mean))
    state.counts[i, k] = state.sums[i, k] = 0.0
    state.starts[i, k] = state.clock[0]
    if state.owners[slot_of(k)] == k:
        state.sizes[i, slot_of(k)] = 1.0
    index = untried(state.clock[0], k)
    if state.recalled[i, k] > 0.0:
        index = upper(state.recalled_sums[i, k] / state.recalled[i, k], DETECTOR_INDEX * LOG_2 / state.recalled[i, k])
    set_index(state.max_trees, i, state.P + k, index)


@jit
def means_around(at: Matrix, sums: Matrix, sizes: Vector) -> tuple[float, float]:
    """The mean reward before and after the likeliest change, of the splits in two chains."""
    most, before, after = 0.0, 0.0, 0.0
    for side in range(2):
        last = int(sizes[side]) - 1
        n, total = at[side, last], sums[side, last]
        for c in range(1, last):
            s = at[side, c]
            first, second = sums[side, c] / s, min(max((total - sums[side, c]) / (n - s), 0.0), 1.0)
            found = s * kl(first, total / n) + (n - s) * kl(second, total / n)
            if found > most:
                most, before, after = found, first, second
    return before, after
