"""`python -m turncoat.bounds`: recompute the two tables of bounds in docs/mathematics.md, section 6."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import product

from turncoat.bounds.theorems import theorem_1, theorem_2
from turncoat.bounds.worst_case import turncoat_bound
from turncoat.kim_yun import first_rho_2

GAMES = ((10**5, 10), (10**6, 10), (10**7, 10), (10**7, 100), (10**9, 100), (10**12, 10))
PER_DECADE = 20
LAST_DECADE = 20

BOUNDS: dict[str, Callable[[int, int, int], float]] = {
    "Theorem 1": lambda T, K, S: float(theorem_1(T, K, S)),
    "Theorem 2, rate paper": lambda T, K, S: float(theorem_2(T, K, S)),
    "Theorem 2, rate theorem": lambda T, K, S: float(theorem_2(T, K, S, rate="theorem")),
    "Theorem 2, rate paper, if rho = 2H": lambda T, K, S: float(theorem_2(T, K, S, rho=first_rho_2(T))),
    "Theorem W, Turncoat": lambda T, K, S: float(turncoat_bound(T, K, S)),
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
    """The smallest T on a grid, 20 per decade, from which the bound stays below T; 1e20, the end, if there is none."""
    first: int = 10**LAST_DECADE
    for j in range(LAST_DECADE * PER_DECADE - 1, -1, -1):
        T = round(math.pow(10.0, j / PER_DECADE))
        if T <= S or bound(T, K, S) >= T:
            break
        first = T
    return first


def short(value: float, digits: int) -> str:
    """The number with this many digits, and an exponent without leading zeros."""
    return re.sub(r"e\+0*", "e", f"{value:.{digits - 1}e}" if value >= 1000 else f"{value:.{digits}g}")


def table(title: str, game: str, rows: dict[str, list[str]]) -> str:
    """A row per game, a column per bound, as Markdown."""
    heads = f"| {game} | {' | '.join(BOUNDS)} |\n" + "|---" * (2 + len(BOUNDS)) + "|\n"
    return f"{title}\n\n{heads}" + "".join(f"| {name} | {' | '.join(row)} |\n" for name, row in rows.items())


def main() -> None:
    """Print both tables as Markdown."""
    bounds = BOUNDS.values()
    parts = {f"{short(T, 1)} | {S}": [short(bound(T, 10, S) / T, 3) for bound in bounds] for T, S in GAMES}
    print(table("Bound divided by T, K = 10 (below 1: not vacuous)", "T | S", parts))
    games = product((2, 10), (0, 10, 100))
    first = {f"{K} | {S}": [short(informative_from(bound, K, S), 2) for bound in bounds] for K, S in games}
    print(table("The horizon from which each bound is below T", "K | S", first), end="")


if __name__ == "__main__":
    main()
