"""Forced exploration in turn: every so many rounds each arm is played once, whatever is known of it.

A share alpha of the rounds is forced: of every floor(K/alpha) rounds the last K, one for each arm, in their order. In
the papers the K rounds come first; here an index rule's own trying of every arm does, in random order, and so the order
in which arms are listed means nothing to how a game begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base.index import Rule
from turncoat.types import Vector

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
