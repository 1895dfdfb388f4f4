"""Restricted arms: `ask(allowed=[…])`, which chooses among some arms only, and the tell of such a choice.

A is the set of allowed arms. Every base restricts itself to A: a mirror-descent base to P_h(a|A) =
P_h(a)/P_h(A), a detector or follower to the arm of its largest index in A. What is served is
    q(a|A) = sum_h p_h P_h(a|A)                                                         (1)
The tell is that of rule.py inside A. The master charges base h by P_h(·|A), with baselines for arms of A. A
mirror-descent base makes its step on P_h(·|A), floor and share being those of |A| arms; then A gets its old mass P_h(A)
back. So arms outside A keep their probability under every such base: an arm neither gains nor loses by being absent.
Detectors and followers get the sample as usual, and the history votes for the likeliest arm of A.

With A = all arms this is rule.py, up to rounding; but a plan (m > 1) is for all of A, where planning.py plans at most
1,024 of more than 64 arms.

Departures. Sleeping experts (below) serve q(a)/q(A), the mixture restricted; (1) is a mixture of restricted bases.
Under the former a base that proposes a single arm has no influence while this arm is absent, and q(A) may vanish: a
master that is sure of an absent arm would divide by almost 0. Under (1) each base proposes what it would do now. The
floor of a clipped base inside A, that of |A| arms, is the told arm's; others may lie below it there, and are not
raised. A weight never falls below 1e-100 of its base's total: nested sets could multiply floors, down to 0.

Cost: O(H |A|) for an ask; for a tell O(H |A| log K), but never more than O(H K).
Reference: Y. Freund, R. Schapire, Y. Singer, M. Warmuth, "Using and combining predictors that specialize", STOC 1997.
"""

from __future__ import annotations

import math
from typing import Any

from turncoat._compile.dispatch import view_of
from turncoat._compile.jit import jit_entry, jit_rule, jit_step, without_refcount
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.learners.turncoat.constants import FEW, N_BASES, N_CLIPPED, N_LEADERS, N_MIRRORS, arm_floor
from turncoat.learners.turncoat.index_bases import lead
from turncoat.learners.turncoat.mirror_bases import FOLDED, fold, rebuild, sum_up, weight_of
from turncoat.learners.turncoat.observers.certificate import spend
from turncoat.learners.turncoat.observers.history import believe, believed, record
from turncoat.learners.turncoat.planning import draw_planned, make_plan_among, proposed
from turncoat.learners.turncoat.rule import begin, draw_base, finish, is_seen, step_master, write_charges
from turncoat.learners.turncoat.state import TurncoatState
from turncoat.random import uniform
from turncoat.types import Ints, Vector

LEAST_WEIGHT = 1e-100  # of all
FEW_PATHS = 32  # of so many paths to the root, each node is summed up by itself sooner than the whole tree


@jit_entry
def ask_among(buffer: Vector, plan: Vector, m: float, among: Ints) -> tuple[int, float]:
    """Draw a base, then its arm among living arms, given in increasing order: (index, q). `plan`: empty if m is 1."""
    state, plan, among = open_state(buffer, plan, m, among)
    restrict(state, among)
    h = draw_base(state)
    arm = draw_planned(state, plan, h - N_MIRRORS) if h >= N_MIRRORS else draw_among(state, h, among)
    q = write_chance_among(state, plan, arm)
    lead(state)
    return arm, max(q, SMALLEST_SERVED)


@jit_entry
def probabilities_among(buffer: Vector, plan: Vector, m: float, among: Ints, out: Vector) -> None:
    """q(·|A) of all arms."""
    state, plan, among = open_state(buffer, plan, m, among)
    out = without_refcount(out)
    restrict(state, among)
    out[:] = 0.0
    for j in range(among.size):
        out[among[j]] = write_chance_among(state, plan, among[j])  # (1)
    lead(state)


@jit_entry
def tell_among(buffer: Vector, plan: Vector, m: float, among: Ints, arm: int, loss: float, q: float) -> int:
    """Learn the loss of an arm that was chosen among others. `among`: those that are still there."""
    state, plan, among = open_state(buffer, plan, m, among)
    b, q = begin(state), max(q, SMALLEST_SERVED)
    if state.n_living[0] > 1.0 and state.place[arm] >= 0.0:
        look_among(state, plan, among, arm)
    if among.size > 1 and state.place[arm] >= 0.0:
        step_master_among(state, plan, among, arm, q, loss, b)
        charge_mirrors_among(state, among, arm, q, loss, b)
    elif among.size < state.n_living[0] or state.place[arm] < 0.0:
        state.spent[2] += 1.0  # not covered
    finish(state, arm, loss)
    record(state, arm)
    return int(state.clock[0])


@jit_rule
def open_state(buffer: Vector, plan: Vector, m: float, among: Ints) -> Any:
    """The state, the plan and the arms; m pulls of these arms are planned."""
    state, plan = view_of(TurncoatState, without_refcount(buffer)), without_refcount(plan)
    among = without_refcount(among)
    if plan.size > 0 and among.size > 0:
        make_plan_among(state, plan, m, among)
    return state, plan, among


