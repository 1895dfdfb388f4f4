"""GLR-klUCB: kl-UCB that notices changes and starts again. For rewards that are stable between a few abrupt changes.

Setting: stochastic, piecewise stationary, rewards r = 1 - loss in [0, 1]; needs T; S optional (`n_switches`).

Rule. tau(a) is the round of arm a's last restart, n(a) and mean(a) count its rewards since, k - 1 restarts have been.
    forced exploration: every floor(K/alpha_k) rounds, each arm once                                       (1)
    else the arm of the largest index max {q : n(a) kl(mean(a), q) ≤ ln(t - tau(a))}, untried arms first   (2)
    after each reward, of its arm: restart if GLR(its n rewards since tau) > beta(n, delta)                (3)
A restart is global (of all arms) or local (of this arm). GLR is the Bernoulli test of glr.py. Tuning:
    alpha_k = sqrt(k K ln T / T), or with n_switches the constant sqrt(S K ln T / T);  delta = 1/sqrt(T)   (4)
    beta(n, delta) = ln(3 n^(3/2)/delta)         threshold="practical", what the paper recommends          (5)
                     ln(n^(3/2)/delta)           "experiments", what the authors' programs use             (6)
                     2 h(ln(3 n^(3/2)/delta)/2) + 6 ln(1 + ln n)    "proven": what the theorems are about  (7)

    paper's symbol      name here
    alpha_k, delta      alpha (k = 1), delta
    A or K              K
    Upsilon_T           n_switches: the breakpoints, of all arms
    tau_a, n_a          starts, counts

Guarantee (Besson et al. 2022, for (7) and changes that are long and large enough to be detected): expected regret
O(sqrt(S K T ln T)) on such instances without knowing S. The probability of a false alarm on a stationary arm is at most
delta with (7); with (5) and (6) that is what simulations show. None against an adversary.
Departures from the paper:
* The K rounds of (1) end their period; the paper's begin it (t mod floor(K/alpha_k) from 1 to K). So the first rounds
  are kl-UCB's, and the order of arms means nothing. alpha_k is capped at 1, where it explores in turn and does nothing
  else. `exploration` scales alpha_k.
* GLR looks at n_splits candidate splits at most: exact for independent rewards, see glr.py. It tests every `every`
  pulls of an arm; the authors' programs test every tenth round, over every fifth split.
* (2) has ln t as the authors' programs do (their first version: ln t + 3 ln ln t); t is the number of tells. Ties are
  broken at random (index.py).
* h(x) is bounded by x + 4 ln(1 + x + sqrt(2 x)), valid for x ≥ 5, at max(x, 5) (Kaufmann & Koolen 2021).
* S = 0 is tuned as S = 1: arms may change where the best one does not.
Cost per round: O(K) to choose, O(ln n) corners to test; a global restart O(K). Memory 4 n_splits words per arm.
References: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient change-point detection for tackling
piecewise-stationary bandits", JMLR 23 (2022); its programs (PiecewiseStationaryBandits, in Julia) for (4) and (6), and
the text of L. Besson's thesis (2019) for (5), (7); E. Kaufmann, W. Koolen, "Mixture martingales revisited with
applications to sequential tests and confidence intervals", JMLR 22 (2021), for h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from turncoat.learners.base import Facts, Option, Shown, State, array, first_number, jit_rule, register_learner, variant
from turncoat.learners.base.index import MOST_EXPLORATION, IndexLearner, count, forcing, kl_index, largest, turn
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.learners.parts.glr import LOWER, UPPER, chain_damage, evidence, extend
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_switches
from turncoat.validation.numbers import parse_between, parse_positive, parse_whole

Restart: TypeAlias = Literal["global", "local"]
RESTARTS = ("global", "local")
Threshold: TypeAlias = Literal["practical", "experiments", "proven"]
THRESHOLDS = ("practical", "experiments", "proven")
MOST_SPLITS = 2**20
SAFE = 1.0 + 1e-9  # rounding must not decide between equals


def forced_exploration(T: int, K: int, S: int | None) -> float:
    """alpha_1, or the constant alpha for S breakpoints: (4)."""
    return math.sqrt((1 if S is None else max(S, 1)) * K * math.log(T) / T)


def false_alarms(T: int) -> float:
    """delta: (4). T = 1 is treated as 2, for a test must be able to fail."""
    return 1.0 / math.sqrt(max(T, 2))


class GLRklUCBState(State):
    """What is known of each arm since its last restart; `at` and `split_sums` are the corners of glr.py's chains."""

    K: int
    length: int  # of the room for a chain
    local: bool
    growing: bool  # alpha_k = alpha sqrt(k)
    proven: bool  # (7)
    alpha: float
    log_scale: float  # ln(3/delta), or ln(1/delta)
    every: int
    n_restarts: Vector = array(1)
    counts: Vector = array("K")
    sums: Vector = array("K")
    starts: Vector = array("K")  # what the clock showed at the last restart
    sizes: Matrix = array(2, "K")
    at: Vector = array(2, "K", "length")
    split_sums: Vector = array(2, "K", "length")


