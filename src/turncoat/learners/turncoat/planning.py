"""Planning ahead: what detectors and followers propose where m pulls come before the next loss.

For one pull, such a base proposes the arm of its largest index. For the next m pulls it proposes the shares that this
index would give them if every pull were counted and no mean moved. Water-filling: the index of an arm falls with each
pull it gets, and the m pulls, taken as divisible, are divided so that all arms that get some end at the same index L.
    pulls(k, L) = max(0, c(k)/kl(mean(k), L) - n(k))      detectors: (10), solved for n, all times rho    (11a)
    pulls(k, L) = max(0, c/(L - mean(k))^2 - n(k))        followers: (11), solved for n                   (11b)
    P(k) = pulls(k, L)/m, where L is such that they sum to m                                              (11c)
An arm without any reward is planned at most max(1, ceil(m/K)) pulls, K being the number of living (or allowed) arms.
Its mean is not known, and with the mean of the other arms it could get all m. A detector plans such arms first, evenly.

There is no plan for m = 1: the leader is proposed. Of more than ALL living arms, only the max(m, ALL) with the largest
indices are planned, MOST at most.

A plan is a vector beside the state; it can be made again from the state and m. Its layout: m; the clock when it was
made; per base the number of planned arms; per base the shares of all arms; per base the planned arms; room.
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit, jit_rule, jit_step
from turncoat.learners.parts.glr import kl
from turncoat.learners.parts.kl import upper
from turncoat.learners.turncoat.constants import (
    DETECTOR_INDEX,
    FOLLOWER_INDEX,
    N_DETECTORS,
    N_LEADERS,
    PSEUDO_SAMPLES,
)
from turncoat.learners.turncoat.index_bases import ABSENT, find_leader, noise, set_index, since, weighted
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.random import uniform
from turncoat.types import Ints, Matrix, Vector

ALL = 64  # up to so many arms, all are planned
MOST = 1024
MOST_PULLS = 2**20  # no plan is for more

MOST_STEPS = 100  # of Newton's method, or halvings
CLOSE = 1e-12  # of the pulls
ROUNDING = 4e-16  # of what a level says of them that is known to its last digit
SMALLEST_COUNT = 1e-300
SHARES = 2 + N_LEADERS  # where the shares begin
ROOM = 4  # rows of room: means, pulls so far, confidence (negative: an arm without a reward), pulls to come


def plan_size(K: int) -> int:
    """The length of a plan over K arms."""
    return SHARES + (2 * N_LEADERS + ROOM) * K


@jit_rule
def no_plan(state: TurncoatState) -> Vector:
    """The plan for m = 1: an empty vector."""
    return state.x[:0]


@jit_rule
def proposed(state: TurncoatState, plan: Vector, i: int, arm: int) -> float:
    """P(arm) of detector or follower i."""
    if plan.size > 0:
        return float(plan[SHARES + i * state.K + arm])
    return 1.0 if state.leaders[i] == arm else 0.0


@jit_step
def draw_planned(state: TurncoatState, plan: Vector, i: int) -> int:
    """An arm, drawn from what detector or follower i proposes."""
    if plan.size == 0:
        return int(state.leaders[i])
    height, last = uniform(state.rng), 0
    shares, arms = plan[SHARES + i * state.K :], plan[SHARES + (N_LEADERS + i) * state.K :]
    for j in range(int(plan[2 + i])):
        k = int(arms[j])
        if height < shares[k]:
            return k
        height -= shares[k]
        last = k if shares[k] > 0.0 else last
    return last


@jit_step
def make_plan(state: TurncoatState, plan: Vector, m: float) -> None:
    """Plan the next m pulls of all living arms, unless this was done since the last tell."""
    n, K = int(state.n_living[0]), state.K
    if plan[0] == m and plan[1] == float(state.clock[0]):
        return
    for i in range(N_LEADERS):
        arms = begin_plan(state, plan, i)
        if n <= ALL:
            size = n
            for j in range(n):
                arms[j] = state.living[j]
        else:
            size = min(n, max(int(min(m, float(MOST))), ALL))
            take_leaders(state.max_trees, i, arms[:size], plan[plan.size - K :])
        plan[2 + i] = size
        share_out(state, plan, i, m, float(n))
    plan[0], plan[1] = m, float(state.clock[0])


@jit_step
def make_plan_among(state: TurncoatState, plan: Vector, m: float, among: Ints) -> None:
    """The same for some arms only. Nothing is kept for the next time."""
    for i in range(N_LEADERS):
        arms = begin_plan(state, plan, i)
        for j in range(among.size):
            arms[j] = among[j]
        plan[2 + i] = among.size
        share_out(state, plan, i, m, float(among.size))
    plan[0] = 0.0


@jit_rule
def begin_plan(state: TurncoatState, plan: Vector, i: int) -> Vector:
    """Set the shares of base i's last plan to 0. Returns the room for the arms of the next plan."""
    K = state.K
    arms = plan[SHARES + (N_LEADERS + i) * K : SHARES + (N_LEADERS + i + 1) * K]
    for j in range(int(plan[2 + i])):
        plan[SHARES + i * K + int(arms[j])] = 0.0
    return arms


