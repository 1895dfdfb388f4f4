"""What only some learners can do: arms that come and go, a choice among some arms, planning several pulls ahead.

Every learner has these methods. Here they refuse, and say which learner does not; a learner that can overrides them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from turncoat.decision import Decision
from turncoat.errors import ArmsError, OptionError
from turncoat.types import Ints, Label, Vector


class OptionalMethods:
    """The methods that Turncoat alone has, refused. Base class of Learner."""

    _reach: int = 1  # decisions older than this are not waited for (turncoat/delays.py)
    _waiting: int = 0  # decisions that are waited for
    _next_id: int

    @property
    def n_waiting(self) -> int:
        """How many outstanding decisions are young enough that their loss may still be told."""
        return self._waiting

    def add_arm(self, label: Label | None = None) -> int:
        """One more arm, from now on; its index."""
        raise self._only_turncoat("add an arm")

    def retire_arm(self, arm: Label) -> None:
        """Choose an arm no more. It keeps its index, and has probability 0."""
        raise self._only_turncoat("retire an arm")

    def _ask_planned(self, allowed: Iterable[Label] | None, m: int | None) -> Decision:
        raise self._no_planning(allowed, m)

    def _probabilities_planned(self, allowed: Iterable[Label] | None, m: int | None) -> Vector:
        raise self._no_planning(allowed, m)

    def _parse_among(self, index: int, allowed: Iterable[int]) -> tuple[int, ...]:
        raise self._only_turncoat("learn from a choice among some of its arms only")

    def _parse_m(self, m: Any) -> int:
        raise self._no_planning(None, m)

    def _tell_planned(self, index: int, loss: Any, propensity: Any, allowed: tuple[int, ...] | None, m: Any) -> int:
        return -1  # it never decided so

    def _note_ask(self) -> None:
        """The newest decision is outstanding."""

    def planning(self) -> tuple[Vector, Ints, set[int]]:
        """For compiled loops: room for a plan, the record of delays, and the outstanding decisions; or nothing."""
        return np.empty(0), np.empty(0, dtype=np.int64), set()

    def asked_in_loop(self, n: int, *, at_once: bool) -> None:
        """A compiled loop has asked n times, and told each `at_once`, or in its own time."""
        self._next_id += n

    def _note_forget(self, number: int) -> None:
        """Decision `number` will never be told."""

    def _no_planning(self, allowed: Any, m: Any) -> Exception:
        if allowed is not None:
            return self._only_turncoat("choose among some of its arms only")
        return OptionError(f"m is {m!r}, and {type(self).__name__} does not plan ahead; Turncoat does")

    def _only_turncoat(self, what: str) -> ArmsError:
        return ArmsError(f"{type(self).__name__} cannot {what}; Turncoat can")
