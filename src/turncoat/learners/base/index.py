"""Index policies: play the arm with the largest index. What the UCB rules share.

Each arm has an index, an upper confidence bound on its mean reward r = 1 - loss, and the arm with the largest index is
played. With n samples of mean m and a confidence c, which grows like a logarithm of the time, the index is

    m + sqrt(c / n)                                                                     (1)  "ucb"
    the largest q with n kl(m, q) ≤ c                                                   (2)  "kl"

An arm without samples has the index +inf. **Ties are broken at random**, each of the m arms on top with the same
chance, so the propensity of a decision is 1/m, and nearly always 1. Random ties make the order in which arms are listed
mean nothing; and they keep a batch of asks that are not told yet from all being the same untried arm. Once no two arms
tie, every ask until the next tell plays the same arm: the rule acts on what it has been told, and an ask tells nothing.

An ask evaluates the indices; a tell changes the samples. Both the loop and `probabilities` compute an index by the same
compiled function, so what they call a tie is the same.

Forced exploration in turn: every so many rounds each arm is played once, whatever is known of it.

A share alpha of the rounds is forced: of every floor(K/alpha) rounds the last K, one for each arm, in their order. In
the papers the K rounds come first; here an index rule's own trying of every arm does, in random order, and so the order
in which arms are listed means nothing to how a game begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base.learner import Learner
from turncoat.learners.parts.kl import is_below, upper
from turncoat.random import uniform
from turncoat.types import Vector
from turncoat.validation.numbers import parse_positive

Index: TypeAlias = Literal["ucb", "kl"]
INDICES = ("ucb", "kl")
MOST_EXPLORATION = 1000.0


def parse_exploration(exploration: float | None, index: Index) -> float:
    """xi of a rule whose confidence is xi times a logarithm: 0.6 where theory is for (1), which wants more than 1/2."""
    if exploration is None:
        return 0.6 if index == "ucb" else 1.0
    return parse_positive("exploration", exploration, MOST_EXPLORATION)


class Rule(NamedTuple):
    """What follows from a confidence and an index: kernels over a learner's state."""

    ask: Callable[..., tuple[int, float]]
    probabilities: Callable[..., None]
    indices: Callable[..., None]


@jit
def ucb_index(n: float, total: float, confidence: float) -> float:
    """(1), from n samples of this total."""
    if n <= 0.0:
        return math.inf
    return total / n + math.sqrt(confidence / n)


@jit
def kl_index(n: float, total: float, confidence: float, least: float) -> float:
    """(2), from n samples of this total; where it is below `least`, a number below `least`."""
    if n <= 0.0:
        return math.inf
    mean, level = min(total / n, 1.0), confidence / n
    return mean if is_below(mean, level, least) else upper(mean, level)


@jit_rule
def count(state: Any, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice: one more sample of its arm."""
    arm, _ = choice
    state.clock[0] += 1
    state.counts[arm] += 1.0
    state.sums[arm] += 1.0 - loss


def largest(confidence: Callable[[Any], Any], index: Callable[[Any, Any, int, float], float]) -> Rule:
    """The rule that plays the arm with the largest index.

    `confidence(state)`, a number or several, is computed once per round. `index(state, confidence, arm, least)` may be
    any number below `least` where the index is below it: it cannot win.
    """

    @jit_rule
    def ask(state: Any) -> tuple[int, float]:
        c = confidence(state)
        best, arm, n_best = -math.inf, 0, 0
        for a in range(state.K):
            value = index(state, c, a, best)
            if value > best:
                best, arm, n_best = value, a, 1
            elif value == best:
                n_best += 1
                if uniform(state.rng) * n_best < 1.0:
                    arm = a
        return arm, 1.0 / n_best

    @jit_rule
    def indices(state: Any, out: Vector) -> None:
        c = confidence(state)
        for a in range(state.K):
            out[a] = index(state, c, a, -math.inf)

    @jit_rule
    def probabilities(state: Any, out: Vector) -> None:
        c = confidence(state)
        best, n_best = -math.inf, 0
        for a in range(state.K):
            out[a] = index(state, c, a, best)
            best = max(best, out[a])
        for a in range(state.K):
            n_best += out[a] == best
        for a in range(state.K):
            out[a] = 1.0 / n_best if out[a] == best else 0.0

    return Rule(ask, probabilities, indices)


LONGEST = 2.0**53  # a period that never comes to its end


@jit
def turn(K: int, alpha: float, n_rounds: int) -> int:
    """The arm to be explored after so many rounds, or -1. With alpha of 1 or more, always one of them."""
    if alpha <= 0.0:
        return -1
    period = int(min(K / min(alpha, 1.0), LONGEST))
    return max(n_rounds % period - (period - K), -1)


def forcing(forced: Callable[[Any], int], rule: Rule) -> Rule:
    """The rule, but for rounds in which `forced(state)` names an arm, and not -1."""
    ask_leader, leaders = rule.ask, rule.probabilities

    @jit_rule
    def probabilities(state: Any, out: Vector) -> None:
        arm = forced(state)
        if arm < 0:
            leaders(state, out)
        else:
            out[:] = 0.0
            out[arm] = 1.0

    @jit_rule
    def ask(state: Any) -> tuple[int, float]:
        arm = forced(state)
        return (arm, 1.0) if arm >= 0 else ask_leader(state)

    return rule._replace(ask=ask, probabilities=probabilities)


class IndexLearner(Learner):
    """A learner that plays the arm with the largest index. Made by its subclasses only."""

    rule: ClassVar[Rule]
    uses_propensity = False

    @property
    def indices(self) -> Vector:
        """The index of every arm, in rewards: what the next ask compares. An untried arm's is infinite."""
        shown = np.empty(self.n_arms)
        self.rule.indices(self.view(), shown)
        return shown
