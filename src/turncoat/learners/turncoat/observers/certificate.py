"""The certificate: the right side of Turncoat's oracle inequality, estimated from the rounds played.

Each clipped base j has one, the sum of the seven terms below, and the least of them counts. Its mean over the learner's
draws is an upper bound on the expected regret against the best path with S switches; one certificate is an estimate of
that, heavy-tailed, and claims no probability. It covers games in which every loss was told before the next ask, to
arms that stayed the same. The theorem and its proof: docs/guarantee.md, sections 2 and 5.

    while playing, `spent` adds up     M     eta_t Var_t
                                       V_j   xi_j,t/2 P_j(a) (loss/q)²
                                       W_j   P_j(a) loss/q - (1 - A_t) d_t(j)
"""

from __future__ import annotations

import math
import reprlib
from typing import Any, NamedTuple

from turncoat._compile.jit import jit_rule
from turncoat.errors import OptionError
from turncoat.learners.parts.importance_weights import importance_weighted
from turncoat.learners.turncoat.constants import MOST_ETA, N_BASES, N_CLIPPED, NAMES, set_rates
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.validation.numbers import MOST_ROUNDS, is_whole

BELOW = 1.0 + MOST_ETA  # no centred exponent of the master is further below 0
CURVE = (math.exp(BELOW) - 1.0 - BELOW) / BELOW**2


SAME = 1e-9  # probabilities that differ by less, relatively, differ by rounding


@jit_rule
def spend(state: TurncoatState, q: float, q_now: float, loss: float) -> None:
    """Add a round to `spent`. `x` holds d(h), `chance` P_h of the arm told; q: what it was served with, q_now: now."""
    eta, spent = state.eta[0], state.spent
    mean, square, floors = 0.0, 0.0, 0.0
    for h in range(N_BASES):
        d = state.x[h]
        mean += state.p[h] * d
        square += state.p[h] * d * d
        floors += state.floors[h]
    spent[0] += eta * max(square - mean * mean, 0.0)  # M
    estimate = importance_weighted(loss, q)
    for i in range(N_CLIPPED):
        estimated = state.chance[i] * estimate
        spent[1 + i] += 0.5 * state.rates[i] * estimated * estimate  # V_j
        spent[1 + N_CLIPPED + i] += estimated - (1.0 - floors) * (eta * state.x[i]) / eta  # W_j
    if abs(q - q_now) > SAME * q:
        spent[1 + 2 * N_CLIPPED] += 1.0  # not covered: told late, or among some arms only


class Certificate(NamedTuple):
    """Its terms, in the units of the losses, for the clipped base that has the least. `print` it to see them."""

    n_switches: int  # S
    base: str  # the clipped base
    start: float  # ln(1/floor_j before the last doubling)/eta_T + B: starting the master
    floors: float  # Σ A(N_t): the floors of the master
    variance: float  # c M: the master's; c = (e^x - 1 - x)/x², x = 1 + eta_1
    base_floors: float  # (1 - 1/K) Σ 1/N_t
    switches: float  # (S + 1) (1 - 1/N) ln(KN)/xi_T - ((1 - 1/N_1) ln(KN) - ln K)/xi_1
    base_variance: float  # V_j
    correction: float  # - W_j: so that the least of all bases may be taken
    n_uncovered: int  # tells that the theorem does not cover: late, among some arms only, or before arms changed

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return math.fsum(self[2:9])

    def __str__(self) -> str:
        names = (*_TERMS, "total")
        numbers = [f"{value:z,.1f}" for value in (*self[2:9], self.total)]
        wide, far = max(map(len, names)), max(map(len, numbers))
        lines = [f"  {name:<{wide}}  {number:>{far}}" for name, number in zip(names, numbers, strict=True)]
        what = "switch" if self.n_switches == 1 else "switches"
        title = f"Certificate of Turncoat against {self.n_switches:,} {what}, by way of {self.base}"
        below = [f"{self.n_uncovered:,} tells are not covered by the theorem"] if self.n_uncovered else []
        return "\n".join([title, *lines[:-1], "  " + "-" * (wide + 2 + far), lines[-1], *below])


_TERMS = (
    "starting the master",
    "floors of the master",
    "master variance",
    "floors of the base",
    "switches",
    "base variance",
    "correction",
)


def parse_switches(n_switches: Any) -> int:
    """S, or an error that says what is wrong with it."""
    if not is_whole(n_switches) or not 0 <= n_switches < MOST_ROUNDS:
        raise OptionError(f"n_switches is {reprlib.repr(n_switches)}; accepted are whole numbers from 0 to 2**53 - 1")
    return int(n_switches)


def certify(state: TurncoatState, fresh: TurncoatState, S: int, width: float) -> Certificate:
    """The certificate of a state. `fresh`: a new learner's, which is used up; `width`: that of the losses' range."""
    T, N, K, spent = int(state.clock[0]), float(state.guess[0]), state.K, state.spent
    first, far = float(fresh.guess[0]), math.log(K * N)
    extra = math.fsum(fresh.floors * [math.log(1.0 / p) for p in fresh.p]) / float(fresh.eta[0])  # B
    begun = [((1.0 - 1.0 / first) * far - math.log(K)) / float(xi) for xi in fresh.rates[:N_CLIPPED]]
    floors = shares = told = 0.0
    known = list(fresh.floors)  # before the last doubling
    while told < T:  # guess after guess
        guess = float(fresh.guess[0])
        rounds = min(guess, T) - told
        floors += rounds * math.fsum(fresh.floors)
        shares += rounds / guess
        told += rounds
        if told < T:
            known = list(fresh.floors)
            fresh.guess[0] *= 2.0
            set_rates(fresh)
    found = []
    for j in range(N_CLIPPED):
        switches = (S + 1) * (1.0 - 1.0 / N) * far / float(state.rates[j]) - begun[j]
        one = Certificate(
            n_switches=S,
            base=NAMES[j],
            start=width * (math.log(1.0 / known[j]) / float(state.eta[0]) + extra),
            floors=width * floors,
            variance=width * CURVE * float(spent[0]),
            base_floors=width * (1.0 - 1.0 / K) * shares,
            switches=width * switches,
            base_variance=width * float(spent[1 + j]),
            correction=-width * float(spent[1 + N_CLIPPED + j]),
            n_uncovered=int(spent[-1]),
        )
        found.append(one)
    return min(found, key=lambda one: one.total)
