"""What is put into one transaction together: decisions asked for, rewards told."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from turncoat.service import messages
from turncoat.service.errors import Problem


class Decide(NamedTuple):
    """Somebody wants a decision."""

    key: str
    ask: messages.Ask
    idempotency_key: str | None = None


class Tell(NamedTuple):
    """Somebody says how a decision turned out."""

    decision_id: str
    reward: messages.Reward


Errand: TypeAlias = Decide | Tell
Done: TypeAlias = messages.Decided | messages.Receipt | Problem
