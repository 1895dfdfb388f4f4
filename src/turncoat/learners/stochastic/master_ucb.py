"""MasterUCB: Wei & Luo's MASTER over UCB1. Copies of UCB1 of many lengths, and two tests that start everything again.

Setting: stochastic, changing, rewards r = 1 - loss in [0, 1]; needs T, and neither S nor the size of changes.

Rule (Wei & Luo 2021, procedure MALG and algorithm MASTER), with
    rho(t) = sqrt(K/t) + K/t,   rhat(t) = scale · 6 (log2 T + 1) ln(T/delta) rho(t),   delta = 1/T:        (1)
blocks n = 0, 1, …, the n-th 2^n rounds long. In its round tau = 0, 1, …, for every order m < n of which tau is a
multiple of 2^m, a copy of UCB1 that lives for 2^m rounds starts with chance replays · rho(2^n)/rho(2^m);  (2)
one of order n lives throughout.
The shortest live copy plays, and it alone learns: of the largest index,
    g = min(1, max over arms of  X(a)/N(a) + sqrt(exploration · ln n / N(a))),  n its rounds so far.       (3)
With U the least g of the block and R the rewards, everything starts again from n = 0 if
    test 1, where a copy of order m ends:  mean R over all its 2^m rounds ≥ U + 9 rhat(2^m), or            (4)
    test 2:  mean of g - R over the len rounds of the block so far ≥ 3 rhat(len).                          (5)

    paper's symbol      name here
    ALG, order m        a row of counts, sums and told; at most one copy of an order lives at a time
    g~_t, U_t           g, lowest
    t_n, tau            elapsed counts the rounds since t_n
    n^ = log2 T + 1     n_orders, rounded down

Guarantee (their theorem 2 with UCB1, for scale = 1): regret of order min(sqrt(S K T), sqrt(K T) + (K V)^(1/3) T^(2/3))
with high probability, logarithms left out, V the variation of the means. **With scale = 1 nothing happens at any
practical T**: g - R is at most 1, so (5) wants 3 rhat(len) ≤ 1, that is about (18 (log2 T + 1) ln(T/delta))² K rounds:
1.1e8 K at T = 1e6 (Gerogiannis et al. 2024 say the same); until then it is UCB1 with random restarts, which cost more
than most changes do. What did well in games of 1e5 and 1e6 rounds: scale 0.0005, replays 0.03, exploration 0.5.
Constants: 6, 9 and 3 are from memory of the paper. What was derived: with means that stand still g is at least the best
mean and the mean of g - R at most rhat, so neither test can fire, as 9 and 3 are above 1; order m plays on average at
most len · rho(len)/rho(2^m) rounds and loses 2^m rho(2^m) a copy, so len · rho(len) an order, which is why rhat has
the number of orders before rho. The 6 is the price of "with high probability", and was not derived.
Departures from the paper: UCB1's own ln n in (3), for which theory wants ln(T/delta); g is cut at 1, which no mean is
above; ties are broken at random (index.py). Rounds are counted in tells: a late tell counts for the copy that plays
now, g is its present one, and a tell from before a restart is a sample of the present: to drop it, as other learners in
blocks do, would lose nearly all rounds of the first blocks of 1, 2, 4, … wherever losses come late. Chance at a tell is
by position (random.py), so asks change nothing. Past the horizon blocks of the last length repeat. With replays = 0 and
tests that cannot fire it is UCB1 begun anew after 1, 2, 4, … rounds.
Cost per round: O(K + log T); memory 2 K log2 T words.
References: C.-Y. Wei, H. Luo, "Non-stationary reinforcement learning without prior knowledge: an optimal black-box
approach", COLT 2021; A. Gerogiannis, Y.-H. Huang, V. V. Veeravalli, "Is prior-free black-box non-stationary
reinforcement learning feasible?", 2024, arXiv 2410.13772.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base import Facts, Option, Shown, State, array, first_number, register_learner, variant
from turncoat.learners.base.index import MOST_EXPLORATION, IndexLearner, largest, ucb_index
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.random import uniform_at
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.numbers import parse_between, parse_positive

MOST_SCALE = 1000.0


def confidence_factor(T: int) -> float:
    """What stands before rho in rhat with scale 1: (1). T = 1 is treated as 2, for a test must be able to fail."""
    T = max(T, 2)
    return 6.0 * (math.log2(T) + 1.0) * math.log(float(T) * T)


class MasterUCBState(State):
    """A copy of UCB1 for each order, and what the tests need of the block."""

    K: int
    n_orders: int
    factor: float  # rhat over rho
    exploration: float
    replays: float
    block: Vector = array(1)  # n, the order of the block
    elapsed: Vector = array(1)  # how many of its rounds were told
    acting: Vector = array(1)  # the shortest live order
    excess: Vector = array(1)  # sum of g - R
    n_restarts: Vector = array(1)
    lowest: Vector = array(1)  # U
    key: Vector = array(1)  # 53 random bits: which copies start is a hash of them, the round and the order
    live: Vector = array("n_orders")  # 0 or 1
    told: Vector = array("n_orders")  # rounds the copy has played
    rewards: Vector = array("n_orders")  # all rewards since it started, whichever copy played
    counts: Matrix = array("n_orders", "K")
    sums: Matrix = array("n_orders", "K")


@jit
def rho(K: int, t: float) -> float:
    """(1)."""
    return math.sqrt(K / t) + K / t


@jit_rule
def confidence(state: MasterUCBState) -> float:
    """exploration · ln n, of the copy that plays."""
    return state.exploration * math.log(max(state.told[int(state.acting[0])], 1.0))


@jit_rule
def index(state: MasterUCBState, c: float, arm: int, least: float) -> float:
    """The index of an arm, to the copy that plays."""
    m = int(state.acting[0])
    return ucb_index(state.counts[m, arm], state.sums[m, arm], c)  # (3)


rule = largest(confidence, index)


@jit_rule
def start_copies(state: MasterUCBState) -> None:
    """Start the copies whose time has come, and find the shortest that lives."""
    n, tau, key = int(state.block[0]), int(state.elapsed[0]), np.uint64(state.key[0])
    for m in range(n + 1):
        if tau % (1 << m) != 0:
            break
        chance = state.replays * rho(state.K, 2.0**n) / rho(state.K, 2.0**m) if m < n else 1.0  # (2)
        state.live[m] = 1.0 if m == n or uniform_at(key, int(state.clock[0]), m) < chance else 0.0
        state.told[m] = state.rewards[m] = 0.0
        if state.live[m] == 1.0:
            state.counts[m, :] = 0.0
            state.sums[m, :] = 0.0
    m = 0
    while state.live[m] == 0.0 and m < n:
        m += 1
    state.acting[0] = m


@jit_rule
def has_changed(state: MasterUCBState, reward: float) -> bool:
    """Add the reward to all live copies; does a test fire?"""
    elapsed = int(state.elapsed[0])
    fires = bool(state.excess[0] >= 3.0 * state.factor * rho(state.K, elapsed) * elapsed)  # (5)
    for m in range(int(state.block[0]) + 1):
        if state.live[m] == 1.0:
            state.rewards[m] += reward
            length = 1 << m
            if elapsed % length == 0:
                most = state.lowest[0] + 9.0 * state.factor * rho(state.K, length)
                fires = fires or bool(state.rewards[m] >= most * length)  # (4)
    return fires


@jit_rule
def tell(state: MasterUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    state.clock[0] += 1
    reward = 1.0 - loss
    c, g = confidence(state), 0.0
    for a in range(state.K):
        g = max(g, index(state, c, a, g))
    g = min(g, 1.0)  # (3)
    m = int(state.acting[0])
    state.told[m] += 1.0
    state.counts[m, arm] += 1.0
    state.sums[m, arm] += reward
    state.elapsed[0] += 1.0
    state.excess[0] += g - reward
    state.lowest[0] = min(state.lowest[0], g)
    fires = has_changed(state, reward)
    if fires or state.elapsed[0] == 2.0 ** state.block[0]:
        state.n_restarts[0] += fires
        state.block[0] = 0.0 if fires else min(state.block[0] + 1.0, state.n_orders - 1.0)
        state.elapsed[0] = state.excess[0] = 0.0
        state.lowest[0] = 1.0
        state.live[:] = 0.0
    start_copies(state)


register_learner(MasterUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class MasterUCB(IndexLearner):
    """MASTER over UCB1: copies of UCB1 of many lengths, and two tests for changes. Needs T, and nothing else.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `scale`: of the tests' thresholds; 1 is the theorem's, with which no test
    can fire before about 1e8 rounds per arm. `exploration`: of the copies, 2 in UCB1. `replays`: scales the chance that
    a short copy starts, 1 is the paper's, 0 for none. In games of up to a million rounds, scale=0.0005, replays=0.03
    and exploration=0.5 did far better. The rule and its guarantee: help("turncoat.learners.stochastic.master_ucb").
    """

    name = "master-ucb"
    facts = Facts(
        "needed",
        "unknown",
        "√(SKT)",
        "K + log T",
        setting="stochastic",
        when="changes of unknown number and size; with practical constants (see its page)",
        when_not="in practice: glr-kl-ucb; the theorem's constants are inert below 1e8 rounds per arm",
    )
    variants = (variant("master-ucb, practical", scale=0.0005, replays=0.03, exploration=0.5),)
    state_type = MasterUCBState
    rule = rule
    signed = ("excess",)
    scale = Option[float]("What the thresholds of its tests are of the theorem's.")
    exploration = Option[float]("What stands before ln n in the index.")
    replays = Option[float]("What the chances of short copies are of the paper's.")
    n_restarts = Shown(first_number, "The number of restarts so far.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        scale: float = 1.0,
        exploration: float = 2.0,
        replays: float = 1.0,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.scale = parse_positive("scale", scale, MOST_SCALE)
        self.exploration = parse_positive("exploration", exploration, MOST_EXPLORATION)
        self.replays = parse_between("replays", replays, 0.0, 1.0)
        L = T.bit_length()  # the last block starts in round 2^(L - 1) of T, if nothing fires
        factor = self.scale * confidence_factor(T)
        state = self.start(K=K, n_orders=L, factor=factor, exploration=self.exploration, replays=self.replays)
        state.lowest[0] = state.live[0] = 1.0
        state.key[0] = float(self._words[0] >> np.uint64(11))

    def _checks(self) -> Checks:
        state = self.view()
        n, m = state.block[0], state.acting[0]
        marks = state.block, state.elapsed, state.acting, state.n_restarts, state.key
        yield not are_counts(*marks, state.told, state.counts), "counts are not whole numbers"
        copies, live = state.live == 1.0, np.flatnonzero(state.live)
        lasting = np.all(copies | (state.live == 0.0)) and np.all(state.lowest <= 1.0)
        yield not lasting, "live or lowest hold what they cannot"
        fits = n < state.n_orders and state.elapsed[0] < 2.0**n and live.max(initial=-1) == n
        yield not fits, "block, elapsed and live are of no block"
        yield m != live[0], "acting is not the shortest live copy"
        counted = np.any(state.counts.sum(axis=1)[copies] != state.told[copies]) or np.any(state.told > state.clock[0])
        yield counted, "more was counted than was told"
        rounds = np.any(state.sums > state.counts) or max(state.rewards.max(), state.n_restarts[0]) > state.clock[0]
        yield rounds, "there are more rewards, or restarts, than rounds"
        yield from super()._checks()
