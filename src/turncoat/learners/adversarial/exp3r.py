"""EXP3.R: EXP3 that starts again when its explored rewards say that another arm is better.

Setting: adversarial within a stretch, with means that change a few times and by much; losses in [0, 1]; needs T, not S.

Rule (Allesiardo & Féraud 2015): EXP3 in its gain form, with rewards r = 1 - loss,
    p(a) = (1 - gamma) w(a)/W + gamma/K,   w(a_t) *= exp(gamma r / (K p(a_t)))          (1)
A round is *explored* if its arm came from the uniform part of (1). When every arm has m explored rewards,
    start again (w = 1) if some mean of them is above that of the arm with the largest w by 2 eps or more,   (2)
    eps = sqrt(ln(1/delta) / (2 m));   in any case, forget these rewards                (3)
with gamma = min(1, sqrt(K ln K ln T / T)).                                             (4)

    paper's symbol      name here
    gamma, delta        gamma, delta
    gamma H / K         m, `wanted`: H is the mean number of rounds until each arm has m, if they came evenly
    2 eps               gap
    I                   n_tests: intervals between tests

Guarantee: none as tuned here. The paper's is for changes of 4 eps at least, with H = sqrt(T ln T) and delta =
sqrt(ln T / (K T)); but then 2 eps is above 1.17 for all K from 2 to 50 and T from 100 to 1e15 (a test computes it), and
no two means in [0, 1] differ by that: it would never restart. Where rewards are independent, means stand still and the
best arm has the largest w, a test restarts with probability (K-1) delta² at most (Hoeffding's inequality).
Departures from the paper: `gap` and `delta` are given, and m = ceil(2 ln(1/delta) / gap²) follows from (3); the paper
gives H. Measured in docs/learners/exp3r.md.
*Which rounds were explored is drawn when they are told*, by a coin of probability gamma / (K p), p being what was
served: just the probability, given the arm, that it came from the uniform part; and the loss depends on the arm alone.
So arms, losses and marks have the same joint law as if the mark had been made at the ask, however late the tell, and a
decision need not carry it. Of rounds that were served with less than gamma/K (elsewhere; see `observe`) all count.
T = 1 is tuned as 2. A tell from before a restart counts as a sample of now. Exponents are capped as in exp3.py.
Cost per round: O(log K), and O(K) in explored rounds and at a restart.
Reference: R. Allesiardo, R. Féraud, "EXP3 with drift detection for the switching bandit problem", DSAA 2015; (2)-(4) as
in the programs of SMPyBandits, but for what they count: all rewards of an arm, where the paper counts explored ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.learners.adversarial import exp3
from turncoat.learners.adversarial.exp3 import Exp3State
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.learner import Facts, Learner
from turncoat.learners.base.saved_state import are_counts
from turncoat.learners.parts.tree_sampling import exploring_ask, exploring_probability
from turncoat.mirror.softmax import smallest
from turncoat.mirror.tree import fill, tree_size
from turncoat.random import uniform
from turncoat.types import Ints, Label, Seed, Vector, Words
from turncoat.validation.games import parse_between, parse_positive

MOST_SCALE = 1000.0
SMALLEST_GAP = 1e-6  # with less, no game is long enough for one test


def uniform_share(T: int, K: int) -> float:
    """gamma of (4), not capped at 1."""
    return math.sqrt(K * math.log(K) * math.log(max(T, 2)) / max(T, 2))


def samples_wanted(gap: float, delta: float) -> int:
    """m, for which 2 eps of (3) is the gap."""
    return max(1, math.ceil(-2.0 * math.log(delta) / (gap * gap)))


class Exp3RState(NamedTuple):
    """An EXP3, and the explored rewards of each arm since the last test."""

    rng: Words
    clock: Ints
    K: int
    gamma: float
    wanted: float
    gap: float
    n_tests: Vector  # (1,)
    n_restarts: Vector  # (1,)
    counts: Vector  # (K,)
    sums: Vector  # (K,)
    scores: Vector  # (2 K,)
    tree: Vector


@jit_rule
def view(buffer: Vector) -> Exp3RState:
    """Name the parts of the buffer."""
    K = int(buffer[HEAD])
    arrays = buffer[HEAD + 6 :]
    return Exp3RState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        buffer[HEAD + 1],
        buffer[HEAD + 2],
        buffer[HEAD + 3],
        buffer[HEAD + 4 : HEAD + 5],
        buffer[HEAD + 5 : HEAD + 6],
        arrays[:K],
        arrays[K : 2 * K],
        arrays[2 * K : 4 * K],
        arrays[4 * K :],
    )


@jit_rule
def inner(state: Exp3RState) -> Exp3State:
    """The EXP3 in its gain form."""
    return Exp3State(state.rng, state.clock, state.K, True, 0.0, state.gamma, state.scores, state.tree)


@jit_rule
def test(state: Exp3RState) -> None:
    """Compare the explored rewards of all arms with those of the leader, and forget them."""
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
    exp3.tell(inner(state), choice, loss)
    if uniform(state.rng) * state.K * served < state.gamma:
        state.counts[arm] += 1.0
        state.sums[arm] += 1.0 - loss
        if state.counts.min() >= state.wanted:
            test(state)


register_learner(Exp3RState, view=view, ask=exploring_ask, tell=tell, probability=exploring_probability)  # (1)


class Exp3R(Learner):
    """EXP3.R: EXP3 that starts again when its exploration shows a better arm, for a few large changes.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `gap`: how much better another arm must look, in losses scaled to [0, 1].
    `delta`: how sure a test must be, the square root of its false alarms. `exploration`: scales gamma, which is also
    how fast it learns: with 0 it plays all arms alike for ever. The rule: help("turncoat.learners.adversarial.exp3r").
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
    options = ("gap", "delta", "exploration")
    state_type = Exp3RState
    signed = ("scores",)

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
        self._gap = parse_between("gap", gap, SMALLEST_GAP, 1.0)
        self._delta = parse_positive("delta", delta, 1.0)
        self._exploration = parse_between("exploration", exploration, 0.0, MOST_SCALE)
        gamma = min(1.0, self._exploration * uniform_share(T, K))
        self.start([K, gamma, samples_wanted(self._gap, self._delta), self._gap], n_more=2 + 4 * K + tree_size(K))
        fill(self.view().tree, K, 1.0)

    def _damage(self) -> str:
        state = self.view()
        if not are_counts(state.counts, state.n_tests, state.n_restarts):
            return "what was counted is not whole"
        if np.any(state.sums > state.counts) or state.counts.sum() + state.n_tests[0] > state.clock[0]:
            return "more was counted than was told"
        if state.n_restarts[0] > state.n_tests[0]:
            return "there were more restarts than tests"
        return super()._damage()

    @property
    def gap(self) -> float:
        """How much better another arm must look for a restart."""
        return self._gap

    @property
    def delta(self) -> float:
        """How sure a test must be."""
        return self._delta

    @property
    def exploration(self) -> float:
        """What its exploration is of the paper's."""
        return self._exploration

    @property
    def n_wanted(self) -> int:
        """m, how many explored rewards of every arm a test waits for."""
        return int(self.view().wanted)

    @property
    def n_tests(self) -> int:
        """How often it has looked for a change."""
        return int(self.view().n_tests[0])

    @property
    def n_restarts(self) -> int:
        """How many changes it has noticed."""
        return int(self.view().n_restarts[0])
