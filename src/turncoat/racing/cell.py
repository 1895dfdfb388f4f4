"""A cell of a race: one game of one learner in one environment, with what is recorded at the checkpoints.

Turncoat's own learners, and those built like them, play in the compiled loop of `play`. Anything else that has `ask`
and `tell` is played round by round from Python, which is slower; its cell has the same form.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from turncoat.environments import Environment
from turncoat.errors import DecisionTypeError, OptionError
from turncoat.learners import Learner
from turncoat.racing.reference import ROUNDS_AT_ONCE, AdaptiveComparator, blocks
from turncoat.simulate.late import AT_ONCE, ByHand, Timing
from turncoat.simulate.loop import Advance, advancing
from turncoat.simulate.rounds import Notes, bad_loss, blank_notes, game_of, parts_in, sees
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.numbers import is_whole

MOST_SHARES = 64  # arms whose shares are kept
FIRST_BLOCK = 4096
BLOCK_SECONDS = 0.05  # how long a wish to stop may wait


class Cell(NamedTuple):
    """One game: arrays over the n checkpoints, `t` being the rounds played. Of more than 64 arms, those played most."""

    t: Ints  # (n,)
    loss: Vector  # (n,) cumulative loss
    mean_loss: Vector  # (n,) cumulative mean loss of the arms played
    arms: Ints  # (m,) the arms that have shares
    shares: Matrix  # (n, m) the fraction of the rounds so far in which each arm was played
    candidates: Vector  # (H,) of a master's bases; H = 0 for other learners
    trust: Matrix  # (n, H) the master's probabilities
    rho: Matrix  # (n, H), or (n, 0) for masters without thresholds
    best: Matrix  # (n, S_max + 1) L*(s) of the losses this learner met, if they depend on its arms; else (n, 0)
    seconds: float  # in the loop
    base_loss: Matrix = np.empty((0, 0))  # (n, H) cumulative expected loss of a master's bases; no rows unless split
    theorem: str = ""  # that bounds the regret of this game, if it was split: see racing/split.py
    n_arms: int = 0  # if it was split
    believed: Matrix = np.empty((0, 3))  # (m, 3) of a learner that explains itself: since when, arm, how sure


def _row(learner: Any, notes: Notes, adaptive: AdaptiveComparator | None) -> tuple[Any, ...]:
    """What is written down at a checkpoint: loss, mean loss, how often each arm was played, trust, rho, best."""
    is_master = len(getattr(learner, "candidates", ())) > 0
    trust = np.array(learner.master_probabilities if is_master else [], dtype=np.float64)
    rho = np.array(learner.rho if is_master and hasattr(learner, "rho") else [], dtype=np.float64)
    best = np.array([] if adaptive is None else adaptive.comparator.losses())
    return *notes.sums, notes.counts.copy(), trust, rho, best


def _cell(learner: Any, t: Ints, rows: list[tuple[Any, ...]], seconds: float) -> Cell:
    """The rows of all checkpoints, with the arms played most."""
    loss, mean_loss, counts, trust, rho, best = (np.array(column) for column in zip(*rows, strict=True))
    arms = np.sort(np.argsort(-counts[-1], kind="stable")[:MOST_SHARES]).astype(np.int64)
    candidates = np.array(getattr(learner, "candidates", ()), dtype=np.float64)
    believed = np.array(getattr(learner, "believed", np.empty((0, 3))), dtype=np.float64)
    seen = candidates, trust, rho, best
    return Cell(t, loss, mean_loss, arms, counts[:, arms] / t[:, None], *seen, seconds, believed=believed)


def play_cell(
    learner: Any,
    environment: Environment,
    t: Ints,
    stopping: Callable[[], bool] = lambda: False,
    block: int = 0,
    max_switches: int = 0,
    timing: Timing = AT_ONCE,
) -> Cell:
    """Play up to the last checkpoint. `block` rounds at a time go uninterrupted; 0 means about a twentieth of a second.

    The environment must be fresh. What comes out does not depend on the blocks. An adaptive adversary's losses are
    those of this one game, so the comparator, up to `max_switches`, goes along. `timing`: when losses are told.
    """
    is_ours = isinstance(learner, Learner)
    adaptive = None if environment.oblivious else AdaptiveComparator(environment, max_switches)
    noted = learner if is_ours else None  # of another's, nothing but the arms is known
    rows: list[tuple[Any, ...]] = []
    notes = blank_notes(0 if adaptive is None else ROUNDS_AT_ONCE, environment.n_arms)
    play = _compiled if is_ours else _by_hand
    go_on = play(learner, environment, timing, int(t[-1]))
    low, high = learner.accepts if is_ours else (0.0, 1.0)
    size = block or (FIRST_BLOCK if is_ours else 64)
    seconds = 0.0

    def at_once() -> int:
        return size if adaptive is None else min(size, ROUNDS_AT_ONCE)

    for row, first, stop in blocks(t, at_once, stopping):
        began = time.perf_counter()
        reached = go_on(notes, first, stop)
        if reached < stop:
            raise bad_loss(environment, notes, reached, low, high)
        took = time.perf_counter() - began
        seconds += took
        if adaptive is not None:
            adaptive.see(first, notes.played[: stop - first])
        if not block and stop - first == size and took < BLOCK_SECONDS / 2:
            size *= 2
        if stop == t[row]:
            rows.append(_row(noted, notes, adaptive))
    return _cell(noted, t, rows, seconds)


def _compiled(learner: Learner, environment: Environment, timing: Timing, horizon: int) -> Advance:
    """Rounds in the compiled loop."""
    if learner.n_arms != environment.n_arms and not sees(learner, environment.features):
        raise OptionError(f"{learner!r} was made for a game with {environment.n_arms} arms; accepted is that number")
    return advancing(learner, parts_in(learner, environment.features), game_of(environment), timing, horizon)


def _by_hand(learner: Any, environment: Environment, timing: Timing, horizon: int) -> Advance:
    """Rounds by asking and telling."""

    def index(decision: Any, t: int) -> int:
        return _index(learner, decision, environment.n_arms, t)

    return ByHand(learner, game_of(environment), timing, horizon, index, (0.0, 1.0)).advance


def _index(learner: Any, decision: Any, n_arms: int, t: int) -> int:
    """The arm that was decided for: the decision itself, if it is a whole number, or its index."""
    index: Any = decision if isinstance(decision, int | np.integer) else getattr(decision, "index", None)
    if not is_whole(index) or not 0 <= index < n_arms:
        raise DecisionTypeError(
            f"{type(learner).__name__} answered ask with {decision!r} in round {t}; accepted are whole numbers from 0 "
            f"to {n_arms - 1}, and decisions with such an index"
        )
    return int(index)
