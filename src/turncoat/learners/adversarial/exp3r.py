"""EXP3.R: EXP3 that restarts when its exploration samples show that another arm is better.

Setting: adversarial within a stretch, with means that change a few times and by much; losses in [0, 1]; needs T, not S.

Rule (Allesiardo & Féraud 2015): EXP3 in its gain form, with rewards r = 1 - loss,
    p(a) = (1 - gamma) w(a)/W + gamma/K,   w(a_t) *= exp(gamma r / (K p(a_t)))          (1)
A round is *explored* if its arm came from the uniform part of (1). When every arm has m explored rewards,
    restart (w = 1) if the mean of some arm's is at least 2 eps above that of the arm with the largest w,   (2)
    eps = sqrt(ln(1/delta) / (2 m));   in either case, discard these rewards            (3)
with gamma = min(1, sqrt(K ln K ln T / T)).                                             (4)

    paper's symbol      name here
    gamma, delta        gamma, delta
    gamma H / K         m, `wanted`: in H rounds each arm is explored m times in expectation
    2 eps               gap
    I                   n_tests: intervals between tests

Guarantee: none as tuned here. The paper's is for changes of 4 eps at least, with H = sqrt(T ln T) and delta =
sqrt(ln T / (K T)); but then 2 eps is above 1.17 for all K from 2 to 50 and T from 100 to 1e15 (a test computes it), and
no two means in [0, 1] differ by that: it would never restart. Where rewards are independent, means are constant and the
best arm has the largest w, a test restarts with probability at most (K-1) delta² (Hoeffding's inequality).
Departures from the paper: `gap` and `delta` are given, and m = ceil(2 ln(1/delta) / gap²) follows from (3); the paper
gives H. Measured in docs/learners/exp3r.md.
*Whether a round was explored is drawn at the tell*, with probability gamma / (K p), where p is the propensity: this is
the probability, given the arm, that it came from the uniform part, and the loss depends on the arm alone. So arms,
losses and marks have the same joint law as if the mark had been drawn at the ask, however late the tell, and a decision
need not carry it. Rounds with a propensity below gamma/K (decided elsewhere, see `observe`) always count as explored.
T = 1 is tuned as T = 2. A late tell, from before a restart, counts as a new sample. Exponents are capped as in exp3.py.
Cost per round: O(log K), and O(K) in explored rounds and at a restart.
Reference: R. Allesiardo, R. Féraud, "EXP3 with drift detection for the switching bandit problem", DSAA 2015; (2)-(4) as
in the code of SMPyBandits, which, however, counts all rewards of an arm, where the paper counts only explored ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from turncoat.learners.adversarial.exp3 import LARGEST_EXPONENT
from turncoat.learners.base import Facts, Learner, Option, Shown, State, array, first_number, jit_rule, register_learner
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.parts.tree_sampling import exploring_ask, exploring_probability, start_weights
from turncoat.mirror.softmax import charge, smallest
from turncoat.mirror.tree import fill
from turncoat.random import uniform
from turncoat.types import Label, Seed, Vector
from turncoat.validation.numbers import parse_between, parse_positive

MOST_SCALE = 1000.0
SMALLEST_GAP = 1e-6  # below it, no horizon is long enough for one test


def uniform_share(T: int, K: int) -> float:
    """gamma of (4), not capped at 1."""
    return math.sqrt(K * math.log(K) * math.log(max(T, 2)) / max(T, 2))


def samples_wanted(gap: float, delta: float) -> int:
    """m, for which 2 eps of (3) is the gap."""
    return max(1, math.ceil(-2.0 * math.log(delta) / (gap * gap)))


class Exp3RState(State):
    """EXP3's scores and weights, and counts and sums of the explored rewards of each arm since the last test."""

    K: int
    gamma: float
    wanted: float
    gap: float
    n_tests: Vector = array(1)
    n_restarts: Vector = array(1)
    counts: Vector = array("K")
    sums: Vector = array("K")
    scores: Vector = array("2 * K")
    tree: Vector = array(...)


@jit_rule
def test(state: Exp3RState) -> None:
    """The drift test (2): compare the mean explored reward of every arm with the leader's; then discard them (3)."""
    best = smallest(state.scores, state.K)  # the largest w
    least = state.sums[best] / state.counts[best] + state.gap
    drifted = False
    for a in range(state.K):
        drifted = drifted or (a != best and state.sums[a] / state.counts[a] >= least)  # (2)
    state.n_tests[0] += 1.0
    state.counts[:] = 0.0
    state.sums[:] = 0.0
    if drifted:
        state.n_restarts[0] += 1.0
        state.scores[:] = 0.0
        fill(state.tree, state.K, 1.0)


@jit_rule
def tell(state: Exp3RState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice, and whether it was explored."""
    arm, served = choice
    state.clock[0] += 1
    x = min(state.gamma / state.K * importance_weighted(1.0 - loss, served), LARGEST_EXPONENT)
    charge(state.scores, state.tree, state.K, arm, -x)  # as EXP3 in its gain form
    if uniform(state.rng) * state.K * served < state.gamma:
        state.counts[arm] += 1.0
        state.sums[arm] += 1.0 - loss
        if state.counts.min() >= state.wanted:
            test(state)


register_learner(Exp3RState, ask=exploring_ask, tell=tell, probability=exploring_probability)  # (1)


class Exp3R(Learner):
    """EXP3.R: EXP3 that starts again when its exploration shows a better arm, for a few large changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `gap`: how much better another arm must look, in losses scaled to [0, 1].
    `delta`: a test raises a false alarm with probability (K-1) delta² at most. `exploration`: scales gamma, also the
    learning rate: with 0 it plays all arms alike for ever. The rule: help("turncoat.learners.adversarial.exp3r").
    """

    name = "exp3.r"
    facts = Facts(
        "needed",
        "unknown",
        "none, as tuned",
        "log K",
        setting="adversarial",
        when="to compare with: the classic change detector over EXP3",
        when_not="to win: it is slow to notice; turncoat, or glr-kl-ucb",
    )
    state_type = Exp3RState
    signed = ("scores",)
    gap = Option[float]("How much better another arm must look for a restart.")
    delta = Option[float]("How sure a test must be.")
    exploration = Option[float]("The factor on the paper's gamma.")
    n_wanted = Shown(first_number, "m, how many explored rewards of every arm a test waits for.", "wanted")
    n_tests = Shown(first_number, "The number of tests so far.")
    n_restarts = Shown(first_number, "The number of restarts so far.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        gap: float = 0.3,
        delta: float = 0.1,
        exploration: float = 1.0,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.gap = parse_between("gap", gap, SMALLEST_GAP, 1.0)
        self.delta = parse_positive("delta", delta, 1.0)
        self.exploration = parse_between("exploration", exploration, 0.0, MOST_SCALE)
        gamma = min(1.0, self.exploration * uniform_share(T, K))
        wanted = samples_wanted(self.gap, self.delta)
        start_weights(self, 1.0, K, gamma=gamma, wanted=wanted, gap=self.gap)

    def _checks(self) -> Checks:
        state = self.view()
        n, n_tests = state.counts, state.n_tests[0]
        yield not are_counts(n, state.n_tests, state.n_restarts), "counts are not whole numbers"
        yield np.any(state.sums > n) or n.sum() + n_tests > state.clock[0], "more was counted than was told"
        yield state.n_restarts[0] > n_tests, "there were more restarts than tests"
        yield from super()._checks()
