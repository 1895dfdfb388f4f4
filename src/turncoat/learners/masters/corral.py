"""Corral: a master over learners of any kinds, which competes with the best of them.

Setting: adversarial losses in [0, 1]; needs T. What S it follows is up to the bases. Oblivious adversary.

Rule (Agarwal et al. 2017, algorithms 1 and 2), over M bases, with p = 1/M and rho = 2M at first, g = 1/T and
beta = exp(1/ln T):
    served = (1 - g) p + g/M;  draw i ~ served, play the arm of base i; see the loss     (1)
    base j is told  loss 1{j = i} / served(i)  for its own arm, every base j             (2)
    p <- argmin over the simplex of  <q, l> + D_G(q, p),  l(i) = loss/served(i),
         G(q) = -sum_j ln q(j) / eta_j                                                   (3)
    where 1/served(j) > rho_j:  rho_j = 2/served(j),  eta_j *= beta                      (4)
The losses of (2) reach up to rho_j. What base j is told, and what (4) does to it, is up to its `stability`:
    "none"   (2) divided by rho_j, which is in [0, 1]; restarted by (4)                  (5)
    "half"   (2) divided by sqrt(rho_j), its rate in effect; restarted by (4)            (6)
    "kept"   (2) divided by sqrt(rho_j); never restarted                                 (7)

    paper's symbol      name here
    M, p, p-bar         M, p, served
    eta, rho            eta, rho
    gamma = 1/T, beta   g, beta
    B_i                 the rows of `stack`

Guarantee: let the regret of base i under losses (2) be at most E[rho_i^a] R_i ("a-stable"). Expected regret is then of
order  M ln T/eta + T eta + 10 eta R_i² ln T  for a = 1/2, and  M ln T/eta + T eta  for a = 1 if eta ≤ 1/(40 R_i ln T);
restarts cost a constant factor. (The paper's, from memory; not derived here.) (6) has a = 1/2 for EXP3 variants, (5)
has a = 1 for adversarial learners. A stochastic learner (UCB and the like) is told losses that are not stochastic any
more: **no guarantee**.
(7) for ClippedOMD: with a floor of 1/(KT) a rate that falls costs at most ln(KT) times the rise of 1/rate, so that
its regret is as with the last rate throughout, a = 1/2 (the argument of Kim & Yun 2025 for Algorithm 2).
With the bases of the paper's grid and eta = sqrt(M/(KT)): S sqrt(KT) for every S at once, logarithms left out.
Departures from the paper: a base that is not drawn draws its arm when the round is told, not when it is asked. It is
told 0 whatever it draws, and its draw is independent of i, so in the order of the paper both are one law; told late, it
draws from its present state. T = 1 counts as 2. The paper's second estimator, for bases that propose the same arm, is
not used.
Cost per round: one ask and one tell of every base, and O(M). Memory: twice that of the bases.
Reference: A. Agarwal, H. Luo, B. Neyshabur, R. Schapire, "Corralling a band of bandit algorithms", COLT 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from turncoat import kim_yun
from turncoat._compile.state import N_WORDS, State, array
from turncoat.learners.adversarial.clipped_omd import ClippedOMD
from turncoat.learners.base import Facts, jit_rule, register_learner
from turncoat.learners.base.base_stack import ask_base, restart_base, tell_base
from turncoat.learners.base.corral_master import CorralMaster, marginal, step_master
from turncoat.learners.base.generic_master import Choice
from turncoat.learners.base.master import pick
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.random import uniform
from turncoat.types import Label, Seed, Vector, Words

STABILITIES = ("none", "half", "kept")  # as numbers: 0, 1, 2


def grid(T: int) -> list[int]:
    """The candidate numbers of switches of Kim & Yun, whole and below T."""
    return sorted({min(round(h), T - 1) for h in kim_yun.candidates(T)})


class CorralState(State):
    """`stable`: how each base is fed, the place of its stability in STABILITIES."""

    K: int
    ways: int  # M
    n_blocks: int
    sizes: Vector = array("2 * n_blocks")
    g: float
    beta: float
    stable: Vector = array("ways")
    p: Vector = array("ways")
    served: Vector = array("ways")
    eta: Vector = array("ways")
    rho: Vector = array("ways")
    room: Vector = array("K")
    dice: Words = array(N_WORDS)
    memory: Words = array(...)


@jit_rule
def ask(state: CorralState) -> Choice:
    """Draw a base, then ask it."""
    i = pick(state.served, uniform(state.rng))  # (1)
    arm, p_arm = ask_base(state, i, state.rng)
    return arm, i, state.served[i], p_arm, 0.0


@jit_rule
def tell(state: CorralState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, i, p_i, p_arm, _ = choice
    state.clock[0] += 1
    estimate = importance_weighted(loss, p_i)
    for j in range(state.p.size):
        played, fed = (arm, p_arm), 0.0
        if j == i:
            fed = feed(state, i, estimate)
        else:
            played = ask_base(state, j, state.dice)
        tell_base(state, j, state.dice, played, fed)  # (2)
    if step_master(state, i, estimate) and state.stable[i] < 2.0:
        restart_base(state, i)


@jit_rule
def feed(state: Any, i: int, estimate: float) -> float:
    """What base i is told for an estimate: (5), (6), (7)."""
    if state.stable[i] == 0.0:
        return float(min(estimate / state.rho[i], 1.0))
    return estimate / math.sqrt(state.rho[i])


register_learner(CorralState, ask=ask, tell=tell, probability=marginal)


class Corral(CorralMaster):
    """Corral: a master over learners of any kinds, which competes with the best of them.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `bases`: a list of learners' classes, of their names, or of anything that
    makes one when called as maker(arms, horizon, seed=…); None is ClippedOMD, tuned to every number of switches of the
    paper's grid. `rate`: the master's first learning rate eta, or None for sqrt(M/(KT)), M bases.
    The rule and its guarantee: help("turncoat.learners.masters.corral").
    """

    name = "corral"
    facts = Facts(
        "needed",
        "unknown",
        "S√(KT), or a base's",
        "all bases",
        setting="adversarial",
        when="the best of a few learners is wanted, and it is unknown which that is",
        when_not="the bases differ only in a rate: adaptive-master-base, shared, learns from every round",
    )
    master_state_type = CorralState

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        bases: Any = None,
        rate: float | None = None,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, bases, needed_by=type(self).__name__)
        stable = [STABILITIES.index(base.stability) for base in self._fresh]
        self._start_master(int(self.horizon or 1), rate, ways=len(self._fresh), stable=stable)

    def _default_bases(self) -> Any:
        return [partial(ClippedOMD, n_switches=S) for S in grid(int(self.horizon or 1))]
