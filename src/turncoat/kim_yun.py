"""The tuning of the paper, one function per parameter, for the learners and for the bounds.

    Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025.

    paper   here
    H-set   candidates(T)            the numbers of switches the bases are tuned for; H is how many there are
    alpha   floor_1, floor_2         least probability of a base
    beta    base_floor               least probability of an arm inside a base
    eta     master_rate_1, _2        learning rate of the master (Algorithm 2: its first value)
    gamma   growth_2                 what a rate of Algorithm 2's master is multiplied by when it grows
    xi(h)   base_rate_1, _2          learning rate of base h

T is the horizon and K the number of arms, both at least 1. Departures from the paper: it writes H = log T where the
set has ceil(ln T) + 1 members, and we count members; T = 1, where log T = 0, is treated as T = 2; and an alpha that no
distribution can respect is capped (see `floor_1`).
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

Rate: TypeAlias = Literal["paper", "theorem"]


def rounds(T: int) -> int:
    """The horizon used in every formula: T, or 2 where T is 1."""
    return max(T, 2)


def candidates(T: int) -> list[float]:
    """The candidate numbers of switches h: T^(i/n) for i = 0 … n, with n = ceil(ln T) (section 3.1).

    Neighbours are at most a factor e apart, so some h is within a factor e of max(S, 1), from below.
    """
    T = rounds(T)
    n = max(1, math.ceil(math.log(T)))
    return [math.pow(T, i / n) for i in range(n + 1)]


def size(T: int) -> int:
    """H: how many candidates there are."""
    return len(candidates(T))


def base_floor(T: int, K: int) -> float:
    """beta = 1/(KT), for both algorithms (first line of each)."""
    return 1.0 / (K * rounds(T))


def floor_1(T: int, K: int) -> tuple[float, bool]:
    """alpha = K^(1/3) / (T^(1/3) H^(1/2)) of Algorithm 1, and whether it had to be capped.

    Above 1/H no distribution over H bases can respect it; there 1/(2H) is used. That happens when T < K H^(3/2), where
    K^(1/3) T^(2/3) > T/sqrt(H): Theorem 1 can hardly say anything there, so hardly anything is lost.
    """
    H = size(T)
    if rounds(T) ** 2 < K**2 * H**3:  # alpha > 1/H, in whole numbers: rounding must not decide a tie
        return 1.0 / (2.0 * H), True
    return min(math.pow(K / rounds(T), 1.0 / 3.0) / math.sqrt(H), 1.0 / H), False


def master_rate_1(T: int) -> float:
    """eta = 1/sqrt(TH) of Algorithm 1."""
    return 1.0 / math.sqrt(rounds(T) * size(T))


def base_rate_1(h: float, T: int, K: int) -> float:
    """xi(h) = sqrt(h) / (K^(1/3) T^(2/3)) of Algorithm 1."""
    return math.sqrt(h) / (math.pow(K, 1.0 / 3.0) * math.pow(rounds(T), 2.0 / 3.0))


def floor_2(T: int) -> float:
    """alpha = 1/(TH) of Algorithm 2."""
    return 1.0 / (rounds(T) * size(T))


def growth_2(T: int) -> float:
    """gamma = exp(1/ln T) of Algorithm 2."""
    return math.exp(1.0 / math.log(rounds(T)))


def most_increases_2(T: int) -> int:
    """How often a rate of Algorithm 2's master can grow at most: the m with 2^m < T <= 2^(m+1).

    Each time rho more than doubles, from 2H, and it never passes 2/alpha = 2TH.
    """
    return (rounds(T) - 1).bit_length() - 1


def first_rho_2(T: int) -> float:
    """rho_1(h) = 2H of Algorithm 2: the first threshold on 1/p(h), for every h."""
    return 2.0 * size(T)


def master_rate_2(T: int, K: int, rate: Rate = "paper") -> float:
    """The first eta of Algorithm 2: sqrt(H/T) as its first line says, or sqrt(H/(KT)) as its theorem needs.

    The last display of the paper's proof of Theorem 2 holds with the second alone; docs/mathematics.md says why.
    """
    eta = math.sqrt(size(T) / rounds(T))
    return eta if rate == "paper" else eta / math.sqrt(K)


def base_rate_2(h: float, T: int, K: int, rho: float) -> float:
    """xi_t(h) = sqrt(h / (K T rho_t(h))) of Algorithm 2."""
    return math.sqrt(h / (K * rounds(T) * rho))
