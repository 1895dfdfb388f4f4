"""Forced exploration in turn: every so many rounds each arm is played once, whatever is known of it.

A share alpha of the rounds is forced: of every floor(K/alpha) rounds the last K, one for each arm, in their order. In
the papers the K rounds come first; here an index rule's own trying of every arm does, in random order, and so the order
in which arms are listed means nothing to how a game begins.
"""

from __future__ import annotations

from turncoat._jit import jit

LONGEST = 2.0**53  # a period that never comes to its end


@jit
def turn(K: int, alpha: float, n_rounds: int) -> int:
    """The arm to be explored after so many rounds, or -1. With alpha of 1 or more, always one of them."""
    if alpha <= 0.0:
        return -1
    period = int(min(K / min(alpha, 1.0), LONGEST))
    return max(n_rounds % period - (period - K), -1)