@jit
def take_leaders(tree: Matrix, i: int, arms: Vector, indices: Vector) -> None:
    """The arms with the largest indices of base i: each is taken off its tree, and in the end all are put back."""
    P = tree.shape[0] // 2
    for j in range(arms.size):
        k = find_leader(tree, i)
        arms[j], indices[j] = k, tree[P + k, i]
        set_index(tree, i, P + k, ABSENT)
    for j in range(arms.size):
        set_index(tree, i, P + int(arms[j]), indices[j])


@jit_step
def share_out(state: TurncoatState, plan: Vector, i: int, m: float, n: float) -> None:
    """Write the shares of m pulls that base i proposes for the arms it plans, of n living ones: (11c)."""
    K, size, at = state.K, int(plan[2 + i]), SHARES + 2 * N_LEADERS * state.K
    shares, arms = plan[SHARES + i * K :], plan[SHARES + (N_LEADERS + i) * K :]
    means, counts = plan[at : at + size], plan[at + K : at + K + size]
    confidence, pulls = plan[at + 2 * K : at + 2 * K + size], plan[at + 3 * K : at + 3 * K + size]
    n_untried = know(state, i, arms, means, counts, confidence)
    limit = max(1.0, math.ceil(m / n))  # of an arm without a reward
    left = m - limit * n_untried if i < N_DETECTORS else m
    if n_untried == size or left <= 0.0:
        for j in range(size):
            pulls[j] = 1.0 if confidence[j] < 0.0 else 0.0
    elif i < N_DETECTORS:
        pour_kl(means, counts, confidence, pulls, limit, left)
    else:
        pour(means, counts, confidence, pulls, limit, left)
    total = 0.0
    for j in range(size):
        total += pulls[j]
    for j in range(size):
        shares[int(arms[j])] = pulls[j] / total if total > 0.0 else 1.0 / size


@jit_step
def know(state: TurncoatState, i: int, arms: Vector, means: Vector, counts: Vector, confidence: Vector) -> int:
    """Write mean, n and c of (11a) or (11b) for base i's planned arms. Returns the number without a reward (c < 0)."""
    n_untried, f = 0, i - N_DETECTORS
    w, mean, c = 1.0, 0.0, 0.0
    if f >= 0:
        w, n_all = state.fading[f, 0], max(state.fading[f, 1], state.fading[f, 0])
        mean, c = state.fading[f, 2] / n_all, FOLLOWER_INDEX[f] * math.log(max(n_all / w, 2.0))
    for j in range(means.size):
        k = int(arms[j])
        if f < 0:
            rho = noise(state, i, k)
            n, total = weighted(state, i, k, rho)
            known = n > 0.0
            c = rho * DETECTOR_INDEX * math.log(max(float(state.clock[0]) - since(state, i, k), 2.0))
        else:
            known, n = state.samples[f, k] > 0.0, state.samples[f, k] / w + PSEUDO_SAMPLES
            total = state.rewards[f, k] / w + PSEUDO_SAMPLES * mean
        means[j], counts[j] = min(total / max(n, SMALLEST_COUNT), 1.0), n
        confidence[j] = c if known else -c
        n_untried += 0 if known else 1
    return n_untried