@jit_rule
def forced(state: GLRklUCBState) -> int:
    """The arm whose turn it is to be explored, or -1."""
    alpha = state.alpha * math.sqrt(state.n_restarts[0] + 1.0) if state.growing else state.alpha  # (4)
    return turn(state.K, alpha, int(state.clock[0]))  # (1)


@jit_rule
def confidence(state: GLRklUCBState) -> float:
    """ln t: no arm has more."""
    return math.log(max(float(state.clock[0]), 1.0))


@jit_rule
def index(state: GLRklUCBState, c: float, arm: int, least: float) -> float:
    """The index of an arm; where it is below `least`, a number below `least`."""
    n, total = state.counts[arm], state.sums[arm]
    if n <= 0.0:
        return math.inf
    short = n * least - total
    if short > 0.0 and 2.0 * short * short > n * c * SAFE:  # Pinsker: n kl(mean, least) > c
        return float(total / n)
    return kl_index(n, total, math.log(max(state.clock[0] - state.starts[arm], 1.0)), least)  # (2)


rule = forcing(forced, largest(confidence, index))  # (1), (2)


@jit_rule
def threshold_of(state: GLRklUCBState, n: float) -> float:
    """beta(n, delta)."""
    beta = 1.5 * math.log(n) + state.log_scale  # (5), (6)
    if state.proven:
        x = max(0.5 * beta, 5.0)
        beta = 2.0 * (x + 4.0 * math.log(1.0 + x + math.sqrt(2.0 * x))) + 6.0 * math.log(1.0 + math.log(n))  # (7)
    return beta


@jit_rule
def forget(state: GLRklUCBState, arm: int) -> None:
    """Restart an arm."""
    state.counts[arm] = state.sums[arm] = 0.0
    state.starts[arm] = state.clock[0]
    state.sizes[:, arm] = 1.0


