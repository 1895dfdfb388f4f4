"""Bandit over bandit (BOB): an EXP3 that learns, block after block, how fast an EXP3.S should explore.

Setting: adversarial losses in [0, 1]; needs T, not S. The common way to do without S before the masters of this
package, and a baseline for them: it pays T^(3/4) for not knowing S, whatever S is.

Rule (the scheme of Cheung, Simchi-Levi & Zhu 2019, over EXP3.S in place of their windowed UCB): blocks of
    B = ceil(sqrt(K T)) rounds, T at most; n = ceil(T / B) of them                                         (1)
A block is played by a fresh EXP3.S for B rounds (exp3s.py, share 1/B) with one of N tunings, for h_i - 1 switches:
    gamma_i = min(1, sqrt(K (h_i ln(KB) + e) / ((e-1) B))),   h_i = e^i,   i = 0 … ceil(ln B)              (2)
The tuning is drawn by EXP3 in its gain form, over N arms and n rounds. Its gain is the block's mean reward:
    p(i) = (1 - G) w(i)/W + G/N,   w(i) *= exp(G x / (N p(i))),   x = (the rewards 1 - loss of the block) / B   (3)
    G = min(1, sqrt(N ln N / ((e-1) n)))                                                                   (4)

    symbol              name here
    B, N, G             block, gammas.size, G
    gamma_i             gammas; that of the present block is the gamma of `inner`
    x B                 gain
    -ln w               scores, N sums and their N remainders

Guarantee: expected regret against every path with S switches at most
    min over i of { K ((S+n) ln(KB) + n e) / gamma_i + (e-1) gamma_i T } + 2 sqrt(e-1) B sqrt(n N ln N)    (5)
    ≤ 2.71 sqrt(K n B ((S+n) ln(KB) + n e)) + 2.63 B sqrt(n N ln N), where it is below T,                  (6)
of order sqrt(S K T) + K^(1/4) T^(3/4). Ours; derived in docs/learners/bandit-over-bandit.md. Oblivious adversary.
Departures: there is no paper of BOB over EXP3.S to depart from. Tunings that (2) caps at 1 are one and the same rule,
uniform play, of which one is kept. The last block may be shorter; its rewards are divided by B all the same. The tuning
of a block is drawn when the one before ends, so what is served is the distribution of the present EXP3.S. Blocks are
counted in tells; a decision of an earlier block is dropped and counted (blocks.py).
Cost per round: O(log K), and O(K + N) at the end of a block.
References: W. C. Cheung, D. Simchi-Levi, R. Zhu, "Learning to optimize under non-stationarity", AISTATS 2019; P. Auer,
N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM J. Comput. 32 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turncoat.errors import OptionError
from turncoat.learners.adversarial import exp3s
from turncoat.learners.adversarial.exp3 import gain_exploration
from turncoat.learners.base import Checks, Facts, Shown, State, array, copied, first_number, jit_rule, register_learner
from turncoat.learners.base.blocks import N_MARKS, BlockLearner
from turncoat.learners.base.master import pick
from turncoat.mirror.softmax import add, softmax
from turncoat.mirror.tree import fill, tree_size
from turncoat.random import uniform
from turncoat.types import Ints, Label, Seed, Vector, Words
from turncoat.validation.numbers import is_whole


def block_length(T: int, K: int) -> int:
    """B: (1)."""
    return min(T, math.isqrt(K * T - 1) + 1)


def tunings(B: int, K: int) -> list[float]:
    """The gamma_i of (2), each once, in their order."""
    last = math.ceil(math.log(B))
    return sorted({exp3s.exploration(B, K, math.exp(i) - 1.0) for i in range(last + 1)})


class BanditOverBanditState(State):
    """The EXP3 over tunings, and the weights of the present EXP3.S."""

    K: int
    N: int
    block: int
    share: float
    G: float
    gammas: Vector = array("N")
    marks: Vector = array(N_MARKS)  # of BlockLearner
    tuning: Vector = array(1)  # which of the N plays this block
    gain: Vector = array(1)  # the rewards of this block so far
    p: Vector = array("N")  # what the tuning was drawn from
    scores: Vector = array("2 * N")
    offset: Vector = array(1)
    tree: Vector = array(...)


class Inner(NamedTuple):
    """What the kernels of exp3s.py look at. Random numbers and clock are those of the whole."""

    rng: Words
    clock: Ints
    K: int
    gamma: float
    share: float
    offset: Vector
    tree: Vector


@jit_rule
def inner(state: BanditOverBanditState) -> Inner:
    """The EXP3.S of this block."""
    gamma = state.gammas[int(state.tuning[0])]
    return Inner(state.rng, state.clock, state.K, gamma, state.share, state.offset, state.tree)


@jit_rule
def probability(state: BanditOverBanditState, arm: int) -> float:
    """p(arm)."""
    return exp3s.probability(inner(state), arm)


@jit_rule
def ask(state: BanditOverBanditState) -> tuple[int, float]:
    """Draw an arm: (index, probability)."""
    return exp3s.ask(inner(state))


@jit_rule
def begin(state: BanditOverBanditState) -> None:
    """Draw a tuning, and begin a block with it."""
    softmax(state.scores, state.p)
    N = state.p.size
    for i in range(N):
        state.p[i] = (1.0 - state.G) * state.p[i] + state.G / N  # (3)
    state.tuning[0] = pick(state.p, uniform(state.rng))
    state.gain[0] = 0.0
    state.offset[0] = 1.0
    fill(state.tree, state.K, 0.0)


@jit_rule
def tell(state: BanditOverBanditState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of a choice of this block; after the last one, learn what its tuning was worth."""
    exp3s.tell(inner(state), choice, loss)
    state.gain[0] += 1.0 - loss
    if state.clock[0] % state.block == 0:
        N, i = state.p.size, int(state.tuning[0])
        add(state.scores, N, i, -state.G / N * state.gain[0] / state.block / state.p[i])  # (3)
        begin(state)


