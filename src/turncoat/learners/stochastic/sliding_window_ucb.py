"""Sliding-window UCB: UCB on the last rounds alone. For stochastic losses whose means change now and then.

Setting: stochastic, independent losses in [0, 1] whose means change S times. Needs T and S (`n_switches`), from which
its window comes, or a `window`, and then neither.

Rule (SW-UCB of Garivier & Moulines 2011), with rewards r = 1 - loss: with N(a) and X(a) the number of samples of an
arm among the last tau rounds and the sum of their rewards, play the arm with the largest
    X(a)/N(a) + sqrt(xi ln min(t, tau) / N(a))                                          (1)  index="ucb"
    max { q : N(a) kl(X(a)/N(a), q) ≤ xi ln min(t, tau) }                               (2)  index="kl"
with tau = 2 sqrt(T ln T / S). An arm that has no sample in the window comes first.

    paper's symbol      name here
    tau                 tau, the `window`
    N_t(tau, i)         counts
    N X-bar             sums, K of them and their K remainders
    xi, B               xi, the `exploration`; B = 1
    Upsilon_T           S

Guarantee: each arm is played O(sqrt(S T ln T)) times more than it should be, in expectation, for (1) with xi > 1/2
(shown there; order and padding were checked in Lattimore & Szepesvári, "Bandit Algorithms", 2020, section 31.3).
So regret is of order K sqrt(S T). None for (2) or a smaller xi, which play better. None for losses that are not
stochastic.
Departures from the paper: its Upsilon counts changes of any mean, `n_switches` those of the best arm, which is what
users know. With S = 0 nothing is ever forgotten (the formula's tau is infinite), and xi = 2 makes (1) UCB1. A window
from the formula holds at least two rounds per arm: a shorter one could do nothing but explore. (2) is not in the paper
(used by Besson et al., JMLR 2022). Ties are broken at random (index.py). The window is of tells: a late loss enters
it when it is told. Sums are kept with the remainders of their rounding, so a million rounds that enter and leave again
leave nothing behind.
Cost per round: O(K); memory O(K + tau).
Reference: A. Garivier, E. Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from turncoat.errors import OptionError
from turncoat.learners.base import Checks, Facts, Option, State, array, jit_rule, register_learner, variant
from turncoat.learners.base.index import INDICES, Index, IndexLearner, kl_index, largest, parse_exploration, ucb_index
from turncoat.mirror.softmax import add
from turncoat.types import Ints, Label, Seed, Vector
from turncoat.validation.games import parse_switches
from turncoat.validation.numbers import MOST_ROUNDS, is_whole

MOST_WINDOW = 2**30


def window_for(T: int, K: int, S: int | None) -> int:
    """tau of the guarantee; without S as for S = 1; 0 stands for no end."""
    if S == 0:
        return 0
    tau = math.ceil(2.0 * math.sqrt(T * math.log(T) / (S or 1)))
    return min(max(tau, 2 * K), MOST_WINDOW)


def parse_window(window: int) -> int:
    """A window that a user gave."""
    if not is_whole(window) or not 1 <= window <= MOST_WINDOW:
        raise OptionError(f"window is {window!r}; accepted are whole numbers of rounds from 1 to 2**30, or None")
    return int(window)


class SlidingWindowUCBState(State):
    """The rounds in the window, a ring of rewards and one of arms, and what they come to. tau = 0: no end, no rings."""

    K: int
    tau: int
    xi: float
    kl: bool
    counts: Vector = array("K")
    sums: Vector = array("2 * K")
    rewards: Vector = array("tau")
    played: Ints = array("tau")


@jit_rule
def confidence(state: SlidingWindowUCBState) -> float:
    """xi ln min(t, tau)."""
    t = float(state.clock[0])
    return state.xi * math.log(max(t if state.tau == 0 else min(t, float(state.tau)), 1.0))


@jit_rule
def index(state: SlidingWindowUCBState, c: float, arm: int, least: float) -> float:
    """The index of an arm; where it is below `least`, it may be another number below `least`."""
    N, X = state.counts[arm], state.sums[arm]
    return kl_index(N, X, c, least) if state.kl else ucb_index(N, X, c)  # (2), (1)


@jit_rule
def leave(state: SlidingWindowUCBState, place: int) -> None:
    """The oldest round leaves the window."""
    arm = state.played[place]
    state.counts[arm] -= 1.0
    add(state.sums, state.K, arm, -state.rewards[place])
    if state.counts[arm] == 0.0:
        state.sums[arm] = 0.0
        state.sums[state.K + arm] = 0.0


@jit_rule
def tell(state: SlidingWindowUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    if state.tau > 0:
        place = state.clock[0] % state.tau
        if state.clock[0] >= state.tau:
            leave(state, place)
        state.rewards[place] = 1.0 - loss
        state.played[place] = arm
    state.clock[0] += 1
    state.counts[arm] += 1.0
    add(state.sums, state.K, arm, 1.0 - loss)


rule = largest(confidence, index)
register_learner(SlidingWindowUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class SlidingWindowUCB(IndexLearner):
    """Sliding-window UCB: UCB on the last rounds alone, for stochastic losses whose means change now and then.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; not needed with a `window`. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `n_switches`: S, how often the best arm
    changes; None is tuned as for 1. `window`: how many rounds are remembered; by default from S and T. `index`: "ucb"
    (the paper's) or "kl" (often better). `exploration`: xi; by default 0.6 for "ucb", 1 for "kl". The rule and its
    guarantee: help("turncoat.learners.stochastic.sliding_window_ucb").
    """

    name = "sliding-window-ucb"
    facts = Facts(
        "needed",
        "wanted",
        "K√(ST)",
        "K",
        setting="stochastic",
        when="you know how many last rounds still count; best as exploration=0.1",
        when_not="all arms move together: discounted-ucb; losses may be anything: clipped-omd",
    )
    variants = (variant("sliding-window-ucb, kl", index="kl"),)
    state_type = SlidingWindowUCBState
    signed = ("sums",)
    rule = rule
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    index = Option[Index]('Which index it compares: "ucb" or "kl".', INDICES)
    exploration = Option[float]("xi, what stands before the logarithm.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        window: int | None = None,
        index: Index = "ucb",
        exploration: float | None = None,
    ) -> None:
        needed_by = "SlidingWindowUCB without window=" if window is None else None
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        K, T = self.n_arms, self.horizon
        self.index = index
        self.exploration = parse_exploration(exploration, index)
        self.n_switches = parse_switches(n_switches, T or MOST_ROUNDS)
        tau = window_for(T or 1, K, self.n_switches) if window is None else parse_window(window)
        self.start(K=K, tau=tau, xi=self.exploration, kl=index == "kl")

    def _checks(self) -> Checks:
        state = self.view()
        n = self.n_told if state.tau == 0 else min(self.n_told, state.tau)
        yield np.any(state.played >= state.K), "played holds an arm that there is not"
        counts = np.bincount(state.played[:n], minlength=state.K) if state.tau else state.counts
        wrong = state.counts.sum() != n or np.any(counts != state.counts)
        yield wrong, "counts are not those of the rounds in the window"
        yield from super()._checks()

    @property
    def window(self) -> int | None:
        """tau, how many rounds it remembers; None for all."""
        return int(self.view().tau) or None
