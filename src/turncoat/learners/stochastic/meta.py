"""Meta: play all arms that are not known to be worse, and now and then give every arm a new chance. No S, no tuning.

Setting: stochastic, changing, rewards r = 1 - loss in [0, 1]; needs T, and neither S nor the size of changes.

Rule (Suk & Kpotufe 2022, algorithms 1 and 2). An episode begins in round t_l with a base that never ends. In each round
s after t_l and for every length m = 2, 4, …, 2^ceil(log2 T), with chance replays/sqrt(m (s - t_l)) a *replay* starts;
if several do, the longest. It is a base too, and plays until round s + m in place of what played before.    (1)
A base plays uniformly in its set A, which begins with all arms, and loses arm a as soon as, for an interval [s1, s2] of
rounds since the base began,
    max over a' of the sum of d(a', a) > eviction · ln T · sqrt(max(K (s2 - s1), K²)),                       (2)
    d(a', a) = (r/p) (1{a' was played} - 1{a was played}),  p the probability it was played with: 1/|A|.     (3)
When no arm is left in the set of the base that began with the episode, a new episode begins.               (4)

    paper's symbol      name here
    t_l, s - t_l        elapsed counts the rounds since t_l
    C_0                 eviction
    base, m             at most one of each length: starts and ends
    A_t, A_master       {a: out(a) ≤ start of the base that plays}, {a: out(a) = 0}

What makes it cheap, all exact:
* *Sets.* Write out(a) = 1 + the largest s1 for which (2) held with s2 up to now, 0 if never. A base that began in round
  s has lost a if and only if out(a) > s: an interval from before s does not count for it. So K numbers hold all sets.
* *Pairs.* In the paper d(a', a) is 0 in rounds in which a was not in A. An arm is lost to a base and all those below it
  at once, so while a is in a base's set it was in the set of whatever played since that base began, and (2) matters for
  no other a. So d is a difference of two sums, and (2) asks for K sums an interval, not K².
* *Stack.* A base below a replay that outlives it never plays again. Those that may are nested, so each is shorter than
  the one below it; lengths are powers of 2, so there is at most one of each: log2 T slots, the shortest live one plays.
* *Draws.* Only the longest replay of a round matters, and P(it has order i or more) = 1 - prod over k ≥ i of (1 - p_k):
  one uniform number per round, inverted; where it is above the sum of all p_k there is none, whatever the product.
What is approximate: (2) is tried with s2 = now, and with one s1 for each power of 2: the last but one multiple of 2^j,
which gives 2^j to 2^(j+1) - 1 rounds; the longest is the whole episode. Every interval that ends now contains one that
is tried and has more than a quarter of its rounds. So it needs no history: two sums per arm and level.

Guarantee (theorem 1 there): expected regret of order sqrt(K T (1 + S')) with S' the *significant* shifts, up to powers
of ln T; S' is at most the number of switches of the best arm, and the bound is also at most (K V)^(1/3) T^(2/3) for a
total variation V. They leave C_0 open; `proven_eviction` is what Freedman's inequality asks for (derived here), about
11: a gap of 0.3 among 10 arms is then seen after 2.6e6 rounds (T = 1e6). And replays = 1, the paper's, are nearly all
that is played. Both defaults were measured: docs/learners/meta.md. (2) is from memory of the paper.
Departures from the paper: an arm is lost before a replay that starts in the same round, not after it. p in (3) is what
was served. Rounds are counted in tells; a late tell counts as a round of the present. Chance at a tell is by position
(random.py), so asks change nothing. The first base never ends, so past
the horizon it goes on; intervals then have less than 2^(1 + floor(log2 T)) rounds.
Cost per round: O(K log T); memory 2 K log2 T words.
Reference: J. Suk, S. Kpotufe, "Tracking most significant arm switches in bandits", COLT 2022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from turncoat.learners.base import Facts, Learner, Option, Shown, State, array, first_number, jit_rule, register_learner
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.random import uniform, uniform_at
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.numbers import parse_between, parse_positive

MOST_EVICTION = 1e6


def proven_eviction(T: int, K: int) -> float:
    """C_0 with which, with probability 1 - 1/T, no sum of (3) is further than (2) from its mean; for K ≤ T.

    Freedman's inequality in the form (e - 1) (sqrt(V ln(1/delta)) + R ln(1/delta)), with the variance V = 2 K n of n
    rounds, differences of at most R = K + 1, and delta = 1/(K² T³) for all pairs of arms and intervals, ln ≤ 5 ln T."""
    return (math.e - 1.0) * (math.sqrt(10.0 / math.log(max(T, 2))) + 5.0 * (1.0 + 1.0 / K))


class MetaState(State):
    """Sums of (3) for each level and arm, since when an arm is out, and when the replays start and end."""

    K: int
    n_levels: int
    n_lengths: int  # replays of 2, 4, …, 2^n_lengths rounds
    factor: float  # eviction · ln T
    replays: float
    elapsed: Vector = array(1)
    n_restarts: Vector = array(1)
    key: Vector = array(1)  # 53 random bits: which replays start is a hash of them and the round
    out: Vector = array("K")
    starts: Vector = array("n_lengths")  # of the replay of this length
    ends: Vector = array("n_lengths")  # it plays while elapsed < ends
    sums: Matrix = array("n_levels", "K")  # since the last but one multiple of 2^j
    newer: Matrix = array("n_levels", "K")  # since the last


@jit_rule
def acting(state: MetaState) -> float:
    """When the base that plays began: the shortest replay that lives, or the episode."""
    for i in range(state.n_lengths):
        if state.elapsed[0] < state.ends[i]:
            return float(state.starts[i])
    return 0.0


@jit_rule
def n_left(state: MetaState, start: float) -> int:
    """How many arms the base that began then has left."""
    n = 0
    for a in range(state.K):
        n += state.out[a] <= start
    return n


@jit_rule
def probabilities(state: MetaState, out: Vector) -> None:
    """The distribution of the next ask: uniform in A."""
    start = acting(state)
    p = 1.0 / n_left(state, start)
    for a in range(state.K):
        out[a] = p if state.out[a] <= start else 0.0


@jit_rule
def ask(state: MetaState) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    start = acting(state)
    n = n_left(state, start)
    skip = min(int(uniform(state.rng) * n), n - 1)
    arm = -1
    while skip >= 0:
        arm += 1
        skip -= state.out[arm] <= start
    return arm, 1.0 / n


@jit_rule
def add(state: MetaState, arm: int, x: float) -> None:
    """Add r/p to its sums; where a level begins anew, its newer sums become the older."""
    elapsed = int(state.elapsed[0])
    for j in range(state.n_levels):
        state.sums[j, arm] += x
        state.newer[j, arm] += x
        if elapsed % (1 << j) == 0:
            for a in range(state.K):
                state.sums[j, a] = state.newer[j, a]
                state.newer[j, a] = 0.0


@jit_rule
def evict(state: MetaState) -> None:
    """(2), for the intervals that are tried."""
    K, elapsed = state.K, int(state.elapsed[0])
    for j in range(state.n_levels):
        if 1 << j > elapsed:
            break
        n = (1 << j) + elapsed % (1 << j)  # s1 = elapsed - n
        most, least = state.sums[j, 0], state.sums[j, 0]
        for a in range(1, K):
            most, least = max(most, state.sums[j, a]), min(least, state.sums[j, a])
        most -= state.factor * math.sqrt(max(K * (n - 1.0), float(K) * K))
        if least < most:
            for a in range(K):
                if state.sums[j, a] < most:
                    state.out[a] = max(state.out[a], elapsed - n + 1.0)


@jit_rule
def replay(state: MetaState) -> None:
    """Start the longest of the replays that chance would start now: (1)."""
    scale = state.replays / math.sqrt(state.elapsed[0])
    if scale <= 0.0:
        return
    u = uniform_at(np.uint64(state.key[0]), int(state.clock[0]), 0)
    if u >= scale * 2.5:  # the sum over k ≥ 1 of 2^(-k/2) is below 2.42
        return
    none = 1.0
    for i in range(state.n_lengths - 1, -1, -1):
        m = 2.0 ** (i + 1)
        none *= 1.0 - min(scale / math.sqrt(m), 1.0)
        if u < 1.0 - none:
            state.ends[:i] = 0.0  # they end before it does
            state.starts[i] = state.elapsed[0]
            state.ends[i] = state.elapsed[0] + m + 1.0
            return


@jit_rule
def tell(state: MetaState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, served = choice
    state.clock[0] += 1
    state.elapsed[0] += 1.0
    add(state, arm, importance_weighted(1.0 - loss, served))  # (3)
    evict(state)
    if n_left(state, 0.0) > 0:
        replay(state)
    else:  # (4)
        state.n_restarts[0] += 1.0
        state.elapsed[0] = 0.0
        state.out[:] = 0.0
        state.starts[:] = 0.0
        state.ends[:] = 0.0
        state.sums[:, :] = 0.0
        state.newer[:, :] = 0.0


register_learner(MetaState, ask=ask, tell=tell, probabilities=probabilities)


class Meta(Learner):
    """Uniform play over the arms that are not known to be worse, with random replays of all: no S, any changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `eviction`: how much worse an arm must look to be dropped; the theorem
    wants about 11, with which nothing is dropped in practice. `replays`: scales how often dropped arms get a new
    chance; 1 is the paper's, 0 never. The rule and its guarantee: help("turncoat.learners.stochastic.meta").
    """

    name = "meta"
    facts = Facts(
        "needed",
        "unknown",
        "√(SKT)",
        "K log T",
        setting="stochastic",
        when="to compare with the best theory for an unknown number of changes",
        when_not="to win: it plays all arms it has not excluded alike; glr-kl-ucb did far better",
    )
    state_type = MetaState
    eviction = Option[float]("What stands before ln T in the threshold by which arms are dropped.")
    replays = Option[float]("What the chances of replays are of the paper's.")
    n_restarts = Shown(first_number, "How many significant shifts it has noticed.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        eviction: float = 0.3,
        replays: float = 0.1,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.eviction = parse_positive("eviction", eviction, MOST_EVICTION)
        self.replays = parse_between("replays", replays, 0.0, 1.0)
        L, M = T.bit_length(), max((T - 1).bit_length(), 1)
        factor = self.eviction * math.log(max(T, 2))
        state = self.start(K=K, n_levels=L, n_lengths=M, factor=factor, replays=self.replays)
        state.key[0] = float(self._words[0] >> np.uint64(11))

    def _checks(self) -> Checks:
        state = self.view()
        elapsed = state.elapsed[0]
        counted = state.elapsed, state.n_restarts, state.key, state.out, state.starts, state.ends
        yield not are_counts(*counted), "counts are not whole numbers"
        yield max(elapsed, state.n_restarts[0]) > state.clock[0], "more was counted than was told"
        yield np.any(state.out > elapsed) or np.all(state.out > 0.0), "out holds rounds to come, or all arms"
        lasting = state.ends == state.starts + 2.0 ** np.arange(1, state.n_lengths + 1) + 1.0
        replays = np.all(state.starts <= elapsed) and np.all((state.ends == 0.0) | lasting)
        yield not replays, "starts and ends are of no replays"
        yield from super()._checks()
