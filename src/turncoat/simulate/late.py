"""The compiled loop where losses come late, in batches, or both.

Rounds are cut into batches of `batch`, and the loss of round t is told at the first end of a batch at or after the end
of round t + `delay`: at once with delay 0 and batch 1. What is left is told after the last round, in order. Until then
a ring buffer holds choices and losses. A learner that plans ahead plans for the same m as if `ask` and `tell` were
called: it waits for the decisions in the ring, and for those outstanding when the game began, whose ids are in `before`
(learners/turncoat/delays.py).

`ByHand` plays the same rounds by calling `ask` and `tell`, for learners whose tell is more than a kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from turncoat._compile.choices import MOST_PARTS, read_choice, write_choice
from turncoat._compile.dispatch import ask_planned, sees_all, tell_planned, view_of
from turncoat._compile.games import loss_of, mean_of, open_game, see
from turncoat._compile.jit import compiled_as, jit_game, jit_part, jit_rule, without_refcount
from turncoat.learners.base.learner import Learner
from turncoat.learners.turncoat.delays import REACH, count_delay
from turncoat.learners.turncoat.planning import MOST_PULLS
from turncoat.simulate.rounds import Game, Notes, count
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.numbers import parse_whole

Index: TypeAlias = Callable[[Any, int], int]  # (decision, round): its arm

MOST_LATE = 10**7  # rounds that a loss can wait: they are held in memory
ASKED, TOLD, FIRST_ID, DELAY, BATCH, END = range(6)


class Timing(NamedTuple):
    """When losses are told: `delay` rounds later, at the end of a batch."""

    delay: int = 0
    batch: int = 1

    @property
    def at_once(self) -> bool:
        """Is every loss told before the next ask?"""
        return self.delay == 0 and self.batch == 1


def parse_timing(delay: Any, batch: Any) -> Timing:
    """`delay` and `batch` as a Timing, or an error that says what is accepted."""
    return Timing(parse_whole("delay", delay, 0, MOST_LATE), parse_whole("batch", batch, 1, MOST_LATE))


AT_ONCE = Timing()


class Late(NamedTuple):
    """A ring buffer of the choices and losses that are not told yet, and what planning needs to know."""

    choices: Matrix  # (size, MOST_PARTS + 1): the choice, and how many pulls were planned for it
    losses: Matrix  # (size, 1), or (size, K) for learners that are told all losses; in [0, 1]
    words: Ints  # rounds asked, rounds told, the id of the first decision, delay, batch, rounds of the game
    plan: Vector
    delays: Ints  # the learner's record, or nothing where it does not plan
    before: Ints  # ids of the decisions outstanding before the game, increasing


def start_late(learner: Learner, timing: Timing, horizon: int) -> Late:
    """An empty ring for a game of so many rounds."""
    size = min(timing.delay + timing.batch, horizon)
    plan, delays, outstanding = learner.planning()
    return Late(
        choices=np.zeros((size, MOST_PARTS + 1)),
        losses=np.zeros((size, learner.n_arms if learner.sees_all else 1)),
        words=np.array([0, 0, learner.n_asked, *timing, horizon], dtype=np.int64),
        plan=plan,
        delays=delays,
        before=np.array(sorted(outstanding), dtype=np.int64),
    )


@jit_rule
def pulls_ahead(late: Any) -> float:
    """How many pulls the next ask plans: the decisions waited for and one, as a power of two."""
    _, _, words, _, delays, before = late
    if delays.size == 0:
        return 1.0
    reach, pulls = delays[REACH], 1
    waiting = min(words[ASKED] - words[TOLD], reach - 1)
    if before.size > 0:
        oldest = words[FIRST_ID] + words[ASKED] - reach
        waiting += before.size - np.searchsorted(before, oldest, side="right")
    while 2 * pulls <= waiting + 1 and pulls < MOST_PULLS:
        pulls *= 2
    return float(pulls)


@jit_part
def play_late(state: Any, game: Any, notes: Any, late: Any, first: int, stop: int, low: float, high: float) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round whose loss is outside the range."""
    played, counts, sums, refused, outside = notes
    choices, losses, words, plan, _, _ = late
    for t in range(first, stop):
        m = pulls_ahead(late)
        choice = ask_planned(state, plan if m > 1.0 else plan[:0], m)
        arm = choice[0]
        if played.size > 0:
            played[t - first] = arm
        loss, row = loss_of(game, t, arm), int(words[ASKED] % losses.shape[0])
        for k in range(losses.shape[1]):
            one = loss if losses.shape[1] == 1 else loss_of(game, t, k)
            if not low <= one <= high:
                refused[0], outside[0] = arm if losses.shape[1] == 1 else k, one
                return t
            losses[row, k] = (one - low) / (high - low)
        write_choice(choices[row], choice)
        choices[row, MOST_PARTS] = m
        words[ASKED] += 1
        if counts.size > 0:
            count(game, t, arm, loss, counts, sums)
        see(game, t, arm)
        if words[ASKED] == words[END]:
            tell_until(state, late, choice, words[ASKED])
        elif words[ASKED] % words[BATCH] == 0:
            tell_until(state, late, choice, words[ASKED] - words[DELAY])
    return stop


