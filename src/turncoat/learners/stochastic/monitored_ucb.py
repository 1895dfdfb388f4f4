"""M-UCB: UCB that watches a window of each arm's latest rewards, and starts again when its halves disagree.

Setting: stochastic, piecewise stationary, rewards r = 1 - loss in [0, 1]; needs T; takes S (`n_switches`), and without
it is tuned as for one breakpoint. `window` wants to know how large changes are.

Rule (Cao et al. 2019, algorithms 1 and 2), with tau the round of the last restart, n(a) and mean(a) since then:
    forced exploration: every floor(K/gamma) rounds, each arm once                                         (1)
    else the arm of the largest  mean(a) + sqrt(2 ln(t - tau)/n(a)), untried arms first                    (2)
    after each reward, of its arm, once n(a) ≥ w:
        restart all if |sum of its latest w/2 rewards - sum of the w/2 before| > b                         (3)
with b = sqrt(w ln(2 K T²)/2) and gamma = sqrt(S K (2 b + 3 sqrt(w))/(2 T)).                               (4)
index="kl" puts the kl-UCB index, max {q : n(a) kl(mean(a), q) ≤ ln(t - tau)}, in the place of (2).

    paper's symbol      name here
    w, b                window, b
    gamma               gamma
    M                   S + 1: the paper counts segments, so its M - 1 is n_switches, the breakpoints of all arms

Guarantee (their corollary, from memory, for segments long enough, changes of at least delta and w ≥ (4/delta²)
(sqrt(ln(2 K T²)) + sqrt(ln(2 T)))²): expected regret O(sqrt(S K T ln T)). None against an adversary, and none for
smaller changes: (3) hardly ever fires if a mean moves by less than 2 b/w = sqrt(2 ln(2 K T²)/w), which is 0.51 at
K = 10, T = 1e5, w = 200.
Departures from the paper: forced rounds end their period (base/index.py); gamma is capped at 1 and scaled by
`exploration`, b by `tolerance`; S = 0 is tuned as S = 1, for arms may change where the best one does not; ties are
broken at random (index.py); t counts tells. w = 200 is a habit of later papers, not a theorem.
Cost per round: O(K) to choose, O(1) amortised to test; memory w words per arm.
Reference: Y. Cao, Z. Wen, B. Kveton, Y. Xie, "Nearly optimal adaptive procedure with change detection for
piecewise-stationary bandit", AISTATS 2019; (4) as in the programs of Besson et al. (JMLR 2022), index="kl" too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from turncoat.errors import OptionError, TuningWarning
from turncoat.learners.base import Facts, Option, Shown, State, array, first_number, jit_rule, register_learner
from turncoat.learners.base.index import INDICES, Index, IndexLearner, forcing, kl_index, largest, turn, ucb_index
from turncoat.learners.base.saved_state import Checks, are_counts
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_switches
from turncoat.validation.numbers import is_whole, parse_between, parse_positive

LONGEST_WINDOW = 2**20
MOST_SCALE = 1000.0


def alarm_threshold(T: int, K: int, w: int) -> float:
    """b: (4)."""
    return math.sqrt(0.5 * w * math.log(2.0 * K * T * T))


def forced_exploration(T: int, K: int, S: int, w: int, b: float) -> float:
    """gamma: (4)."""
    return math.sqrt(max(S, 1) * K * (2.0 * b + 3.0 * math.sqrt(w)) / (2.0 * T))


class MonitoredUCBState(State):
    """What is known since the last restart; the latest rewards of an arm go round in its row of `rewards`."""

    K: int
    w: int
    kl: bool
    gamma: float
    b: float
    n_restarts: Vector = array(1)
    start: Vector = array(1)  # what the clock showed at the last restart
    counts: Vector = array("K")
    sums: Vector = array("K")
    newer: Vector = array("K")  # the latest w/2 rewards
    older: Vector = array("K")  # the w/2 before them
    rewards: Matrix = array("K", "w")


@jit_rule
def forced(state: MonitoredUCBState) -> int:
    """The arm whose turn it is to be explored, or -1."""
    return turn(state.K, state.gamma, int(state.clock[0] - state.start[0]))  # (1)


@jit_rule
def confidence(state: MonitoredUCBState) -> float:
    """What stands over n in (2): 2 ln(t - tau), for kl ln(t - tau)."""
    log_t = math.log(max(state.clock[0] - state.start[0], 1.0))
    return log_t if state.kl else 2.0 * log_t


@jit_rule
def index(state: MonitoredUCBState, c: float, arm: int, least: float) -> float:
    """The index of an arm; where it is below `least`, a number below `least`."""
    if state.kl:
        return kl_index(state.counts[arm], state.sums[arm], c, least)
    return ucb_index(state.counts[arm], state.sums[arm], c)  # (2)


rule = forcing(forced, largest(confidence, index))  # (1), (2)


@jit_rule
def remember(state: MonitoredUCBState, arm: int, reward: float) -> None:
    """Put a reward into the window of its arm, and keep the sums of its halves."""
    w, half = state.w, state.w // 2
    row = state.rewards[arm]
    place = int((state.counts[arm] - 1.0) % w)
    middle = row[(place + half) % w]  # it was the first of the newer half
    oldest = row[place]
    row[place] = reward
    if place == w - 1:  # all over again, once a window: rounding does not add up
        state.older[arm] = row[:half].sum()
        state.newer[arm] = row[half:].sum()
    elif state.counts[arm] > w:  # before, the window is not full
        state.older[arm] += middle - oldest
        state.newer[arm] += reward - middle


@jit_rule
def tell(state: MonitoredUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    state.clock[0] += 1
    state.counts[arm] += 1.0
    state.sums[arm] += 1.0 - loss
    remember(state, arm, 1.0 - loss)
    if state.counts[arm] >= state.w and abs(state.newer[arm] - state.older[arm]) > state.b:  # (3)
        state.n_restarts[0] += 1.0
        state.start[0] = state.clock[0]
        state.counts[:] = 0.0
        state.sums[:] = 0.0


register_learner(MonitoredUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class MonitoredUCB(IndexLearner):
    """M-UCB: UCB with a window on each arm's latest rewards, for large, abrupt changes whose number is known.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `n_switches`: S, how often means change; None is tuned as for 1. `window`:
    how many rewards of an arm are watched, an even number. `tolerance`: scales by how much the sums of its halves must
    differ. `exploration`: scales the forced exploration. `index`: "ucb" (the paper) or "kl".
    The rule and its guarantee: help("turncoat.learners.stochastic.monitored_ucb").
    """

    name = "monitored-ucb"
    facts = Facts(
        "needed",
        "wanted",
        "√(SKT), large changes",
        "K",
        setting="stochastic",
        when="to compare; changes are large and abrupt and their number is known",
        when_not="in practice: glr-kl-ucb, told nothing, was better in all four games measured",
    )
    state_type = MonitoredUCBState
    rule = rule
    signed = ("newer", "older")  # by rounding
    n_switches = Option[int | None]("S, the number of breakpoints it was told; None if it was not.")
    window = Option[int]("w, how many rewards of an arm it watches.")
    tolerance = Option[float]("What its threshold is of the paper's.")
    exploration = Option[float]("What its forced exploration is of the paper's.")
    index = Option[Index]('Which index it plays: "ucb" or "kl".', INDICES)
    n_restarts = Shown(first_number, "The number of restarts so far.")

    def __init__(  # noqa: PLR0913  the paper's w, b and gamma, and which index; all but arms optional
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        window: int = 200,
        tolerance: float = 1.0,
        exploration: float = 1.0,
        index: Index = "ucb",
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.n_switches = parse_switches(n_switches, T)
        self.window = w = _parse_window(window)
        self.tolerance = parse_positive("tolerance", tolerance, MOST_SCALE)
        self.exploration = parse_between("exploration", exploration, 0.0, MOST_SCALE)
        self.index = index
        b = self.tolerance * alarm_threshold(T, K, w)
        if b >= w / 2:
            most = f"half a window of {w} rewards sums to {w // 2} at most, the threshold is {b:.3g}"
            warnings.warn(f"no alarm can be raised: {most}", TuningWarning, stacklevel=2)
        S = 1 if self.n_switches is None else self.n_switches
        gamma = self.exploration * forced_exploration(T, K, S, w, alarm_threshold(T, K, w))
        self.start(K=K, w=w, kl=index == "kl", gamma=gamma, b=b)

    def _checks(self) -> Checks:
        state = self.view()
        n, clock, start = state.counts, state.clock[0], state.start[0]
        yield not are_counts(n, state.start, state.n_restarts), "counts are not whole numbers"
        counted = np.any(state.sums > n) or n.sum() + start > clock or state.n_restarts[0] > clock
        yield counted, "more was counted than was told"
        halves = np.maximum(state.newer, state.older)
        yield np.any(state.rewards > 1.0) or np.any(halves > state.w), "rewards holds more than 1 per reward"
        yield from super()._checks()


def _parse_window(window: int) -> int:
    if not is_whole(window) or not 2 <= window <= LONGEST_WINDOW or window % 2:
        raise OptionError(f"window is {window!r}; accepted are even numbers from 2 to {LONGEST_WINDOW}")
    return int(window)
