"""What clients remember: everything they asked for and told, and what they were answered, written down at once.

Times are the machine's clock, which the service goes by too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Asked:
    """A decision asked for, again and again with the same idempotency key, until it was answered."""

    experiment: str
    key: str
    body: bytes
    sent: float = 0.0  # the last time
    unknown: int = 0  # attempts that were sent and not answered
    answered: float = 0.0
    answer: bytes = b""

    def decided(self) -> dict[str, Any]:
        """The answer, read."""
        decided: dict[str, Any] = json.loads(self.answer)
        return decided


@dataclass(slots=True)
class Told:
    """A reward told, again and again, until it was answered."""

    decision_id: str
    value: float
    reward_id: str | None = None
    first_sent: float = 0.0
    sent: float = 0.0  # the last time
    unknown: int = 0
    answered: float = 0.0
    status: str = ""


@dataclass(slots=True)
class Changed:
    """Changes of arms of one kind: those that were answered, and how many more may have been made."""

    action: str
    made: int = 0
    sent: float = 0.0
    unknown: int = 0
    answered: float = 0.0


@dataclass
class Memory:
    """One client's."""

    asked: list[Asked] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    activated: set[str] = field(default_factory=set)
    changed: dict[str, Changed] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)  # answers that should never be given


def merged(memories: list[Memory]) -> Memory:
    """All of them in one, for the checker."""
    whole = Memory()
    for memory in memories:
        whole.asked += memory.asked
        whole.told += memory.told
        whole.activated |= memory.activated
        whole.changed |= memory.changed  # one client alone changes arms
        whole.wrong += memory.wrong
    return whole
