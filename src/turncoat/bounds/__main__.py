"""`python -m turncoat.bounds`: the two tables of docs/mathematics.md, computed anew."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from turncoat.bounds.algorithm_1 import theorem_1
from turncoat.bounds.theorems import theorem_2
from turncoat.kim_yun import first_rho_2

GAMES = ((10**5, 10), (10**6, 10), (10**7, 10), (10**7, 100), (10**9, 100), (10**12, 10))
PER_DECADE = 20
LAST_DECADE = 20

BOUNDS: dict[str, Callable[[int, int, int], float]] = {
    "Theorem 1": lambda T, K, S: float(theorem_1(T, K, S)),
    "Theorem 2, rate paper": lambda T, K, S: float(theorem_2(T, K, S)),
    "Theorem 2, rate theorem": lambda T, K, S: float(theorem_2(T, K, S, rate="theorem")),
    "Theorem 2, rate paper, if rho = 2H": lambda T, K, S: float(theorem_2(T, K, S, rho=first_rho_2(T))),
    "ClippedOMD, told S": lambda T, K, S: one_base(T, K, S),
    "EXP3.S, not told S": lambda T, K, S: exp3s(T, K, S),
}


def one_base(T: int, K: int, S: int) -> float:
    """A single clipped base, told S: the base part of Theorem 1 with alpha = 1 and the best xi."""
    return math.sqrt(2.0 * K * T * (S * math.log(K * T) + math.log(K))) + (K - 1) / K


def exp3s(T: int, K: int, S: int) -> float:
    """EXP3.S without knowing S: Theorem 8.1 of Auer et al. (2002) with alpha = 1/T, gamma = sqrt(K ln(KT)/T) ≤ 1."""
    gamma = min(1.0, math.sqrt(K * math.log(K * T) / T))
    return K * ((S + 1) * math.log(K * T) + math.e) / gamma + (math.e - 1.0) * gamma * T


def informative_from(bound: Callable[[int, int, int], float], K: int, S: int) -> int:
    """The horizon from which on the bound stays below T, on a grid of 20 horizons a decade, up to 1e20."""
    first: int = 10**LAST_DECADE
    for j in range(LAST_DECADE * PER_DECADE - 1, -1, -1):
        T = round(math.pow(10.0, j / PER_DECADE))
        if T <= S or bound(T, K, S) >= T:
            break
        first = T
    return first


def short(value: float, digits: int) -> str:
    """The number with so many digits, and an exponent of as few as will do."""
    return re.sub(r"e\+0*", "e", f"{value:.{digits - 1}e}" if value >= 1000 else f"{value:.{digits}g}")


def main() -> None:
    """Print both tables as Markdown."""
    print("Bound divided by T, K = 10 (below 1: not vacuous)\n")
    print("| T | S | " + " | ".join(BOUNDS) + " |")
    print("|---" * (2 + len(BOUNDS)) + "|")
    for T, S in GAMES:
        print(f"| {short(T, 1)} | {S} | " + " | ".join(short(b(T, 10, S) / T, 3) for b in BOUNDS.values()) + " |")
    print("\nThe horizon from which on each bound is below T\n")
    print("| K | S | " + " | ".join(BOUNDS) + " |")
    print("|---" * (2 + len(BOUNDS)) + "|")
    for K in (2, 10):
        for S in (0, 10, 100):
            print(f"| {K} | {S} | " + " | ".join(short(informative_from(b, K, S), 2) for b in BOUNDS.values()) + " |")


if __name__ == "__main__":
    main()
