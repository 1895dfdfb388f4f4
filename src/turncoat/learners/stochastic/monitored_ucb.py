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
Departures from the paper: forced rounds end their period (exploration.py); gamma is capped at 1 and scaled by
`exploration`, b by `tolerance`; S = 0 is tuned as S = 1, for arms may change where the best one does not; ties are
broken at random (index.py); t counts tells. w = 200 is a habit of later papers, not a theorem.
Cost per round: O(K) to choose, O(1) amortised to test; memory w words an arm.
Reference: Y. Cao, Z. Wen, B. Kveton, Y. Xie, "Nearly optimal adaptive procedure with change detection for
piecewise-stationary bandit", AISTATS 2019; (4) as in the programs of Besson et al. (JMLR 2022), index="kl" too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.errors import OptionError, TuningWarning
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.exploration import forcing, turn
from turncoat.learners.base.index import INDICES, Index, IndexLearner, kl_index, largest, ucb_index
from turncoat.learners.base.learner import Facts
from turncoat.learners.base.saved_state import are_counts
from turncoat.types import Ints, Label, Matrix, Seed, Vector, Words
from turncoat.validation.games import is_whole, parse_between, parse_positive, parse_switches, parse_word

LONGEST_WINDOW = 2**20
MOST_SCALE = 1000.0


def alarm_threshold(T: int, K: int, w: int) -> float:
    """b: (4)."""
    return math.sqrt(0.5 * w * math.log(2.0 * K * T * T))


def forced_exploration(T: int, K: int, S: int, w: int, b: float) -> float:
    """gamma: (4)."""
    return math.sqrt(max(S, 1) * K * (2.0 * b + 3.0 * math.sqrt(w)) / (2.0 * T))


class MonitoredUCBState(NamedTuple):
    """What is known since the last restart; the latest rewards of an arm go round in its row of `rewards`."""

    rng: Words
    clock: Ints
    K: int
    w: int
    kl: bool
    gamma: float
    b: float
    n_restarts: Vector  # (1,)
    start: Vector  # (1,) what the clock showed at the last restart
    counts: Vector  # (K,)
    sums: Vector  # (K,)
    newer: Vector  # (K,) the latest w/2 rewards
    older: Vector  # (K,) the w/2 before them
    rewards: Matrix  # (K, w)


@jit_rule
def view(buffer: Vector) -> MonitoredUCBState:
    """Name the parts of the buffer."""
    K, w = int(buffer[HEAD]), int(buffer[HEAD + 1])
    arms = buffer[HEAD + 7 :]
    return MonitoredUCBState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        w,
        buffer[HEAD + 2] == 1.0,
        buffer[HEAD + 3],
        buffer[HEAD + 4],
        buffer[HEAD + 5 : HEAD + 6],
        buffer[HEAD + 6 : HEAD + 7],
        arms[:K],
        arms[K : 2 * K],
        arms[2 * K : 3 * K],
        arms[3 * K : 4 * K],
        arms[4 * K :].reshape((K, w)),
    )


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


register_learner(MonitoredUCBState, view=view, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


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
    options = ("n_switches", "window", "tolerance", "exploration", "index")
    state_type = MonitoredUCBState
    rule = rule
    signed = ("newer", "older")  # by rounding

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
        self._n_switches = parse_switches(n_switches, T)
        self._window = w = _parse_window(window)
        self._tolerance = parse_positive("tolerance", tolerance, MOST_SCALE)
        self._exploration = parse_between("exploration", exploration, 0.0, MOST_SCALE)
        parse_word("index", index, INDICES)
        self._index = index
        b = self._tolerance * alarm_threshold(T, K, w)
        if b >= w / 2:
            most = f"half a window of {w} rewards sums to {w // 2} at most, the threshold is {b:.3g}"
            warnings.warn(f"no alarm can be raised: {most}", TuningWarning, stacklevel=2)
        S = 1 if self._n_switches is None else self._n_switches
        gamma = self._exploration * forced_exploration(T, K, S, w, alarm_threshold(T, K, w))
        self.start([K, w, index == "kl", gamma, b], n_more=2 + 4 * K + K * w)

    def _damage(self) -> str:
        state = self.view()
        n, clock, start = state.counts, state.clock[0], state.start[0]
        if not are_counts(n, state.start, state.n_restarts):
            return "what was counted is not whole"
        if np.any(state.sums > n) or n.sum() + start > clock or state.n_restarts[0] > clock:
            return "more was counted than was told"
        if np.any(state.rewards > 1.0) or np.any(np.maximum(state.newer, state.older) > state.w):
            return "rewards holds more than 1 a reward"
        return super()._damage()

    @property
    def n_switches(self) -> int | None:
        """S, the number of breakpoints it was told; None if it was not."""
        return self._n_switches

    @property
    def window(self) -> int:
        """w, how many rewards of an arm it watches."""
        return self._window

    @property
    def tolerance(self) -> float:
        """What its threshold is of the paper's."""
        return self._tolerance

    @property
    def exploration(self) -> float:
        """What its forced exploration is of the paper's."""
        return self._exploration

    @property
    def index(self) -> Index:
        """Which index it plays: "ucb" or "kl"."""
        return self._index

    @property
    def n_restarts(self) -> int:
        """How many changes it has noticed."""
        return int(self.view().n_restarts[0])


def _parse_window(window: int) -> int:
    if not is_whole(window) or not 2 <= window <= LONGEST_WINDOW or window % 2:
        raise OptionError(f"window is {window!r}; accepted are even numbers from 2 to {LONGEST_WINDOW}")
    return int(window)
