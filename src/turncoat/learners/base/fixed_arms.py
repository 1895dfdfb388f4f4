"""What most learners refuse: arms that come and go, and a choice among some arms only. Turncoat can do all of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turncoat.errors import ArmsError
from turncoat.types import Decision, Label, Vector


class FixedArms:
    """The arms stay as they are, and all of them are there in every round."""

    def add_arm(self, label: Label | None = None) -> int:
        """One more arm, from now on; its index."""
        raise self._only_turncoat("add an arm")

    def retire_arm(self, arm: Label) -> None:
        """Choose an arm no more. It keeps its index, and has probability 0."""
        raise self._only_turncoat("retire an arm")

    def _ask_among(self, allowed: Iterable[Label]) -> Decision:
        raise self._only_turncoat("choose among some of its arms only")

    def _probabilities_among(self, allowed: Iterable[Label]) -> Vector:
        raise self._only_turncoat("choose among some of its arms only")

    def _parse_among(self, index: int, allowed: Iterable[int]) -> tuple[int, ...]:
        raise self._only_turncoat("learn from a choice among some of its arms only")

    def _tell_among(self, index: int, loss: Any, propensity: Any, allowed: tuple[int, ...]) -> int:
        return -1  # it never decided so

    def _only_turncoat(self, what: str) -> ArmsError:
        return ArmsError(f"{type(self).__name__} cannot {what}; Turncoat can")