@jit_step
def pour_kl(means: Vector, counts: Vector, confidence: Vector, pulls: Vector, limit: float, left: float) -> None:
    """Pour the pulls that are left into arms with rewards: (11a). The others get `limit` each."""
    best = find_best(means, confidence)
    p = means[best]
    low, high = p, 1.0
    level = upper(p, confidence[best] / (counts[best] + left))  # where the best arm alone would stand: at most L
    if not low < level < high:
        give_best(means, confidence, pulls, p, limit, left)
        return
    for _ in range(MOST_STEPS):
        over, total, slope = -left, 0.0, 0.0
        for j in range(means.size):
            pulls[j] = limit
            if confidence[j] >= 0.0:
                far = kl(means[j], level)
                wanted = confidence[j] / far
                pulls[j] = max(wanted - counts[j], 0.0)  # (11a)
                over += pulls[j]
                if pulls[j] > 0.0:
                    total += wanted
                    slope += wanted * ((level - means[j]) / (far * level * (1.0 - level)))
        low, high = (level, high) if over > 0.0 else (low, level)
        if abs(over) <= CLOSE * left + ROUNDING * (total + slope):
            return
        new = level + newton_step(over, total, slope)
        level = new if low < new < high else 0.5 * (low + high)


@jit_step
def pour(means: Vector, counts: Vector, confidence: Vector, pulls: Vector, limit: float, left: float) -> None:
    """The same for followers: (11b). An arm without a reward has a mean, that of all, and gets `limit` at most."""
    best = find_best(means, confidence)
    low, high = means[best], 0.0
    level = low + math.sqrt(confidence[best] / (counts[best] + left))
    for j in range(means.size):
        high = max(high, means[j] + math.sqrt(abs(confidence[j]) / counts[j]))
    if not low < level < high:
        give_best(means, confidence, pulls, low, 0.0, left)
        return
    for _ in range(MOST_STEPS):
        over, total, slope = -left, 0.0, 0.0
        for j in range(means.size):
            most = left if confidence[j] > 0.0 else limit
            far = level - means[j]
            wanted = max(abs(confidence[j]) / (far * far) - counts[j], 0.0) if far > 0.0 else most  # (11b)
            pulls[j] = min(wanted, most)
            over += pulls[j]
            if 0.0 < wanted < most:
                total += wanted + counts[j]
                slope += 2.0 * (wanted + counts[j]) / far
        low, high = (level, high) if over > 0.0 else (low, level)
        if abs(over) <= CLOSE * left + ROUNDING * (total + slope):
            return
        new = level + newton_step(over, total, slope)
        level = new if low < new < high else 0.5 * (low + high)


@jit_rule
def newton_step(over: float, total: float, slope: float) -> float:
    """How far the level moves, where arms whose pulls sum to `total` want `over` too many; NaN if it cannot be said.

    Newton's method for total^(-1/2): of one arm this is linear in the level, exactly with (11b), nearly with (11a).
    """
    if total <= over or slope <= 0.0:
        return math.nan
    ratio = total / (total - over)
    return 2.0 * over * ratio / ((math.sqrt(ratio) + 1.0) * slope)


@jit
def find_best(means: Vector, confidence: Vector) -> int:
    """The place of the largest mean, of arms with rewards."""
    best = -1
    for j in range(means.size):
        if confidence[j] >= 0.0 and (best < 0 or means[j] > means[best]):
            best = j
    return best


@jit
def give_best(means: Vector, confidence: Vector, pulls: Vector, most: float, limit: float, left: float) -> None:
    """Divide the pulls evenly among the arms of the largest mean, where rounding leaves no level above it."""
    n = 0.0
    for j in range(means.size):
        n += 1.0 if confidence[j] >= 0.0 and means[j] >= most else 0.0
    for j in range(means.size):
        known = confidence[j] >= 0.0
        pulls[j] = (left / n if means[j] >= most else 0.0) if known else limit
