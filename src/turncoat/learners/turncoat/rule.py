"""Turncoat's rule, as docs/guarantee.md, section 1, has it. Equation numbers are those of that page.

    serve      draw base h from p, then its arm: q(k) = sum_h p(h) P_h(k)                                    (1)
    guess      N doubles when more than N rounds are told                                                    (2)
    baseline   b, a mean of past losses (shared_master.py)                                                   (3)
    charge     g(k) = min(b, q(k)/eta) for candidates k, else 0                                              (4)
               d(h) = P_h(a) (loss - g(a))/q(a) + sum over k of P_h(k) g(k)                                  (5)
               x(h) = d(h), but for the slow base its mix loss in the place of its mean loss                (5a)
    master     p <- argmin of eta <p, x> + KL(p || p_t), over p(h) ≥ floor(h)                                (6)
    bases      clipped and signed mirror descent (mirror_bases.py)                                           (7), (8)
               detectors and followers get the sample (index_bases.py)                                       (9)-(11)

Candidates are all arms, or of more than 16 the leaders. Two observers are called beside the rule and change nothing of
it: the history of beliefs (observers/history.py) and the certificate's sums (observers/certificate.py).

    symbol here    on the page                symbol here    on the page
    p, q, x        p_t, q_t, x_t              b, g           b_t, g_t
    eta, floors    eta_t, alpha               guess          N_t
    chance[h]      P_h of one arm             covered[h]     sum over k of P_h(k) g(k)
"""

from __future__ import annotations

import math

from turncoat._compile.jit import jit, jit_part, jit_rule, jit_step
from turncoat.learners.base.shared_master import baseline, see
from turncoat.learners.parts.importance_weights import LARGEST, importance_weighted
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.learners.turncoat.constants import FEW, N_BASES, N_LEADERS, N_MIRRORS, SLOW, set_rates
from turncoat.learners.turncoat.index_bases import learn
from turncoat.learners.turncoat.mirror_bases import chance_in_mirrors, charge_mirrors, chosen_by_mirrors, draw
from turncoat.learners.turncoat.observers.certificate import spend
from turncoat.learners.turncoat.observers.history import Look, believe_in, first_look, look, record
from turncoat.learners.turncoat.planning import draw_planned, no_plan, proposed
from turncoat.learners.turncoat.slots import claim
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.mirror.entropy import step_dense_floors
from turncoat.random import uniform
from turncoat.types import Vector

# -- ask ----------------------------------------------------------------------------------------------------------


@jit_step
def ask(state: TurncoatState) -> tuple[int, float]:
    """Draw a base, then its arm: (index, q)."""
    return ask_ahead(state, no_plan(state))


@jit_step
def ask_ahead(state: TurncoatState, plan: Vector) -> tuple[int, float]:
    """The same where detectors and followers propose what they have planned."""
    h = draw_base(state)
    arm = draw_planned(state, plan, h - N_MIRRORS) if h >= N_MIRRORS else draw(state, h)
    return arm, max(probability_ahead(state, plan, arm), SMALLEST_SERVED)  # (1)


@jit_step
def draw_base(state: TurncoatState) -> int:
    """A base, drawn from p."""
    u, h = uniform(state.rng), 0
    while h < N_BASES - 1 and u >= state.p[h]:
        u -= state.p[h]
        h += 1
    return h


@jit_step
def probability(state: TurncoatState, arm: int) -> float:
    """q(arm): (1). It changes nothing, not even scratch."""
    return probability_ahead(state, no_plan(state), arm)


@jit_step
def probability_ahead(state: TurncoatState, plan: Vector, arm: int) -> float:
    """The same where detectors and followers propose what they have planned."""
    if state.n_living[0] == 1.0:
        return 1.0 if state.place[arm] == 0.0 else 0.0  # without rounding
    alive = 1.0 if state.place[arm] >= 0.0 else 0.0
    q = chosen_by_mirrors(state.p, state.weights, state.offset, state.n_living[0], state.P + arm, alive)
    for i in range(N_LEADERS):
        q += state.p[N_MIRRORS + i] * proposed(state, plan, i, arm)
    return min(q, 1.0)


@jit_rule
def write_chance(state: TurncoatState, plan: Vector, arm: int) -> float:
    """P_h(arm) of every base, into `chance`; returns q(arm): (1)."""
    alive = 1.0 if state.place[arm] >= 0.0 else 0.0
    chance_in_mirrors(state.weights, state.offset, state.n_living[0], state.P + arm, alive, state.chance)
    for i in range(N_LEADERS):
        state.chance[N_MIRRORS + i] = proposed(state, plan, i, arm)
    q = 0.0
    for h in range(N_BASES):
        q += state.p[h] * state.chance[h]
    return min(q, 1.0)


# -- tell ---------------------------------------------------------------------------------------------------------


