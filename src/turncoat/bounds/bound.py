"""A bound on regret as a sum of named terms, and the game it is about."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from turncoat.errors import ArmsError, HorizonError, OptionError

LARGEST = 10**60  # beyond it products of horizon, arms and rho would leave the floats


class Term(NamedTuple):
    """One summand of a bound: what it pays for, how much, and its formula."""

    name: str
    value: float
    formula: str


@dataclass(frozen=True, repr=False)
class Bound:
    """An upper bound on the expected S-switch regret. `print` it to see where it comes from; `float` is its total."""

    title: str
    horizon: int
    terms: tuple[Term, ...]
    parameters: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The bound: the sum of its terms."""
        return math.fsum(term.value for term in self.terms)

    @property
    def per_round(self) -> float:
        """The bound divided by the horizon. Losses lie in [0, 1], so that 1 is always true."""
        return self.total / self.horizon

    @property
    def vacuous(self) -> bool:
        """Is it trivial? (No regret exceeds the horizon.)"""
        return self.total >= self.horizon

    def __float__(self) -> float:
        return self.total

    def __iter__(self) -> Iterator[str]:
        """The names of the terms."""
        return (term.name for term in self.terms)

    def __getitem__(self, name: str) -> float:
        """The value of the term of this name."""
        for term in self.terms:
            if term.name == name:
                return term.value
        raise OptionError(f"{name!r} is no term of this bound; its terms are {', '.join(t.name for t in self.terms)}")

    def __repr__(self) -> str:
        return f"<{self.title}: {self.total:,.2f}>"

    def __str__(self) -> str:
        verdict = "vacuous: no regret exceeds 1 per round" if self.vacuous else "not vacuous"
        last = Term("total", self.total, f"{self.per_round:.4g} per round, {verdict}")
        rows = [(term.name, f"{term.value:,.2f}", term.formula) for term in (*self.terms, last)]
        wide = max(len(name) for name, _, _ in rows)
        far = max(len(value) for _, value, _ in rows)
        lines = [f"  {name:<{wide}}  {value:>{far}}  {formula}" for name, value, formula in rows]
        rule = "  " + "-" * (wide + 2 + far)
        with_values = [f"{name} = {value:.6g}" for name, value in self.parameters.items()]
        below = [*_wrapped(with_values), *(f"  {note}" for note in self.notes)]
        return "\n".join([self.title, "", *lines[:-1], rule, lines[-1], "", *below])


def _wrapped(pieces: list[str], width: int = 100) -> list[str]:
    """The pieces, comma-separated, in indented lines of at most this width."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece) + 4 > width:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + piece
    return [f"  {line}" for line in lines]


def parse_game(horizon: Any, n_arms: Any, n_switches: Any) -> tuple[int, int, int]:
    """T, K and S as whole numbers, or an error that names what is wrong."""
    T, K, S = _whole(horizon), _whole(n_arms), _whole(n_switches)
    if T is None or not 1 <= T <= LARGEST:
        raise HorizonError(f"horizon is {horizon!r}; accepted is a whole number of rounds from 1 to 1e60")
    if K is None or not 1 <= K <= LARGEST:
        raise ArmsError(f"n_arms is {n_arms!r}; accepted is a whole number of arms from 1 to 1e60")
    if S is None or not 0 <= S < T:
        raise OptionError(f"n_switches is {n_switches!r}; accepted are whole numbers from 0 to horizon - 1 = {T - 1}")
    return T, K, S


def _whole(value: Any) -> int | None:
    """The whole number that a value is (1e6 is one, True is not), else None."""
    if isinstance(value, numbers.Integral):
        return None if isinstance(value, bool) else int(value)
    if not isinstance(value, numbers.Real) or not float(value).is_integer():
        return None
    return int(float(value))
