"""The history of a Turncoat, in bounded memory: shares of arms, trust, and beliefs about the best arm.

The history has 64 pages. A page holds how often each arm was told over some rounds, and how much each base was trusted
at their end. When all pages are full, neighbours are put on one page, and pages hold twice the rounds from then on.
Of more than 1,024 arms, pages count those that have a slot (slots.py), from when they got it.

The arm believed best is found by a vote. At each tell, the arm that is the most likely to be served gets as many votes
as that probability; an arm's votes and those of all others cancel out (Boyer & Moore's majority vote, with weights), so
one number is enough. An arm with 48 votes more than the others have together is believed best, and has no more than
these 48 to lose. So another one is believed after some 96 rounds on its side. The switch is dated to the last round
without any doubt, when the one before still had all 48.

A belief that doubts began about within 192 rounds was hasty: the next one takes its place, and where that is the one
before it, neither switch is kept. What is kept are the last 64 beliefs, and of each how many tells it stood, and the
probabilities that the arm had in them, summed up: their mean is how sure it was.
"""

from __future__ import annotations

from typing import TypeAlias

from turncoat._compile.jit import jit_rule, jit_step
from turncoat.learners.turncoat.constants import N_BASES
from turncoat.learners.turncoat.slots import slot_of
from turncoat.learners.turncoat.state import BELIEFS, PAGES, TurncoatState

ENOUGH = 48.0  # votes
HASTY = 192.0  # rounds


@jit_step
def record(state: TurncoatState, arm: int) -> None:
    """One more round of an arm; the last one that is left is believed best."""
    if state.n_living[0] == 1.0:
        believe(state, int(state.living[0]), 1.0, 1.0 if believed(state) == state.living[0] else 0.0)
    page, slot = int(state.page[0]), slot_of(arm)
    if state.owners[slot] == arm:
        state.plays[slot, page] += 1.0
    state.page[1] += 1.0
    if state.page[1] < state.page[2]:
        return
    for h in range(N_BASES):
        state.trust[page, h] = state.p[h]
    state.page[1] = 0.0
    state.page[0] += 1.0
    if state.page[0] == PAGES:
        bind(state)


@jit_step
def bind(state: TurncoatState) -> None:
    """Two pages become one."""
    half = PAGES // 2
    for slot in range(state.M):
        for i in range(PAGES):
            state.plays[slot, i] = state.plays[slot, 2 * i] + state.plays[slot, 2 * i + 1] if i < half else 0.0
    for i in range(PAGES):
        for h in range(N_BASES):  # number by number: assigning a row takes over a second to compile
            state.trust[i, h] = state.trust[2 * i + 1, h] if i < half else 0.0
    state.page[0] = half
    state.page[2] *= 2.0


@jit_step
def believed(state: TurncoatState) -> int:
    """The arm believed best, retired or not; -1 before there is one."""
    return int(state.beliefs[int(state.n_beliefs[0] - 1.0) % BELIEFS, 1]) if state.n_beliefs[1] > 0.0 else -1


# What a round shows: the arm believed best, the likeliest arm so far, its probability, that of the arm believed best.
Look: TypeAlias = tuple[int, int, float, float]


@jit_step
def first_look(state: TurncoatState, arm: int) -> Look:
    """Before any arm was looked at; `arm`: the one that was told."""
    return believed(state), arm, 0.0, 0.0


@jit_rule
def look(seen: Look, k: int, q: float) -> Look:
    """Look at arm k, which is served with probability q."""
    best, top, most, q_best = seen
    if q > most:
        top, most = k, q
    return best, top, most, q if k == best else q_best


@jit_step
def believe_in(state: TurncoatState, seen: Look, arm: int, q: float, q_believed: float) -> None:
    """Vote for the likeliest of the arms seen and of the one told, which is served with probability q."""
    believe(state, seen[1] if seen[2] >= q else arm, max(seen[2], q), q_believed)


@jit_step
def believe(state: TurncoatState, top: int, q: float, q_believed: float) -> None:
    """The likeliest arm is `top`, with probability q; that of the arm believed best is q_believed."""
    vote, now, best = state.vote, float(state.clock[0]), believed(state)
    if best >= 0:
        row = int(state.n_beliefs[0] - 1.0) % BELIEFS
        state.beliefs[row, 2] += q_believed
        state.beliefs[row, 3] += 1.0
    if top == vote[0]:
        vote[1] = min(vote[1] + q, ENOUGH)
    elif vote[1] >= q:
        vote[1] -= q
    else:
        vote[0], vote[1] = top, q - vote[1]
    if vote[1] < ENOUGH:
        return
    if vote[0] != best:
        turn(state, vote[0], now)
    vote[2] = now + 1.0


@jit_step
def turn(state: TurncoatState, arm: float, now: float) -> None:
    """Believe in this arm from now on: a new belief, or one in the place of a hasty one."""
    doubted, rows, n, kept = state.vote[2], state.beliefs, int(state.n_beliefs[0]), state.n_beliefs[1]
    last, before = (n - 1) % BELIEFS, (n - 2) % BELIEFS
    if kept > 0.0 and doubted - rows[last, 0] < HASTY:
        if kept > 1.0 and rows[before, 1] == arm:  # back to the one before
            state.n_beliefs[0], state.n_beliefs[1] = n - 1.0, kept - 1.0
            return
        since = rows[last, 0] if kept > 1.0 else now
    else:
        since = doubted if kept > 0.0 else now
        last = n % BELIEFS
        state.n_beliefs[0], state.n_beliefs[1] = n + 1.0, min(kept + 1.0, BELIEFS)
    rows[last, 0], rows[last, 1], rows[last, 2], rows[last, 3] = since, arm, 0.0, 0.0