@jit_step
def restrict(state: TurncoatState, among: Ints) -> None:
    """Weigh these arms under every mirror, and let every other base lead among them, until the next `lead`."""
    for i in range(N_MIRRORS):
        state.rest[i] = among.size * state.offset[i]
    for j in range(among.size):
        for i in range(N_MIRRORS):
            state.rest[i] += state.weights[state.P + among[j], i]
    for i in range(N_LEADERS):
        best = among[0]
        for j in range(1, among.size):
            if state.max_trees[state.P + among[j], i] > state.max_trees[state.P + best, i]:
                best = among[j]
        state.leaders[i] = best


@jit_step
def write_chance_among(state: TurncoatState, plan: Vector, arm: int) -> float:
    """P_h(arm|A) of every base, into `chance`; returns q(arm|A). After `restrict`."""
    q = 0.0
    for i in range(N_MIRRORS):
        state.chance[i] = weight_of(state.weights[state.P + arm, i], state.offset[i]) / state.rest[i]
        q += state.p[i] * state.chance[i]
    for i in range(N_LEADERS):
        state.chance[N_MIRRORS + i] = proposed(state, plan, i, arm)
        q += state.p[N_MIRRORS + i] * state.chance[N_MIRRORS + i]
    return min(q, 1.0)


@jit_step
def draw_among(state: TurncoatState, i: int, among: Ints) -> int:
    """An arm, drawn from mirror i inside A."""
    height, last = uniform(state.rng) * state.rest[i], 0
    for j in range(among.size):
        weight = weight_of(state.weights[state.P + among[j], i], state.offset[i])
        if height < weight:
            return int(among[j])
        height -= weight
        last = j if weight > 0.0 else last
    return int(among[last])


@jit_step
def look_among(state: TurncoatState, plan: Vector, among: Ints, arm: int) -> None:
    """Which arm is the likeliest, of those that are there? Untried ones that are away would win for ever."""
    restrict(state, among)
    top, most = arm, write_chance_among(state, plan, arm)
    for i in range(N_LEADERS):
        q = write_chance_among(state, plan, int(state.leaders[i]))
        if q > most:
            top, most = int(state.leaders[i]), q
    best, q_best = believed(state), 0.0
    for j in range(among.size):
        if among[j] == best:
            q_best = write_chance_among(state, plan, best)
    believe(state, top, most, q_best)
    lead(state)


@jit_step
def step_master_among(
    state: TurncoatState, plan: Vector, among: Ints, arm: int, q: float, loss: float, b: float
) -> None:
    """The master's step of rule.py, inside A."""
    restrict(state, among)
    for h in range(N_BASES):
        state.covered[h] = 0.0
    own, few = 0.0, among.size <= FEW
    for i in range(among.size if few else N_LEADERS):
        k = int(among[i] if few else state.leaders[i])
        if not few and is_seen(state.leaders, i):
            continue
        q_k = write_chance_among(state, plan, k)
        b_k = min(b, (q if k == arm else q_k) / state.eta[0])
        own = b_k if k == arm else own
        for h in range(N_BASES):
            state.covered[h] += b_k * state.chance[h]
    q_now = write_chance_among(state, plan, arm)
    paid = write_charges(state, q, loss, own)
    gap = step_master(state)
    spend(state, gap, paid, q, q_now if among.size == state.n_living[0] else 0.0)  # 0: not covered
    lead(state)


@jit_step
def charge_mirrors_among(state: TurncoatState, among: Ints, arm: int, q: float, loss: float, baseline: float) -> None:
    """The steps (7) and (8) inside A, whose weights keep their sum."""
    if state.n_living[0] <= FOLDED:
        fold(state)
    weights, m, N = state.weights, float(among.size), state.guess[0]
    leaf = state.P + arm
    for i in range(N_MIRRORS):
        offset, rest = state.offset[i], 0.0
        for j in range(among.size):
            rest += weight_of(weights[state.P + among[j], i], offset) if among[j] != arm else 0.0
        moved = weight_of(weights[leaf, i], offset)
        before, gift = rest + moved, 0.0
        if i < N_CLIPPED:
            beta = arm_floor(i, m, N)
            moved = max(moved * math.exp(-state.rates[i] * loss / q), beta / (1.0 - beta) * rest)
        else:
            moved *= math.exp(min(1.0, -state.rates[i] * (loss - baseline) / q))
            gift = (rest + moved) / ((N - 1.0) * m)
        scale = before / (rest + moved + m * gift)
        least = LEAST_WEIGHT * (weights[1, i] + state.n_living[0] * offset)
        for j in range(among.size):
            k = state.P + among[j]
            weight = weight_of(weights[k, i], offset) if among[j] != arm else moved
            weights[k, i] = max((weight + gift) * scale, least) - offset
    if among.size * FEW_PATHS < state.P:
        for j in range(among.size):
            sum_up(weights, (state.P + among[j]) >> 1)
    else:
        rebuild(weights)