@jit_part
def tell_until(state: Any, late: Any, like: Any, stop: int) -> None:
    """Tell the rounds before `stop` that were not told yet, counted from the first round of the game."""
    choices, losses, words, plan, delays, _ = late
    while words[TOLD] < stop:
        row = int(words[TOLD] % losses.shape[0])
        choice, m = read_choice(choices[row], like), choices[row, MOST_PARTS]
        tell_planned(state, plan if m > 1.0 else plan[:0], m, choice, told(state, losses[row]))
        if delays.size > 0:
            count_delay(delays, words[ASKED] - words[TOLD])
        words[TOLD] += 1


def told(state: Any, losses: Any) -> Any:
    """What a learner is told: the loss of its arm, or those of all arms, in the field of its state."""
    if sees_all(type(state)):
        state.losses[:] = losses
        return state.losses
    return losses[0]


@compiled_as(told)
def _overload_told(state: Any, losses: Any) -> Any:
    if sees_all(state.instance_class):
        return _told_all
    return lambda state, losses: losses[0]


def _told_all(state: Any, losses: Any) -> Any:
    for k in range(losses.size):
        state.losses[k] = losses[k]
    return state.losses


@cache
def late_loop_of(State: Any) -> Callable[..., int]:
    """The compiled loop of learners with this state: `play_late` on the learner's parts."""

    @jit_game
    def run_late(parts: Any, game: Any, notes: Any, late: Any, first: int, stop: int, low: float, high: float) -> int:
        state, game = view_of(State, without_refcount(parts)), open_game(game)
        notes, late = without_refcount(notes), without_refcount(late)
        return play_late(state, game, notes, late, first, stop, low, high)

    return run_late


def advance_late(learner: Learner, parts: Any, game: Game, notes: Notes, late: Late, first: int, stop: int) -> int:
    """Play rounds first … stop - 1. Returns stop, or the round with a loss that the learner cannot be told."""
    run = late_loop_of(learner.state_type)
    return run(parts, game.words, tuple(notes), tuple(late), first, stop, *learner.told_at_once())


class ByHand:
    """Plays rounds by calling `ask` and `tell`, of anything that has both. Losses not told yet wait in a queue."""

    def __init__(
        self, learner: Any, game: Game, timing: Timing, horizon: int, index: Index, accepts: tuple[float, float]
    ) -> None:
        self.learner, self.game, self.timing, self.horizon = learner, game, timing, horizon
        self.index, self.accepts = index, accepts
        self.waiting: deque[tuple[Any, float]] = deque()

    def advance(self, notes: Notes, first: int, stop: int) -> int:
        """Play rounds first … stop - 1. Returns stop, or the round with a loss that cannot be told."""
        fields, (low, high), (delay, batch) = self.game.fields, self.accepts, self.timing
        for t in range(first, stop):
            decision = self.learner.ask()
            arm = self.index(decision, t)
            loss = float(loss_of(fields, t, arm))
            if not low <= loss <= high:
                notes.refused[0], notes.outside[0] = arm, loss
                return t
            if notes.played.size:
                notes.played[t - first] = arm
            if notes.counts.size:
                notes.counts[arm] += 1
                notes.sums[0] += loss
                notes.sums[1] += mean_of(fields, t, arm)
            see(fields, t, arm)
            self.waiting.append((decision, loss))
            if t + 1 == self.horizon:
                self._tell(0)
            elif (t + 1) % batch == 0:
                self._tell(delay)
        return stop

    def _tell(self, left: int) -> None:
        """Tell all losses but the last few."""
        while len(self.waiting) > left:
            decision, loss = self.waiting.popleft()
            self.learner.tell(decision, loss=loss)
