"""The constants of Turncoat: its bases, the master's prior over them, and the rates as functions of the guess N.

H bases, of four kinds, in this order:

    clipped     mirror descent with a floor: one base, the slow one, which the guarantee is about
    signed      mirror descent on losses above or below average, with fixed share: fast, no guarantee alone
    detectors   kl-UCB that tests for changes and restarts: for means that stay constant and then jump
    followers   UCB on discounted samples: for drift, and for fast changes

There is no horizon. All rates are functions of N, a guess of it: 16 at first, doubled whenever more rounds were told
(docs/guarantee.md, (2)). Rates fall then; weights and statistics are kept.
"""

from __future__ import annotations

import math
from typing import Any

from turncoat._compile.jit import jit_rule, jit_step

N_CLIPPED = 1
N_SIGNED = 3
N_MIRRORS = N_CLIPPED + N_SIGNED
N_DETECTORS = 1
WINDOWS = (64.0, 512.0, 4096.0, math.inf)  # rounds that each follower looks back
N_FOLLOWERS = len(WINDOWS)
N_LEADERS = N_DETECTORS + N_FOLLOWERS  # bases that propose a single arm, their leader
N_BASES = N_MIRRORS + N_LEADERS

SLOW = 0  # the clipped base that is charged its mix loss
SLOW_RATE, MOST_SLOW_RATE = 1.0, 1.0 / 150.0  # its rate is SLOW_RATE/sqrt(KN), and MOST_SLOW_RATE/K at most

FIRST_GUESS = 16.0
PRIOR = (0.01,) * N_MIRRORS + (1.0,) * N_DETECTORS + (0.03, 0.03, 0.03, 0.08)  # up to a common factor

ETA, MOST_ETA = 2.0, 0.04  # the master's rate is ETA/sqrt(N), and this at most
FEW = 16  # up to so many arms, the baseline is for all of them; of more, for the leaders
DETECTOR_FLOOR = 0.3  # a detector's floor is this over sqrt(N): high, so that it regains trust soon after a change
DETECTOR_INDEX = 0.2  # of ln t, where kl-UCB has 1: the other bases explore for it
ALARM = 2.0  # a detector's threshold is ln(ALARM n N^(1/4))
TEST_EVERY = 5  # pulls of an arm
LEAST_PULLS = 10.0
NOISE_PRIOR = 0.5  # added to the variance that 0/1 rewards would have: few rewards say little of their noise
LEAST_NOISE = 0.02
RECALLED = 0.5  # what is kept of an arm after an alarm at another one, in samples
DOUBTED = 0.25  # and how far its mean is moved to that of the other one
FOLLOWER_INDEX = (0.1, 0.1, 0.1, 0.05)
PSEUDO_SAMPLES = 2.0  # of the mean of all arms, added to each arm of a follower

NAMES = (
    (("clipped",) if N_CLIPPED == 1 else tuple(f"clipped {i + 1}" for i in range(N_CLIPPED)))
    + tuple(f"signed {i + 1}" for i in range(N_SIGNED))
    + ("detector",) * N_DETECTORS
    + tuple("follower, forgets nothing" if w == math.inf else f"follower, last {w:.0f}" for w in WINDOWS)
)


@jit_rule
def master_rate(N: float) -> float:
    """eta, at the guess N."""
    return min(ETA / math.sqrt(N), MOST_ETA)


@jit_rule
def base_floor(h: int, N: float) -> float:
    """alpha: the least that the master trusts base h."""
    is_detector = N_MIRRORS <= h < N_MIRRORS + N_DETECTORS
    return DETECTOR_FLOOR / math.sqrt(N) if is_detector else min(1.0 / N, 0.5) / N_BASES


@jit_rule
def clipped_rate(i: int, K: float, N: float) -> float:
    """xi of clipped base i, over K arms."""
    if i == SLOW:
        return min(SLOW_RATE / math.sqrt(K * N), MOST_SLOW_RATE / K)
    return math.sqrt(N ** (0.25 * i) / (K * N))


@jit_rule
def arm_floor(i: int, K: float, N: float) -> float:
    """beta: the least probability of an arm under clipped base i."""
    return min(1.0 / math.sqrt(K * N), 0.5 / K) if i == SLOW else 1.0 / (K * N)


@jit_step
def set_rates(state: Any) -> None:
    """All rates and floors for the present guess N, and for the arms there are."""
    N, K = state.guess[0], float(state.n_living[0])
    state.eta[0] = master_rate(N)
    for i in range(N_CLIPPED):
        state.rates[i] = clipped_rate(i, K, N)
    for i in range(N_SIGNED):
        likely = N ** (0.9 * i / max(N_SIGNED - 1, 1)) * math.log(K * N) + math.log(K)
        state.rates[N_CLIPPED + i] = math.sqrt(2.0 * likely / (K * N))
    for h in range(N_BASES):
        state.floors[h] = base_floor(h, N)
