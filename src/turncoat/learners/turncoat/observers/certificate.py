"""The certificate: the right side of Theorem W (docs/guarantee.md, section 5), with its two random sums as played.

Its mean over the learner's draws is an upper bound on the expected regret against the best path with S switches, and at
most `tc.turncoat_bound`, which is known before the game. It covers games in which every loss was told before the next
ask, to arms that stayed the same. Where `n_uncovered` is above 0 nothing is promised.

    while playing, `spent` adds up     gaps       <p, x> less the mix loss of p
                                       refunds    p(o) (mean loss - mix loss) of the slow base o
                                       the number of tells that the theorem does not cover
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from turncoat._compile.jit import jit_rule
from turncoat.errors import OptionError
from turncoat.learners.turncoat.constants import (
    FIRST_GUESS,
    MOST_ETA,
    N_BASES,
    PRIOR,
    SLOW,
    arm_floor,
    base_floor,
    clipped_rate,
    master_rate,
)
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.validation.numbers import MOST_ROUNDS, is_whole

BELOW = 1.0 + 2.0 * MOST_ETA  # no centred exponent of the master is further below 0
CURVE = (math.exp(BELOW) - 1.0 - BELOW) / BELOW**2

SAME = 1e-9  # probabilities that differ by less, relatively, differ by rounding


@jit_rule
def spend(state: TurncoatState, gap: float, paid: float, q: float, q_now: float) -> None:
    """Add a round to `spent`. q: what the arm was served with, q_now: what it would be served with now."""
    if abs(q - q_now) > SAME * q:
        state.spent[2] += 1.0  # told late, or among some arms only
    else:
        state.spent[0] += max(gap, 0.0)
        state.spent[1] += paid


class Fixed(NamedTuple):
    """The terms of Theorem W that are known before the game, and the sums of rates that bound the other two."""

    start: float
    floors: float
    base_floors: float
    switches: float
    etas: float  # sum of eta_t
    xis: float  # sum of xi_t
    far: float  # ln(1/beta_T)


def guesses(T: int) -> Iterator[tuple[float, int]]:
    """Every guess N of T rounds, and for how many of them it stood."""
    told, N = 0, FIRST_GUESS
    while told < T:
        yield N, int(min(N, T)) - told
        told, N = int(min(N, T)), 2.0 * N


def fixed_terms(T: int, K: int, S: int) -> Fixed:
    """Theorem W, term by term, in the order of docs/guarantee.md."""
    first, stood = FIRST_GUESS, [*guesses(T)] or [(FIRST_GUESS, 0)]
    N, prior = stood[-1][0], [share / math.fsum(PRIOR) for share in PRIOR]
    B = math.fsum(base_floor(h, first) * math.log(1.0 / prior[h]) for h in range(N_BASES)) / master_rate(first)
    other = {N: math.fsum(base_floor(h, N) for h in range(N_BASES) if h != SLOW) for N, _ in stood}
    far = math.log(1.0 / arm_floor(SLOW, K, N))
    begun = ((1.0 - K * arm_floor(SLOW, K, first)) * far - math.log(K)) / clipped_rate(SLOW, K, first)
    return Fixed(
        start=math.log(1.0 / base_floor(SLOW, max(first, N / 2.0))) / master_rate(N) + B,
        floors=math.fsum(n * other[N] for N, n in stood),
        base_floors=(K - 1) * math.fsum(n * arm_floor(SLOW, K, N) for N, n in stood),
        switches=(S + 1) * (1.0 - K * arm_floor(SLOW, K, N)) * far / clipped_rate(SLOW, K, N) - begun,
        etas=math.fsum(n * master_rate(N) for N, n in stood),
        xis=math.fsum(n * clipped_rate(SLOW, K, N) for N, n in stood),
        far=far,
    )


class Certificate(NamedTuple):
    """Its terms, in the units of the losses. `print` it to see them."""

    n_switches: int  # S
    start: float  # ln(1/alpha_o before the last doubling)/eta_T + B: starting the master
    floors: float  # Σ (A - alpha_o): the floors of the master
    base_floors: float  # (K - 1) Σ beta_t
    switches: float  # (S + 1) (1 - K beta_T) ln(1/beta_T)/xi_T, less what starting uniform is worth
    gaps: float  # of the master's mean and mix loss
    refunds: float  # of the slow base's
    n_uncovered: int  # tells that the theorem does not cover: late, among some arms only, or before arms changed

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return math.fsum(self[1:7])

    def __str__(self) -> str:
        names = (*_TERMS, "total")
        numbers = [f"{value:z,.1f}" for value in (*self[1:7], self.total)]
        wide, far = max(map(len, names)), max(map(len, numbers))
        lines = [f"  {name:<{wide}}  {number:>{far}}" for name, number in zip(names, numbers, strict=True)]
        what = "switch" if self.n_switches == 1 else "switches"
        title = f"Certificate of Turncoat against {self.n_switches:,} {what}"
        why = f"{self.n_uncovered:,} tells are not covered by the theorem: nothing is promised for this game"
        below = [why] if self.n_uncovered else []
        return "\n".join([title, *lines[:-1], "  " + "-" * (wide + 2 + far), lines[-1], *below])


_TERMS = (
    "starting the master",
    "floors of the master",
    "floors of the slow base",
    "switches",
    "gaps of the master",
    "refunds of the slow base",
)


def parse_switches(n_switches: Any) -> int:
    """S, or an error that says what is wrong with it."""
    if not is_whole(n_switches) or not 0 <= n_switches < MOST_ROUNDS:
        raise OptionError(f"n_switches is {reprlib.repr(n_switches)}; accepted are whole numbers from 0 to 2**53 - 1")
    return int(n_switches)


def certify(state: TurncoatState, S: int, width: float) -> Certificate:
    """The certificate of a state. `width`: that of the range of losses."""
    known = fixed_terms(int(state.clock[0]), int(state.n_living[0]), S)
    gaps, refunds, n_uncovered = state.spent.tolist()
    return Certificate(
        n_switches=S,
        start=width * known.start,
        floors=width * known.floors,
        base_floors=width * known.base_floors,
        switches=width * known.switches,
        gaps=width * gaps,
        refunds=width * refunds,
        n_uncovered=int(n_uncovered),
    )
