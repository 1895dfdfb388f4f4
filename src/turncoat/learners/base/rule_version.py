"""Rule versions: a saved state says which version of its learner's rule left it, and an older one is migrated.

A class raises `rule_version` when the same state and the same tells would lead elsewhere than before. States of rule 1
do not name it, as no state did when all rules were the first.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from turncoat.errors import StateError
from turncoat.validation.numbers import is_whole

STATE_FORMAT = 1


def rule_of(state: dict[str, Any], name: str, known: int) -> int:
    """The rule that left a state of the learner with this name; one that is newer than `known` is refused."""
    rule = state.get("rule", 1)
    if not is_whole(rule) or rule < 1:
        raise StateError(f"the state's rule is {rule!r}; accepted are whole numbers from 1 to {known}")
    if rule > known:
        raise StateError(
            f"the state is of rule {rule} of {name!r}, written by turncoat {state.get('turncoat')}; this version knows "
            f"rules up to {known}: upgrade turncoat to restore it"
        )
    return int(rule)


class Versioned:
    """What has a rule, and is rebuilt from saved states. Base class of Learner."""

    name: ClassVar[str]
    rule_version: ClassVar[int] = 1  # raised when the same state and tells would lead elsewhere

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """The learner a state was taken from; a state of an older rule is migrated first."""
        is_older = rule_of(state, cls.name, cls.rule_version) < cls.rule_version
        return cls._rebuilt(cls._migrated(dict(state)) if is_older else state)

    @classmethod
    def _migrated(cls, state: dict[str, Any]) -> dict[str, Any]:
        """A copy of a state of an older rule, made one of this rule. A class that raises its rule overrides it."""
        older, present = state.get("rule", 1), cls.rule_version
        raise StateError(
            f"the state is of rule {older} of {cls.name!r}, written by turncoat {state.get('turncoat')}; this version "
            f"has rule {present}, and accepted are states of rule {present}: restore it with the version that wrote it"
        )

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        """The learner of a state of this rule."""
        raise NotImplementedError
