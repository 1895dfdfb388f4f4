"""Stochastic Corral: a master over stochastic learners, each of which is judged by its past, not by its next move.

Setting: stochastic losses in [0, 1] whose means stay the same, and bases made for them (UCB and the like); needs T.

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
from typing import Any

from turncoat._compile.state import N_WORDS, State, array, computed
from turncoat.learners.base import Checks, Facts, Option, jit_rule, register_learner
from turncoat.learners.base.base_stack import ask_base, chance_of, copy_base, tell_base
from turncoat.learners.base.corral_master import CorralMaster, step_master
from turncoat.learners.base.generic_master import Choice
from turncoat.learners.base.master import pick
from turncoat.learners.base.saved_state import are_counts
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.stochastic.ucb1 import UCB1
from turncoat.random import uniform
from turncoat.types import Label, Seed, Vector, Words
from turncoat.validation.numbers import parse_whole

MOST_SNAPSHOTS = 10_000
EXPLORATIONS = (2.0, 0.5, 0.125)  # of the bases where none are given: the theorem's UCB1, and two bolder ones


def n_pairs(T: int) -> int:
    """How many rounds the master has."""
    return (T + 1) // 2


@jit_rule
def twice(M: int) -> int:
    """Bases are numbered twice: below M for step 1, from M on for step 2."""
    return 2 * M


class StochasticCorralState(State):
    """`paired`: 1 + the base whose step 2 comes next and the p it was drawn with; 0 before a step 1."""

    K: int
    M: int
    n_blocks: int
    sizes: Vector = array("2 * n_blocks")
    R: int
    g: float
    beta: float
    p: Vector = array("M")
    served: Vector = array("M")
    eta: Vector = array("M")
    rho: Vector = array("M")
    counts: Vector = array("M")
    paired: Vector = array(2)
    room: Vector = array("K")
    dice: Words = array(N_WORDS)
    memory: Words = array(...)
    ways: int = computed(twice, "M")


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
        arm, p_arm = ask_base(state, i * rows, state.rng)  # (1)
        return arm, i, state.served[i], p_arm, 0.0
    i = int(state.paired[0]) - 1
    n = n_kept(state, i)
    snapshot = 1 + min(int(uniform(state.rng) * n), n - 1)
    arm, p_arm = ask_base(state, i * rows + snapshot, state.rng)  # (2)
    return arm, state.p.size + i, state.paired[1], p_arm, 0.0


@jit_rule
def tell(state: StochasticCorralState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, j, p_j, p_arm, _ = choice
    state.clock[0] += 1
    M = state.p.size
    if j < M:
        remember(state, j)
        tell_base(state, j * (state.R + 1), state.dice, (arm, p_arm), loss)  # (1)
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
        copy_base(state, j * rows + 1 + place, j * rows)


@jit_rule
def marginal(state: StochasticCorralState, arm: int) -> float:
    """q(arm): what a user is served next, over the bases (step 1), or the snapshots of the paired one (step 2)."""
    rows = state.R + 1
    if state.K == 1:
        return 1.0
    q = 0.0
    if state.paired[0] == 0.0:
        for j in range(state.served.size):
            q += state.served[j] * chance_of(state, j * rows, arm, state.room)
        return min(q, 1.0)
    i = int(state.paired[0]) - 1
    n = n_kept(state, i)
    for snapshot in range(1, n + 1):
        q += chance_of(state, i * rows + snapshot, arm, state.room)
    return min(q / n, 1.0)


register_learner(StochasticCorralState, ask=ask, tell=tell, probability=marginal)


class StochasticCorral(CorralMaster):
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
    master_state_type = StochasticCorralState
    n_snapshots = Option[int]("R, how many past policies of a base are kept.")

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
        self.n_snapshots = parse_whole("n_snapshots", n_snapshots, 1, MOST_SNAPSHOTS)
        copies = 1 + self.n_snapshots
        super().__init__(arms, horizon, seed, loss_range, bases, copies, needed_by=type(self).__name__)
        self._start_master(n_pairs(int(self.horizon or 1)), rate, M=len(self._fresh), R=self.n_snapshots)

    def _default_bases(self) -> Any:
        return [partial(UCB1, exploration=exploration) for exploration in EXPLORATIONS]

    def _checks(self) -> Checks:
        state = self.view()
        i, counts = state.paired[0], state.counts
        paired = i in range(len(self._fresh) + 1) and (i > 0) == (0.0 < state.paired[1] <= 1.0)
        yield not paired, "paired is no base's pair"
        told = are_counts(counts) and counts.sum() <= state.clock[0] and (i == 0 or counts[int(i) - 1] >= 1)
        yield not told, "counts are not those of rounds told"
        yield from super()._checks()
