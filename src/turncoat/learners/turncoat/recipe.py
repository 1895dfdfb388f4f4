"""The band that Turncoat is: which bases, how much each is trusted at first, and the rates they all follow.

H bases, of four faiths, in this order:

    clipped     mirror descent with a floor, one for every rate of a grid: the guarantee is about these
    signed      mirror descent on losses above or below average, with fixed share: quick, no guarantee alone
    detectors   kl-UCB that tests for changes and starts again: for means that stand still and then jump
    followers   UCB on what was seen lately, within a window: for drift, and for fast changes

There is no horizon. All rates follow N, a guess of it that is 16 at first and doubles whenever more rounds were told;
rates fall then, and weights and statistics are kept.
"""

from __future__ import annotations

import math
from typing import Any

from turncoat._jit import jit_inside

N_CLIPPED = 8
N_SIGNED = 8
N_MIRRORS = N_CLIPPED + N_SIGNED
DETECTORS = ("all arms",)  # what each forgets at a change: "all arms", or "that arm"
N_DETECTORS = len(DETECTORS)
WINDOWS = (128.0, 1024.0, math.inf)  # how many rounds each follower looks back
N_FOLLOWERS = len(WINDOWS)
N_LEADERS = N_DETECTORS + N_FOLLOWERS  # bases that propose a single arm, their leader
N_BASES = N_MIRRORS + N_LEADERS

FIRST_GUESS = 16.0
PRIOR = (0.025,) * N_MIRRORS + (0.5,) * N_DETECTORS + (0.05,) * N_FOLLOWERS  # up to a common factor

ETA = 2.0  # the master's rate is this over sqrt(N)
DETECTOR_FLOOR = 0.3  # and a detector's floor this over sqrt(N), so that it is heard when it has something to say
MOST_FLOOR = 0.25
DETECTOR_INDEX = 0.3  # of ln t, where kl-UCB has 1: the other bases explore for it
FOLLOWER_INDEX = 0.2
PSEUDO_SAMPLES = 2.0  # of the mean of all arms, which each arm of a follower has more
ALARM = 3.0  # a detector's threshold is ln(ALARM n^1.5 sqrt(N))
TEST_EVERY = 10  # pulls of an arm

NAMES = (
    tuple(f"clipped {i + 1}" for i in range(N_CLIPPED))
    + tuple(f"signed {i + 1}" for i in range(N_SIGNED))
    + tuple(f"detector, forgets {what}" for what in DETECTORS)
    + tuple("follower, forgets nothing" if w == math.inf else f"follower, last {w:.0f}" for w in WINDOWS)
)


@jit_inside
def set_rates(state: Any) -> None:
    """All rates and floors for the present guess N, and for the arms there are."""
    N, K = state.guess[0], float(state.n_living[0])
    state.eta[0] = min(ETA / math.sqrt(N), 0.5)
    for i in range(N_CLIPPED):
        state.rates[i] = math.sqrt(N ** (i / (N_CLIPPED - 1)) / (K * N))
    for i in range(N_SIGNED):
        likely = N ** (0.9 * i / (N_SIGNED - 1)) * math.log(K * N) + math.log(K)
        state.rates[N_CLIPPED + i] = math.sqrt(2.0 * likely / (K * N))
    for h in range(N_BASES):
        state.floors[h] = min(1.0 / N, 0.5) / N_BASES
    for h in range(N_MIRRORS, N_MIRRORS + N_DETECTORS):
        state.floors[h] = min(DETECTOR_FLOOR / math.sqrt(N), MOST_FLOOR)
