"""AdSwitch: play in turn what may still be best, look at the rest again now and then. Not told how often arms change.

Setting: stochastic, piecewise stationary, rewards r = 1 - loss in [0, 1]; needs T; S unknown.

Rule. Episode l begins with all arms GOOD. n and mean of an arm over rounds [s, t] of the episode; L = ln T. Round t:
    for a in BAD and i ≥ 1 with 2^-i ≥ gap(a)/precision, with probability exploration 2^-i sqrt(l/(K T L)):
        a owes floor(confidence 4^i L) samples from now on                                                   (1)
    play the arm played least recently of GOOD and of BAD arms that owe samples                              (2)
    new episode if a GOOD arm has two intervals [s1, s2], [s, t] with
        |mean[s1, s2] - mean[s, t]| > sqrt(confidence L/n[s1, s2]) + sqrt(confidence L/n[s, t])              (3)
    new episode if a BAD arm has  |mean[s, t] - mean(a)| > gap(a)/4 + sqrt(confidence L/n[s, t])             (4)
    drop what is no longer owed                                                                              (5)
    a GOOD arm becomes BAD if for some s, with n[s, t](a) ≥ 2 and best the largest mean[s, t] of a GOOD arm,
        best - mean[s, t](a) > sqrt(elimination L/(n[s, t](a) - 1));  mean(a), gap(a) are then these         (6)

    paper's symbol              name here
    C_1 > 16                    elimination
    mu~(a), Delta~(a)           means, gaps
    S_t(a)                      due: a owes samples until so many were counted; what ends last is all that matters
    2, 2^(2i+1), 1/16           confidence, confidence 4^i (the width in (4) is 2^-i then), 1/precision

Guarantee (Auer, Gajane & Ortner 2019, from memory, for confidence 2, elimination 16.1, precision 16, exploration 1, and
all s): expected regret O(sqrt(K (S + 1) T ln T)), S the changes of any arm, not known. None against an adversary, and
none for the defaults: with the paper's constants it hardly differs from playing all arms in turn where T ≤ 1e5, so the
defaults are Hoeffding's confidence, 1/2, and what did well in docs/learners/ad-switch.md.
Departures from the paper:
* s - 1 is one of the moments of dyadic.py: the start of the episode, and for each j the latest odd multiple of 2^j
  rounds. n and mean over [s, t] are exact; other s are not tried, so that it acts later: the docs have by how much.
* (3) says that the intervals mean ± sqrt(confidence L/n) of all [s1, s2] have no point in common: lo(a), the largest
  lower end, is above hi(a), the smallest upper end. So only intervals that end with the newest sample are looked at.
* (1) draws the rounds until the next obligation, for each (a, i), instead of a coin in each round: the same law.
* (6) leaves open which s gives mean(a) and gap(a): here the one with the most evidence, (n - 1) gap². It can take the
  last GOOD arms at once, each over other rounds, if the constants are small or tells come late: a new episode then.
* L is at least ln 2. Ties in (2) go to the lowest index. Past the horizon j and i stay what T rounds need.
* t and (5) count tells. An arm is played when it is asked, and again when it is told: rounds decided elsewhere count.
Cost per round: O(K ln t) for (6) while several arms are GOOD, else O(K + ln t). Memory O(K ln T).
Reference: P. Auer, P. Gajane, R. Ortner, "Adaptively tracking the best bandit arm with an unknown number of
distribution changes", COLT 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from turncoat.learners.base import Facts, Learner, Option, Shown, State, array, first_number, jit_rule, register_learner
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.learners.parts.dyadic import moment, n_rows, row_of
from turncoat.random import NEVER, wait
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.numbers import parse_between

GOOD, BAD, FRESH = 0.0, 1.0, 2.0  # FRESH: BAD since the last round, and not yet looked at by (4)
MOST = 1000.0
WHEN = "losses are random, changes are abrupt, and their number is unknown"
NOT = "in practice: glr-kl-ucb with exploration=0.1 had less regret in all games measured"


def log_horizon(T: int) -> float:
    """L."""
    return math.log(max(T, 2))


def check_rate(T: int, K: int) -> float:
    """sqrt(1/(K T L)): what (1) multiplies by 2^-i sqrt(l)."""
    return 1.0 / math.sqrt(K * T * log_horizon(T))


def n_check_sizes(T: int, elimination: float, precision: float) -> int:
    """How many i (1) can need: the gaps of (6) are at least sqrt(elimination L/T)."""
    least = math.sqrt(elimination * log_horizon(T) / T)
    return max(math.floor(math.log2(precision / least)), 1)


class AdSwitchState(State):
    """The present episode. `past_counts` and `past_sums` are `counts` and `sums` at the moments of dyadic.py."""

    K: int
    n_levels: int
    n_sizes: int
    c: float  # confidence L
    e: float  # elimination L
    precision: float
    rate: float
    n_restarts: Vector = array(1)
    start: Vector = array(1)  # what the clock showed at the last restart
    soonest: Vector = array(1)  # the first round with a new obligation
    last: Vector = array("K")  # marks of play, the higher the later
    status: Vector = array("K")
    counts: Vector = array("K")
    sums: Vector = array("K")
    lo: Vector = array("K")  # for (3)
    hi: Vector = array("K")
    means: Vector = array("K")  # of BAD arms
    gaps: Vector = array("K")
    due: Vector = array("K")  # a BAD arm owes samples until its count is this
    found: Vector = array("K")  # room for (6)
    coming: Matrix = array("K", "n_sizes")  # the round of the next obligation
    past_counts: Matrix = array("1 + n_levels", "K")
    past_sums: Matrix = array("1 + n_levels", "K")


@jit_rule
def turn(state: AdSwitchState) -> int:
    """The arm of the next round: (2)."""
    chosen = -1
    for arm in range(state.K):
        playable = state.status[arm] == GOOD or state.due[arm] > state.counts[arm]  # (5)
        if playable and (chosen < 0 or state.last[arm] < state.last[chosen]):
            chosen = arm
    return chosen


@jit_rule
def mark(state: AdSwitchState, arm: int) -> None:
    """Make this arm the one played last."""
    state.last[arm] = state.last.max() + 1.0


@jit_rule
def probabilities(state: AdSwitchState, out: Vector) -> None:
    """The distribution of the next ask: 1 for one arm."""
    chosen = turn(state)
    for arm in range(state.K):
        out[arm] = 1.0 if arm == chosen else 0.0


@jit_rule
def ask(state: AdSwitchState) -> tuple[int, float]:
    """The arm of the next round: (index, propensity)."""
    arm = turn(state)
    mark(state, arm)
    return arm, 1.0


@jit_rule
def changed(state: AdSwitchState, told: int, n_past: int) -> bool:
    """Has an arm changed: the one whose reward has come, by (3) or (4), or one that has just become BAD, by (4)?"""
    for arm in range(state.K):
        if arm != told and state.status[arm] != FRESH:
            continue
        for row in range(n_past):
            n = state.counts[arm] - state.past_counts[row, arm]
            if n < 1.0:
                continue
            mean = (state.sums[arm] - state.past_sums[row, arm]) / n
            width = math.sqrt(state.c / n)
            if state.status[arm] == GOOD:
                state.lo[arm] = max(state.lo[arm], mean - width)
                state.hi[arm] = min(state.hi[arm], mean + width)
            elif abs(mean - state.means[arm]) > 0.25 * state.gaps[arm] + width:  # (4)
                return True
        if state.lo[arm] > state.hi[arm]:  # (3)
            return True
        state.status[arm] = min(state.status[arm], BAD)
    return False


@jit_rule
def begin(state: AdSwitchState) -> None:
    """Start a new episode."""
    state.n_restarts[0] += 1.0
    state.start[0] = state.clock[0]
    state.soonest[0] = NEVER
    for arm in range(state.K):  # loops: they compile faster than slices
        state.status[arm], state.lo[arm], state.hi[arm] = GOOD, 0.0, 1.0
        state.counts[arm] = state.sums[arm] = 0.0
        state.means[arm] = state.gaps[arm] = state.due[arm] = 0.0
        for size in range(state.n_sizes):
            state.coming[arm, size] = NEVER


@jit_rule
def compare(state: AdSwitchState, row: int) -> None:
    """Look at the GOOD arms since the start of one row; note in `found` those that are worse than ever before."""
    best = -1.0
    for arm in range(state.K):
        n = state.counts[arm] - state.past_counts[row, arm]
        if state.status[arm] == GOOD and n >= 1.0:
            best = max(best, min((state.sums[arm] - state.past_sums[row, arm]) / n, 1.0))  # rounding may be above
    for arm in range(state.K):
        n = state.counts[arm] - state.past_counts[row, arm]
        if state.status[arm] == GOOD and n >= 2.0:
            mean = (state.sums[arm] - state.past_sums[row, arm]) / n
            evidence = (best - mean) * (best - mean) * (n - 1.0)
            if evidence > state.found[arm]:
                state.found[arm] = evidence
                state.means[arm] = mean
                state.gaps[arm] = best - mean


@jit_rule
def next_check(state: AdSwitchState, now: float, size: int) -> float:
    """The round of the next obligation for changes of 2^-i, i = size + 1, after round `now`."""
    p = state.rate * 0.5 ** (size + 1) * math.sqrt(state.n_restarts[0] + 1.0)  # (1)
    return min(now + wait(state.rng, p), NEVER)


@jit_rule
def reject(state: AdSwitchState, n_past: int) -> int:
    """Make arms BAD: (6); how many are left. A GOOD arm that is alone has nothing to be compared with."""
    n_good = 0
    for arm in range(state.K):
        state.found[arm] = state.e
        n_good += state.status[arm] == GOOD
    if n_good < 2:
        return n_good
    for row in range(n_past):
        compare(state, row)
    for arm in range(state.K):
        if state.found[arm] > state.e:
            n_good -= 1
            state.status[arm] = FRESH
            for size in range(state.n_sizes):
                if 0.5 ** (size + 1) >= state.gaps[arm] / state.precision:  # (1)
                    state.coming[arm, size] = next_check(state, float(state.clock[0]), size)
                    state.soonest[0] = min(state.soonest[0], state.coming[arm, size])
    return n_good


@jit_rule
def oblige(state: AdSwitchState) -> None:
    """The obligations of the coming round: (1)."""
    now = state.clock[0] + 1.0
    state.soonest[0] = NEVER
    for arm in range(state.K):
        for size in range(state.n_sizes):
            if state.coming[arm, size] <= now:
                n = math.floor(min(state.c * 4.0 ** (size + 1), NEVER))
                state.due[arm] = max(state.due[arm], state.counts[arm] + n)
                state.coming[arm, size] = next_check(state, now, size)
            state.soonest[0] = min(state.soonest[0], state.coming[arm, size])


@jit_rule
def remember(state: AdSwitchState) -> None:
    """Write what was counted until now into the row of this round."""
    row = row_of(state.clock[0] - int(state.start[0]))
    if row <= state.n_levels:
        for arm in range(state.K):
            state.past_counts[row, arm] = state.counts[arm]
            state.past_sums[row, arm] = state.sums[arm]


@jit_rule
def tell(state: AdSwitchState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    state.clock[0] += 1
    mark(state, arm)
    state.counts[arm] += 1.0
    state.sums[arm] += 1.0 - loss
    n_past = n_rows(state.clock[0] - int(state.start[0]) - 1, state.n_levels)
    if changed(state, arm, n_past) or reject(state, n_past) == 0:
        begin(state)
        return
    remember(state)
    if state.soonest[0] <= state.clock[0] + 1.0:
        oblige(state)


register_learner(AdSwitchState, ask=ask, tell=tell, probabilities=probabilities)


class AdSwitch(Learner):
    """Play what may still be best in turn, look at the rest now and then: for an unknown number of changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `confidence`: what stands over n in the tests for changes (theory: 2).
    `elimination`: and in the test for worse arms (theory: 16.1). `precision`: in arms worse by a gap, changes of
    gap/precision are looked for (theory: 16). `exploration`: scales how often they are (theory: 1).
    The rule and its guarantee: help("turncoat.learners.stochastic.ad_switch").
    """

    name = "ad-switch"
    facts = Facts("needed", "unknown", "√(SKT)", "K log t", setting="stochastic", when=WHEN, when_not=NOT)
    state_type = AdSwitchState
    uses_propensity = False
    confidence = Option[float]("What stands over n in the tests for changes, times ln T.")
    elimination = Option[float]("C_1: what stands over n - 1 in the test for worse arms, times ln T.")
    precision = Option[float]("Which part of its gap an arm's change must be to be looked for.")
    exploration = Option[float]("How often it looks at BAD arms again, of how often the paper does.")
    n_restarts = Shown(first_number, "The number of restarts so far.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        confidence: float = 0.5,
        elimination: float = 0.5,
        precision: float = 2.0,
        exploration: float = 0.1,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.confidence = parse_between("confidence", confidence, 0.001, MOST)
        self.elimination = parse_between("elimination", elimination, 0.001, MOST)
        self.precision = parse_between("precision", precision, 2.0, MOST)
        self.exploration = parse_between("exploration", exploration, 0.0, MOST)
        n_levels, n_sizes = T.bit_length(), n_check_sizes(T, self.elimination, self.precision)
        L = log_horizon(T)
        rate = self.exploration * check_rate(T, K)
        c, e = self.confidence * L, self.elimination * L
        state = self.start(K=K, n_levels=n_levels, n_sizes=n_sizes, c=c, e=e, precision=self.precision, rate=rate)
        state.hi[:] = 1.0
        state.coming[:] = state.soonest[:] = NEVER

    def _checks(self) -> Checks:
        state = self.view()
        t = int(state.clock[0] - state.start[0])
        marks = state.n_restarts, state.start, state.soonest, state.last, state.due
        yield not are_counts(*marks, state.counts, state.coming, state.past_counts), "counts are not whole numbers"
        counted = state.counts.sum() != t or state.n_restarts[0] > state.start[0] or np.any(state.sums > state.counts)
        yield counted, "more or less was counted than was told"
        known = np.isin(state.status, (GOOD, BAD, FRESH)).all() and (state.status == GOOD).any()
        yield not known, "its arms are neither GOOD nor BAD, or none is GOOD"
        outside = np.any(state.lo > state.hi) or np.any(np.maximum(state.hi, state.means) > 1) or np.any(state.gaps > 1)
        yield outside, "it holds means outside of [0, 1]"
        for row in range(n_rows(t, state.n_levels)):
            n, gained = state.counts - state.past_counts[row], state.sums - state.past_sums[row]
            sound = (gained > -1e-6) & (gained < n + 1e-6) & (state.past_sums[row] <= state.past_counts[row])
            wrong = state.past_counts[row].sum() != moment(t, row) or not sound.all()
            yield wrong, "past_counts and past_sums are not those of its episode"
        yield from super()._checks()

    @property
    def good(self) -> list[Label]:
        """The arms that may still be best."""
        return [label for label, status in zip(self.arms, self.view().status, strict=True) if status == GOOD]
