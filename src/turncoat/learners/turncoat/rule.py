"""Turncoat's rule: draw a base, draw its arm; then everyone learns from what was seen."""

from __future__ import annotations

from turncoat._compile.jit import jit, jit_inside
from turncoat.learners.base.shared_master import baseline, see
from turncoat.learners.parts.importance_weights import LARGEST, importance_weighted
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.learners.turncoat.constants import FEW, N_BASES, N_CLIPPED, N_LEADERS, N_MIRRORS, set_rates
from turncoat.learners.turncoat.index_bases import learn
from turncoat.learners.turncoat.mirror_bases import chance_in_mirrors, charge_mirrors, chosen_by_mirrors, draw
from turncoat.learners.turncoat.observers.history import believe, believed, write
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.mirror.entropy import step_dense_floors
from turncoat.random import uniform
from turncoat.types import Vector

SAME = 1e-9  # probabilities that differ by less, relatively, differ by rounding


@jit_inside
def write_chance(state: TurncoatState, arm: int) -> float:
    """P_h(arm) of every base, into `chance`; returns q(arm), the mixture."""
    alive = 1.0 if state.place[arm] >= 0.0 else 0.0
    chance_in_mirrors(state.weights, state.offset, state.n_living[0], state.P + arm, alive, state.chance)
    for i in range(N_LEADERS):
        state.chance[N_MIRRORS + i] = 1.0 if state.leaders[i] == arm else 0.0
    q = 0.0
    for h in range(N_BASES):
        q += state.p[h] * state.chance[h]
    return min(q, 1.0)


@jit_inside
def probability(state: TurncoatState, arm: int) -> float:
    """q(arm): what is served. It leaves the state alone, its room too."""
    if state.n_living[0] == 1.0:
        return 1.0 if state.place[arm] == 0.0 else 0.0  # without rounding
    alive = 1.0 if state.place[arm] >= 0.0 else 0.0
    q = chosen_by_mirrors(state.p, state.weights, state.offset, state.n_living[0], state.P + arm, alive)
    for i in range(N_LEADERS):
        q += state.p[N_MIRRORS + i] if state.leaders[i] == arm else 0.0
    return min(q, 1.0)


@jit_inside
def draw_base(state: TurncoatState) -> int:
    """A base, by trust."""
    u, h = uniform(state.rng), 0
    while h < N_BASES - 1 and u >= state.p[h]:
        u -= state.p[h]
        h += 1
    return h


@jit_inside
def ask(state: TurncoatState) -> tuple[int, float]:
    """Draw a base, then its arm: (index, q)."""
    h = draw_base(state)
    arm = int(state.leaders[h - N_MIRRORS]) if h >= N_MIRRORS else draw(state, h)
    return arm, max(probability(state, arm), SMALLEST_SERVED)


@jit_inside
def tell(state: TurncoatState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, q = choice[0], max(choice[1], SMALLEST_SERVED)  # what is divided by it stays finite
    b = begin(state)
    if state.n_living[0] > 1.0 and state.place[arm] >= 0.0:
        step_master(state, arm, q, loss, b)
        charge_mirrors(state, arm, q, loss, b)
    finish(state, arm, loss)


@jit_inside
def begin(state: TurncoatState) -> float:
    """A tell begins: the baseline, at the rates of the round."""
    t = int(state.clock[0])
    if t + 1.0 > state.guess[0]:
        state.guess[0] *= 2.0
        set_rates(state)
    return baseline(state.seen, t)


@jit_inside
def finish(state: TurncoatState, arm: int, loss: float) -> None:
    """A tell ends: what does not depend on who was trusted. Of a retired arm only time and baselines learn."""
    see(state.seen, int(state.clock[0]), loss)
    state.clock[0] += 1
    if state.place[arm] >= 0.0:
        learn(state, arm, loss)
    if state.n_living[0] == 1.0:
        believe(state, int(state.living[0]), 1.0, 1.0 if believed(state) == state.living[0] else 0.0)
    write(state, arm)


@jit_inside
def step_master(state: TurncoatState, arm: int, q: float, loss: float, b: float) -> None:
    """Charge every base, with a baseline for the arms of C, and move trust. C: all arms, or of many the leaders.

    On the way it sees which arm is the likeliest, of those and of the one told: what the diary wants to know.
    """
    eta, covered, n, best = state.eta[0], state.covered, int(state.n_living[0]), believed(state)
    for h in range(N_BASES):
        covered[h] = 0.0
    own, few = 0.0, n <= FEW
    top, most, q_best = arm, 0.0, 0.0
    for i in range(n if few else N_LEADERS):
        k = int(state.living[i] if few else state.leaders[i])
        if not few and is_seen(state.leaders, i):
            continue
        q_k = write_chance(state, k)
        if q_k > most:
            top, most = k, q_k
        q_best = q_k if k == best else q_best
        b_k = min(b, (q if k == arm else q_k) / eta)
        own = b_k if k == arm else own
        for h in range(N_BASES):
            covered[h] += b_k * state.chance[h]
    if not few and best >= 0:
        q_best = write_chance(state, best)
    q_now = write_chance(state, arm)
    believe(state, top if most >= q_now else arm, max(most, q_now), q_best)
    move_trust(state, q, q_now, loss, own)


@jit
def is_seen(leaders: Vector, i: int) -> bool:
    """Is leader i one of those before it?"""
    first = 0
    while leaders[first] != leaders[i]:
        first += 1
    return first < i


@jit_inside
def move_trust(state: TurncoatState, q: float, q_now: float, loss: float, own: float) -> None:
    """The master's step. `chance` holds P_h of the arm told, `own` its baseline, `covered` all baselines under P_h."""
    eta, covered = state.eta[0], state.covered
    above = (loss - own) / q
    mean, square, floors = 0.0, 0.0, 0.0
    for h in range(N_BASES):
        d = min(state.chance[h] * above, LARGEST) + covered[h]
        state.x[h] = eta * d
        mean += state.p[h] * d
        square += state.p[h] * d * d
        floors += state.floors[h]
    state.spent[0] += eta * max(square - mean * mean, 0.0)
    estimate = importance_weighted(loss, q)
    for i in range(N_CLIPPED):
        estimated = state.chance[i] * estimate
        state.spent[1 + i] += 0.5 * state.rates[i] * estimated * estimate
        state.spent[1 + N_CLIPPED + i] += estimated - (1.0 - floors) * state.x[i] / eta
    if abs(q - q_now) > SAME * q:
        state.spent[1 + 2 * N_CLIPPED] += 1.0
    step_dense_floors(state.p, state.x, state.floors)
