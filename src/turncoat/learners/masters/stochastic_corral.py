"""Stochastic Corral: a master over stochastic learners, each of which is judged by its past, not by its next move.

Setting: stochastic losses in [0, 1] whose means stay the same, and bases made for them (UCB and its kin); needs T.

Rule (Pacchiano et al. 2020, smoothing and the CORRAL master). Rounds come in pairs, both for the same base:
    step 1: draw i ~ served, base i plays its present policy, and learns from the bare loss         (1)
    step 2: base i replays one of its past policies, drawn uniformly, and learns nothing             (2)
    the master takes Corral's step on the loss of step 2 over served(i); rho and eta as there        (3)
A base has past policies as it was just before each of its updates, the latest among them. It is asked and told in its
own time, in rounds of step 1 in which it was drawn, so it meets the stochastic game that it was made for: no weights,
no restarts. Smoothing makes its expected loss fall as it learns, whatever it does on the way; the master needs that.

    paper's symbol      name here
    M, p, p-bar         M, p, served
    s_j                 counts: how often base j has learned
    pi_1 … pi_s         the snapshots of a base, R of them

Guarantee of the paper: if some base has regret at most U(T) with high probability and the master's rate is set for that
U, regret is of that order too, up to factors in M and logarithms (from memory; not derived here).
Departures from the paper: **R snapshots are kept, not all**, so its theorem is not ours as it stands.
* While a base has learned at most R times, (2) is exact.
* Later its snapshots are a uniformly drawn R-subset of its past policies (a reservoir: a new one takes the place of a
  random one with probability R/s), and (2) draws from the subset. Seen at the base's own updates, a replay is uniform
  over the past, exactly. But draws are dependent: two replays between updates are from the same R policies.
* So (a) the mean loss of a base's replays strays from that of its past by the order of (spread of the policies)/√R, and
  does not average out until the subset has changed; and (b) a base with an unlucky subset is drawn less often and keeps
  it for longer: at a fixed *time*, replays are biased to the worse. Both vanish as R grows; with R ≥ T/2 the rule is
  the paper's. All past policies would take memory that grows with T.
(1) and (3) are the paper's. **Late tells**: every round is told for what it was, a step 1 or a
step 2 of its base; after a told step 1 asks are replays of that base until a step 2 is told.
`decision.base` is j in step 1 and M + j in step 2. T rounds are T/2 pairs; the master is tuned for that many.
Cost per round: one ask and at most one tell of one base, and O(M). Memory: 2 (R + 1) times that of the bases.
Reference: A. Pacchiano, M. Phan, Y. Abbasi-Yadkori, A. Rao, J. Zimmert, T. Lattimore, C. Szepesvári, "Model selection
in contextual stochastic bandit problems", NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from turncoat import kim_yun
from turncoat._compile.jit import jit_rule
from turncoat.learners.base.base_stack import ask_base, chance_of, row_of, tell_base, view_herd
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.corral_master import BarrierKeeper, step_master
from turncoat.learners.base.generic_master import SIZES, Choice, register_keeper
from turncoat.learners.base.learner import Facts
from turncoat.learners.base.master import pick
from turncoat.learners.base.saved_state import are_counts
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.stochastic.ucb1 import UCB1
from turncoat.random import N_WORDS, uniform
from turncoat.types import Ints, Label, Seed, Vector, Words
from turncoat.validation.games import parse_whole

MOST_SNAPSHOTS = 10_000
EXPLORATIONS = (2.0, 0.5, 0.125)  # of the bases where none are given: the theorem's UCB1, and two bolder ones


def n_pairs(T: int) -> int:
    """How many rounds the master has."""
    return (T + 1) // 2


class StochasticCorralState(NamedTuple):
    """`paired`: 1 + the base whose step 2 comes next and the p it was drawn with; 0 before a step 1."""

    rng: Words
    clock: Ints
    K: int
    ways: int
    R: int
    g: float
    beta: float
    p: Vector
    served: Vector
    eta: Vector
    rho: Vector
    counts: Vector
    paired: Vector
    room: Vector
    dice: Words
    herd: Any


def view(Kinds: type, buffer: Vector) -> StochasticCorralState:
    """Name the parts of the buffer."""
    K, M = int(buffer[HEAD]), int(buffer[HEAD + 1])
    own = SIZES + 2 * int(buffer[HEAD + 2])
    vectors, more = buffer[own + 3 :], buffer[own + 3 + 5 * M :]
    return StochasticCorralState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        2 * M,
        int(buffer[own]),
        buffer[own + 1],
        buffer[own + 2],
        vectors[:M],
        vectors[M : 2 * M],
        vectors[2 * M : 3 * M],
        vectors[3 * M : 4 * M],
        vectors[4 * M : 5 * M],
        more[:2],
        more[2 : 2 + K],
        rng_of(more[2 + K :]),
        view_herd(Kinds, buffer[SIZES:own], more[2 + K + N_WORDS :]),
    )


@jit_rule
def n_kept(state: StochasticCorralState, j: int) -> int:
    """How many snapshots base j has."""
    return min(int(state.counts[j]), state.R)


@jit_rule
def ask(state: StochasticCorralState) -> Choice:
    """Step 1: draw a base and ask it. Step 2: ask one of its snapshots."""
    rows = state.R + 1
    if state.paired[0] == 0.0:
        i = pick(state.served, uniform(state.rng))
        arm, p_arm = ask_base(state.herd, i * rows, state.rng)  # (1)
        return arm, i, state.served[i], p_arm, 0.0
    i = int(state.paired[0]) - 1
    n = n_kept(state, i)
    snapshot = 1 + min(int(uniform(state.rng) * n), n - 1)
    arm, p_arm = ask_base(state.herd, i * rows + snapshot, state.rng)  # (2)
    return arm, state.p.size + i, state.paired[1], p_arm, 0.0


@jit_rule
def tell(state: StochasticCorralState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, j, p_j, p_arm, _ = choice
    state.clock[0] += 1
    M = state.p.size
    if j < M:
        remember(state, j)
        tell_base(state.herd, j * (state.R + 1), state.dice, (arm, p_arm), loss)  # (1)
        state.paired[0], state.paired[1] = 1.0 + j, p_j
    else:
        step_master(state, j - M, importance_weighted(loss, p_j))  # (3)
        state.paired[0], state.paired[1] = 0.0, 0.0


@jit_rule
def remember(state: StochasticCorralState, j: int) -> None:
    """Base j as it is, before an update: into a free place, or with probability R/s into a random one."""
    rows = state.R + 1
    state.counts[j] += 1.0
    s = int(state.counts[j])
    place = s - 1 if s <= state.R else min(int(uniform(state.dice) * s), s - 1)
    if place < state.R:
        now, snapshot = row_of(state.herd, j * rows), row_of(state.herd, j * rows + 1 + place)
        for word in range(now.size):
            snapshot[word] = now[word]


@jit_rule
def marginal(state: StochasticCorralState, arm: int) -> float:
    """q(arm): what a user is served next, over the bases (step 1), or the snapshots of the paired one (step 2)."""
    rows = state.R + 1
    if state.K == 1:
        return 1.0
    q = 0.0
    if state.paired[0] == 0.0:
        for j in range(state.served.size):
            q += state.served[j] * chance_of(state.herd, j * rows, arm, state.room)
        return min(q, 1.0)
    i = int(state.paired[0]) - 1
    n = n_kept(state, i)
    for snapshot in range(1, n + 1):
        q += chance_of(state.herd, i * rows + snapshot, arm, state.room)
    return min(q / n, 1.0)


register_keeper(StochasticCorralState, view=view, ask=ask, tell=tell, probability=marginal)


class StochasticCorral(BarrierKeeper):
    """Stochastic Corral: a master over stochastic learners, for losses whose means stay the same.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `bases`: a list of learners' classes, of their names, or of anything that
    makes one when called as maker(arms, horizon, seed=…); None is UCB1 with three explorations. `rate`: the master's
    first learning rate eta, or None for sqrt(2M/(KT)), M bases. `n_snapshots`: R, how many past policies of a base are
    kept for replaying. The rule and its guarantee: help("turncoat.learners.masters.stochastic_corral").
    """

    name = "stochastic-corral"
    facts = Facts(
        "needed",
        "S = 0 only",
        "none proven",
        "K",
        setting="stochastic",
        when="UCB-like learners are to be chosen among, and every round counts the same",
        when_not="the best arm changes: corral, or a master; half of all rounds are replays",
    )
    options = ("bases", "rate", "n_snapshots")
    keeper_type = StochasticCorralState

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        bases: Any = None,
        rate: float | None = None,
        n_snapshots: int = 16,
    ) -> None:
        self._n_snapshots = parse_whole("n_snapshots", n_snapshots, 1, MOST_SNAPSHOTS)
        super().__init__(arms, horizon, seed, loss_range, bases, copies=1 + self._n_snapshots)
        K, T, M = self.n_arms, n_pairs(int(self.horizon or 1)), len(self._fresh)
        numbers = [self._n_snapshots, 1.0 / kim_yun.rounds(T), kim_yun.growth_2(T)]
        self._start_master(numbers, 5 * M + 2 + K + N_WORDS, T, rate)

    def _default_bases(self) -> Any:
        return [partial(UCB1, exploration=exploration) for exploration in EXPLORATIONS]

    def _damage(self) -> str:
        state = self.view()
        i, counts = state.paired[0], state.counts
        if i not in range(len(self._fresh) + 1) or (i > 0) != (0.0 < state.paired[1] <= 1.0):
            return "paired is no base's pair"
        if not are_counts(counts) or counts.sum() > state.clock[0] or (i > 0 and counts[int(i) - 1] < 1):
            return "counts are not those of rounds told"
        return super()._damage()

    @property
    def n_snapshots(self) -> int:
        """R, how many past policies of a base are kept."""
        return self._n_snapshots
