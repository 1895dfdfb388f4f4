"""A game by asking and telling: arms that are not always allowed, and late losses for any version of the package.

Turncoat chooses among the allowed arms itself. No rival can: while its arm is not allowed, the decision is forgotten,
and it is asked again. That draws from its own distribution among the allowed arms. Where it insists (an index has one
answer), the allowed arm that it chose last before is played, and observed if it can observe.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

import turncoat as tc
from turncoat.environments import Environment
from turncoat.errors import TurncoatError

TRIES = 20
AT_ONCE = 1024  # rounds whose losses are looked up together

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Arms = np.ndarray[tuple[int], np.dtype[np.int64]]


class AnyRule:
    """Choices among allowed arms by a learner that knows of none: (arm, decision), or no decision if it insists."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.last = np.full(learner.n_arms, -1)  # the round in which each arm was chosen last

    def choose(self, t: int, allowed: Flags) -> tuple[int, Any]:
        """An arm of round t."""
        for _ in range(TRIES):
            decision = self.learner.ask()
            if allowed[decision.index]:
                self.last[decision.index] = t
                return decision.index, decision
            self.learner.forget(decision)
            if decision.propensity == 1.0:
                break
        return int(np.where(allowed, self.last, -2).argmax()), None

    def tell(self, arm: int, decision: Any, loss: float) -> None:
        """What the arm cost."""
        if decision is not None:
            self.learner.tell(decision, loss=loss)
        else:
            with suppress(TurncoatError):  # it cannot observe
                self.learner.observe(arm, loss, 1.0)


def play_by_hand(
    learner: Any, environment: Environment, delay: int = 0, batch: int = 1, allowed: Flags | None = None
) -> Arms:
    """The arm of every round. Losses are told as by `play`: `delay` rounds later, at the end of a batch."""
    rule, played = AnyRule(learner), np.empty(environment.horizon, dtype=np.int64)
    waiting: deque[tuple[int, Any, float]] = deque()
    for t in range(environment.horizon):
        if t % AT_ONCE == 0:
            losses = environment.losses_block(t, min(t + AT_ONCE, environment.horizon))
        if allowed is not None and not isinstance(learner, tc.Turncoat):
            arm, decision = rule.choose(t, allowed[t])
        else:
            decision = learner.ask() if allowed is None else learner.ask(allowed=np.flatnonzero(allowed[t]).tolist())
            arm = decision.index
        played[t] = arm
        waiting.append((arm, decision, float(losses[t % AT_ONCE, arm])))
        over = t + 1 == environment.horizon
        if over or (t + 1) % batch == 0:
            while len(waiting) > (0 if over else delay):
                rule.tell(*waiting.popleft())
    return played
