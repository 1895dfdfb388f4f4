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
Cost per round: O(K) to choose, O(ln n) corners to test; a global restart O(K). Memory 4 n_splits words an arm.
References: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient change-point detection for tackling
piecewise-stationary bandits", JMLR 23 (2022); its programs (PiecewiseStationaryBandits, in Julia) for (4) and (6), and
the text of L. Besson's thesis (2019) for (5), (7); E. Kaufmann, W. Koolen, "Mixture martingales revisited with
applications to sequential tests and confidence intervals", JMLR 22 (2021), for h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.exploration import forcing, turn
from turncoat.learners.base.index import IndexLearner, kl_index, largest
from turncoat.learners.base.learner import Facts
from turncoat.learners.base.saved_state import are_counts
from turncoat.learners.parts.glr import LOWER, UPPER, chain_damage, evidence, extend
from turncoat.types import Ints, Label, Matrix, Seed, Vector, Words
from turncoat.validation.games import parse_between, parse_positive, parse_switches, parse_whole, parse_word

Restart: TypeAlias = Literal["global", "local"]
RESTARTS = ("global", "local")
Threshold: TypeAlias = Literal["practical", "experiments", "proven"]
THRESHOLDS = ("practical", "experiments", "proven")
MOST_SPLITS = 2**20
MOST_EXPLORATION = 1000.0
SAFE = 1.0 + 1e-9  # rounding must not decide between equals


def forced_exploration(T: int, K: int, S: int | None) -> float:
    """alpha_1, or the constant alpha for S breakpoints: (4)."""
    return math.sqrt((1 if S is None else max(S, 1)) * K * math.log(T) / T)


def false_alarms(T: int) -> float:
    """delta: (4). T = 1 is treated as 2, for a test must be able to fail."""
    return 1.0 / math.sqrt(max(T, 2))


class GLRklUCBState(NamedTuple):
    """What is known of each arm since its last restart; `at` and `split_sums` are the corners of glr.py's chains."""

    rng: Words
    clock: Ints
    K: int
    local: bool
    growing: bool  # alpha_k = alpha sqrt(k)
    proven: bool  # (7)
    alpha: float
    log_scale: float  # ln(3/delta), or ln(1/delta)
    every: int
    n_restarts: Vector  # (1,)
    counts: Vector  # (K,)
    sums: Vector  # (K,)
    starts: Vector  # (K,) what the clock showed at the last restart
    sizes: Matrix  # (2, K)
    at: Vector  # (2, K, …)
    split_sums: Vector  # (2, K, …)


@jit_rule
def view(buffer: Vector) -> GLRklUCBState:
    """Name the parts of the buffer."""
    K, length = int(buffer[HEAD]), int(buffer[HEAD + 1])
    arms = buffer[HEAD + 9 : HEAD + 9 + 5 * K]
    chains = buffer[HEAD + 9 + 5 * K :]
    return GLRklUCBState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        buffer[HEAD + 2] == 1.0,
        buffer[HEAD + 3] == 1.0,
        buffer[HEAD + 4] == 1.0,
        buffer[HEAD + 5],
        buffer[HEAD + 6],
        int(buffer[HEAD + 7]),
        buffer[HEAD + 8 : HEAD + 9],
        arms[:K],
        arms[K : 2 * K],
        arms[2 * K : 3 * K],
        arms[3 * K :].reshape((2, K)),
        chains[: 2 * K * length].reshape((2, K, length)),
        chains[2 * K * length :].reshape((2, K, length)),
    )


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
    arm, _ = choice
    state.clock[0] += 1
    state.counts[arm] += 1.0
    state.sums[arm] += 1.0 - loss
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


register_learner(GLRklUCBState, view=view, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


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
    options = ("restart", "threshold", "delta", "exploration", "n_splits", "every", "n_switches")
    state_type = GLRklUCBState
    rule = rule

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
        parse_word("restart", restart, RESTARTS)
        parse_word("threshold", threshold, THRESHOLDS)
        self._restart, self._threshold = restart, threshold
        self._delta = None if delta is None else parse_positive("delta", delta, 1.0)
        self._exploration = parse_between("exploration", exploration, 0.0, MOST_EXPLORATION)
        self._n_splits = parse_whole("n_splits", n_splits, 2, MOST_SPLITS)
        self._every = parse_whole("every", every, 1, 2**53)
        self._n_switches = parse_switches(n_switches, T)
        alpha = self._exploration * forced_exploration(T, K, self._n_switches)
        log_scale = math.log((1.0 if threshold == "experiments" else 3.0) / (self._delta or false_alarms(T)))
        modes = [restart == "local", n_switches is None, threshold == "proven"]
        length = (self._n_splits + 1) // 2 + 3  # the first and the last corner, and room for a new one
        self.start([K, length, *modes, alpha, log_scale, self._every], n_more=1 + 5 * K + 4 * K * length)
        self.view().sizes[:] = 1.0

    def _damage(self) -> str:
        state = self.view()
        n, clock = state.counts, state.clock[0]
        if not are_counts(n, state.starts, state.n_restarts, state.sizes, state.at):
            return "what was counted is not whole"
        if np.any(state.sums > n) or np.any(n + state.starts > clock) or state.n_restarts[0] > clock:
            return "more was counted than was told"
        for i, arm in np.ndindex(2, self.n_arms):
            chain = state.at[i, arm], state.split_sums[i, arm], state.sizes[i, arm]
            if wrong := chain_damage(*chain, n[arm], state.sums[arm]):
                return wrong
        return super()._damage()

    @property
    def restart(self) -> Restart:
        """What is forgotten at a change: everything ("global"), or what is known of the arm ("local")."""
        return self._restart

    @property
    def threshold(self) -> Threshold:
        """Which threshold the test has: "practical", "experiments" or "proven"."""
        return self._threshold

    @property
    def delta(self) -> float | None:
        """The probability of a false alarm it was given; None for 1/√T."""
        return self._delta

    @property
    def exploration(self) -> float:
        """What its forced exploration is of the paper's."""
        return self._exploration

    @property
    def n_splits(self) -> int:
        """How many candidate changes it keeps for each arm."""
        return self._n_splits

    @property
    def every(self) -> int:
        """How many pulls of an arm lie between two tests."""
        return self._every

    @property
    def n_switches(self) -> int | None:
        """S, the number of breakpoints it was told; None if it was not."""
        return self._n_switches

    @property
    def n_restarts(self) -> int:
        """How many changes it has noticed."""
        return int(self.view().n_restarts[0])

    @property
    def evidence(self) -> Vector:
        """The test's statistic for each arm: what is compared with its threshold."""
        state = self.view()
        found = np.zeros(self.n_arms)
        for i, arm in np.ndindex(2, self.n_arms):
            size = int(state.sizes[i, arm])
            found[arm] = evidence(state.at[i, arm], state.split_sums[i, arm], size, float(found[arm]))
        return found