register_learner(BanditOverBanditState, ask=ask, tell=tell, probability=probability)


class BanditOverBandit(BlockLearner):
    """Bandit over bandit: learns how fast to explore, for a best arm that changes unknown times. A baseline.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T. `seed`: one seed, one run. `loss_range`: the
    lowest and highest loss that can be told. `block`: rounds played with one tuning; None is √(KT). The rule and its
    guarantee: help("turncoat.learners.masters.bandit_over_bandit").
    """

    name = "bob"
    facts = Facts(
        "needed",
        "unknown",
        "√(SKT) + K^¼·T^¾",
        "log K",
        setting="adversarial",
        when="to compare with: the classic way to do without S",
        when_not="to win: even in 1e7 rounds its blocks are too short; turncoat",
    )
    state_type = BanditOverBanditState
    signed = ("scores",)
    explorations = Shown(copied, "gamma of each tuning, (N,): how often its EXP3.S plays any arm.", "gammas")
    tuning = Shown(first_number, "Which of them plays this block.")
    tuning_probabilities = Shown(copied, "What the tuning of this block was drawn from, (N,).", "p")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        block: int | None = None,
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=type(self).__name__)
        K, T = self.n_arms, int(self.horizon or 1)
        self.block = B = block_length(T, K) if block is None else _parse_block(block, T)
        gammas = tunings(B, K)
        N = len(gammas)
        G = gain_exploration(math.ceil(T / B), N)
        state = self.start(tree_size(K), K=K, N=N, block=B, share=exp3s.sharing(B), G=G, gammas=gammas)
        begin(state)

    def _checks(self) -> Checks:
        state = self.view()
        N, p = state.p.size, state.p
        yield state.tuning[0] not in range(N), f"tuning is {state.tuning[0]}"
        yield state.gain[0] > state.clock[0] % state.block, "more was gained than was told"
        sound = abs(p.sum() - 1.0) <= 1e-9 and np.all(p >= (1.0 - 1e-9) * state.G / N)
        yield not sound, "p is no distribution over tunings"
        yield from super()._checks()


def _parse_block(block: int, T: int) -> int:
    if not is_whole(block) or not 1 <= block <= T:
        raise OptionError(f"block is {block!r}; accepted are whole numbers from 1 to horizon = {T}, or None")
    return int(block)