@jit_step
def tell(state: TurncoatState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice. Of a retired arm only the clock and the baseline learn."""
    tell_ahead(state, no_plan(state), choice, loss)


@jit_step
def tell_ahead(state: TurncoatState, plan: Vector, choice: tuple[int, float], loss: float) -> None:
    """The same where the choice was planned: detectors and followers are charged what they would plan now."""
    arm, q = choice[0], max(choice[1], SMALLEST_SERVED)  # what is divided by it stays finite
    b = begin(state)
    if state.n_living[0] > 1.0 and state.place[arm] >= 0.0:
        q_now, paid, seen = charge(state, plan, arm, q, loss, b)  # (4), (5), (5a)
        observe(state, plan, arm, q_now, seen)
        gap = step_master(state)  # (6)
        spend(state, gap, paid, q, q_now)
        charge_mirrors(state, arm, q, loss, b)  # (7), (8)
    elif state.place[arm] < 0.0:
        state.spent[2] += 1.0  # not covered
    finish(state, arm, loss)  # (9) to (11)
    record(state, arm)


@jit_part
def begin(state: TurncoatState) -> float:
    """The baseline b of the round, and the rates, if the guess of the horizon doubles."""
    t = int(state.clock[0])
    if t + 1.0 > state.guess[0]:
        state.guess[0] *= 2.0  # (2)
        set_rates(state)
    return baseline(state.seen, t)  # (3)


@jit_step
def charge(state: TurncoatState, plan: Vector, arm: int, q: float, loss: float, b: float) -> tuple[float, float, Look]:
    """(4), (5) and (5a), into `x`. Returns q of the arm told, as it is now, and what the two observers need."""
    eta, few = state.eta[0], state.n_living[0] <= FEW
    own, seen = 0.0, first_look(state, arm)
    for h in range(N_BASES):
        state.covered[h] = 0.0
    for i in range(int(state.n_living[0]) if few else N_LEADERS):
        k = int(state.living[i] if few else state.leaders[i])
        if not few and is_seen(state.leaders, i):
            continue
        q_k = write_chance(state, plan, k)
        seen = look(seen, k, q_k)
        g = min(b, (q if k == arm else q_k) / eta)  # (4)
        own = g if k == arm else own
        for h in range(N_BASES):
            state.covered[h] += g * state.chance[h]
    q_now = write_chance(state, plan, arm)
    paid = write_charges(state, q, loss, own)
    return q_now, paid, seen


@jit
def is_seen(leaders: Vector, i: int) -> bool:
    """Is leader i one of those before it?"""
    first = 0
    while leaders[first] != leaders[i]:
        first += 1
    return first < i


@jit_rule
def write_charges(state: TurncoatState, q: float, loss: float, own: float) -> float:
    """(5) and (5a): `chance` holds P_h of the arm told, `own` is g of it, `covered` the sum over candidates.

    Returns what the master pays for the slow base: its p times the difference between mean and mix loss.
    """
    above = (loss - own) / q
    for h in range(N_BASES):
        state.x[h] = min(state.chance[h] * above, LARGEST) + state.covered[h]  # (5)
    P, xi = state.chance[SLOW], state.rates[SLOW]
    estimate = importance_weighted(loss, q)
    mean = P * estimate
    fall = P * math.expm1(-xi * estimate)
    mix = min(-math.log1p(fall) / xi, mean) if fall > -1.0 else mean
    state.x[SLOW] = state.covered[SLOW] - P * own / q + mix  # (5a)
    return float(state.p[SLOW] * (mean - mix))


@jit_rule
def step_master(state: TurncoatState) -> float:
    """(6): `x` holds x(h). Returns the gap between the mean and the mix loss of p."""
    mean = 0.0
    for h in range(N_BASES):
        mean += state.p[h] * state.x[h]
        state.x[h] *= state.eta[0]
    return float(mean - step_dense_floors(state.p, state.x, state.floors) / state.eta[0])


@jit_part
def finish(state: TurncoatState, arm: int, loss: float) -> None:
    """What does not depend on p: the baseline's means, the clock, detectors and followers."""
    see(state.seen, int(state.clock[0]), loss)
    state.clock[0] += 1
    claim(state, arm)
    if state.place[arm] >= 0.0:
        learn(state, arm, loss)


# -- observers ----------------------------------------------------------------------------------------------------


@jit_part
def observe(state: TurncoatState, plan: Vector, arm: int, q_now: float, seen: Look) -> None:
    """Show the history the likeliest arm, before p moves."""
    among_leaders = state.n_living[0] > FEW and seen[0] >= 0  # then the arm believed best may be no candidate
    q_believed = write_chance(state, plan, seen[0]) if among_leaders else seen[3]
    believe_in(state, seen, arm, q_now, q_believed)
