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

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
from turncoat.errors import OptionError
from turncoat.learners.adversarial import exp3s
from turncoat.learners.adversarial.exp3 import gain_exploration
from turncoat.learners.adversarial.exp3s import Exp3SState
from turncoat.learners.base.blocks import N_MARKS, BlockLearner
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.learner import Facts
from turncoat.learners.base.master import pick
from turncoat.mirror.softmax import add, softmax
from turncoat.mirror.tree import fill, tree_size
from turncoat.random import uniform
from turncoat.types import Ints, Label, Seed, Vector, Words
from turncoat.validation.games import is_whole

N_NUMBERS = 5


def block_length(T: int, K: int) -> int:
    """B: (1)."""
    return min(T, math.isqrt(K * T - 1) + 1)


def tunings(B: int, K: int) -> list[float]:
    """The gamma_i of (2), each once, in their order."""
    last = math.ceil(math.log(B))
    return sorted({exp3s.exploration(B, K, math.exp(i) - 1.0) for i in range(last + 1)})


class BanditOverBanditState(NamedTuple):
    """The EXP3 over tunings, and the weights of the present EXP3.S."""

    rng: Words
    clock: Ints
    K: int
    block: int
    share: float
    G: float
    gammas: Vector  # (N,)
    marks: Vector  # of blocks.py
    tuning: Vector  # (1,) which of the N plays this block
    gain: Vector  # (1,) the rewards of this block so far
    p: Vector  # (N,) what the tuning was drawn from
    scores: Vector  # (2 N,)
    offset: Vector  # (1,)
    tree: Vector


@jit_rule
def view(buffer: Vector) -> BanditOverBanditState:
    """Name the parts of the buffer."""
    N = int(buffer[HEAD + 1])
    numbers, after = buffer[HEAD + N_NUMBERS :], buffer[HEAD + N_NUMBERS + N + N_MARKS :]
    return BanditOverBanditState(
        rng_of(buffer),
        clock_of(buffer),
        int(buffer[HEAD]),
        int(buffer[HEAD + 2]),
        buffer[HEAD + 3],
        buffer[HEAD + 4],
        numbers[:N],
        numbers[N : N + N_MARKS],
        after[:1],
        after[1:2],
        after[2 : N + 2],
        after[N + 2 : 3 * N + 2],
        after[3 * N + 2 : 3 * N + 3],
        after[3 * N + 3 :],
    )


@jit_rule
def inner(state: BanditOverBanditState) -> Exp3SState:
    """The EXP3.S of this block. Random numbers and clock are those of the whole."""
    gamma = state.gammas[int(state.tuning[0])]
    return Exp3SState(state.rng, state.clock, state.K, gamma, state.share, state.offset, state.tree)


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


register_learner(BanditOverBanditState, view=view, ask=ask, tell=tell, probability=probability)


class BanditOverBandit(BlockLearner):
    """Bandit over bandit: learns how fast to explore, for a best arm that changes nobody knows how often. A baseline.

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
    options = ("block",)
    state_type = BanditOverBanditState
    signed = ("scores",)

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
        self._block = B = block_length(T, K) if block is None else _parse_block(block, T)
        gammas = tunings(B, K)
        N = len(gammas)
        numbers = [K, N, B, exp3s.sharing(B), gain_exploration(math.ceil(T / B), N), *gammas]
        self.start(numbers, n_more=N_MARKS + 3 + 3 * N + tree_size(K))
        begin(self.view())

    def _damage(self) -> str:
        state = self.view()
        if state.tuning[0] not in range(state.p.size):
            return f"tuning is {state.tuning[0]}"
        if state.gain[0] > state.clock[0] % state.block:
            return "more was gained than was told"
        if not abs(state.p.sum() - 1.0) <= 1e-9 or np.any(state.p < (1.0 - 1e-9) * state.G / state.p.size):
            return "p is no distribution over tunings"
        return super()._damage()

    @property
    def explorations(self) -> Vector:
        """gamma of each tuning, (N,): how often its EXP3.S plays any arm."""
        return self.view().gammas.copy()  # type: ignore[no-any-return]

    @property
    def tuning(self) -> int:
        """Which of them plays this block."""
        return int(self.view().tuning[0])

    @property
    def tuning_probabilities(self) -> Vector:
        """What the tuning of this block was drawn from, (N,)."""
        return self.view().p.copy()  # type: ignore[no-any-return]


def _parse_block(block: int, T: int) -> int:
    if not is_whole(block) or not 1 <= block <= T:
        raise OptionError(f"block is {block!r}; accepted are whole numbers from 1 to horizon = {T}, or None")
    return int(block)