@jit_rule
def tell(state: GLRklUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    count(state, choice, loss)
    arm, _ = choice
    n, total = state.counts[arm], state.sums[arm]
    testing = n % state.every == 0
    beta = threshold_of(state, n) if testing else 0.0
    found = beta
    for i in range(2):
        at, sums, size = state.at[i, arm], state.split_sums[i, arm], int(state.sizes[i, arm])
        at[size], sums[size] = n, total
        size = extend(at, sums, size, LOWER if i == 0 else UPPER)
        state.sizes[i, arm] = size
        if testing:
            found = evidence(at, sums, size, found)
    if found > beta:  # (3)
        state.n_restarts[0] += 1.0
        if state.local:
            forget(state, arm)
        else:
            for other in range(state.K):
                forget(state, other)


register_learner(GLRklUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class GLRklUCB(IndexLearner):
    """kl-UCB that tests its arms for changes and starts again: for means that stand still between abrupt changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run.
    `loss_range`: the lowest and highest loss that can be told. `restart`: "global" or "local", what is forgotten
    at a change. `threshold`: "practical", "experiments" (a little lower) or "proven" (much higher). `delta`: the
    probability of a false alarm; None is 1/√T. `exploration`: scales the forced exploration, from 0 to 1. `n_splits`:
    how many candidate changes are kept for each arm. `every`: pulls of an arm from test to test. `n_switches`: the
    number of breakpoints, if it is known. The rule and its guarantee: help("turncoat.learners.stochastic.glr_kl_ucb").
    """

    name = "glr-kl-ucb"
    facts = Facts(
        "needed",
        "optional",
        "√(SKT), visible changes",
        "K + log t",
        setting="stochastic",
        when="means stand still and then jump, S unknown: hard to beat",
        when_not="losses may be anything, or drift fast: turncoat",
    )
    variants = (variant("glr-kl-ucb, local", restart="local"),)
    state_type = GLRklUCBState
    rule = rule
    restart = Option[Restart]('What an alarm forgets: all arms ("global"), or the one arm ("local").', RESTARTS)
    threshold = Option[Threshold]('Which threshold the test has: "practical", "experiments" or "proven".', THRESHOLDS)
    delta = Option[float | None]("The probability of a false alarm it was given; None for 1/√T.")
    exploration = Option[float]("What its forced exploration is of the paper's.")
    n_splits = Option[int]("How many candidate changes it keeps for each arm.")
    every = Option[int]("How many pulls of an arm lie between two tests.")
    n_switches = Option[int | None]("S, the number of breakpoints it was told; None if it was not.")
    n_restarts = Shown(first_number, "The number of restarts so far.")

    def __init__(  # noqa: PLR0913  what the paper, its programs and bounded memory leave open; all but arms optional
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        restart: Restart = "global",
        threshold: Threshold = "practical",
        delta: float | None = None,
        exploration: float = 1.0,
        n_splits: int = 64,
        every: int = 1,
        n_switches: int | None = None,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.restart, self.threshold = restart, threshold
        self.delta = None if delta is None else parse_positive("delta", delta, 1.0)
        self.exploration = parse_between("exploration", exploration, 0.0, MOST_EXPLORATION)
        self.n_splits = parse_whole("n_splits", n_splits, 2, MOST_SPLITS)
        self.every = parse_whole("every", every, 1, 2**53)
        self.n_switches = parse_switches(n_switches, T)
        alpha = self.exploration * forced_exploration(T, K, self.n_switches)
        log_scale = math.log((1.0 if threshold == "experiments" else 3.0) / (self.delta or false_alarms(T)))
        state = self.start(
            K=K,
            length=(self.n_splits + 1) // 2 + 3,  # the first and the last corner, and room for a new one
            local=restart == "local",
            growing=n_switches is None,
            proven=threshold == "proven",
            alpha=alpha,
            log_scale=log_scale,
            every=self.every,
        )
        state.sizes[:] = 1.0

    def _checks(self) -> Checks:
        state = self.view()
        n, clock = state.counts, state.clock[0]
        counted = n, state.starts, state.n_restarts, state.sizes, state.at
        yield not are_counts(*counted), "counts are not whole numbers"
        told = np.all(state.sums <= n) and np.all(n + state.starts <= clock) and state.n_restarts[0] <= clock
        yield not told, "more was counted than was told"
        for i, arm in np.ndindex(2, self.n_arms):
            chain = state.at[i, arm], state.split_sums[i, arm], state.sizes[i, arm]
            wrong = chain_damage(*chain, n[arm], state.sums[arm])
            yield wrong, wrong
        yield from super()._checks()

    @property
    def evidence(self) -> Vector:
        """The test's statistic for each arm: what is compared with its threshold."""
        state = self.view()
        found = np.zeros(self.n_arms)
        for i, arm in np.ndindex(2, self.n_arms):
            size = int(state.sizes[i, arm])
            found[arm] = evidence(state.at[i, arm], state.split_sums[i, arm], size, float(found[arm]))
        return found
