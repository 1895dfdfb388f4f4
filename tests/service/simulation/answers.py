"""The service's messages as the model knows them."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from tests.naive import service_decisions as decisions
from tests.naive.service_records import Settings
from turncoat.service import messages
from turncoat.service.errors import Problem
from turncoat.service.messages import Decide


def as_control(settings: Settings) -> messages.Control | None:
    return None if settings.control is None else messages.Control(arm=settings.control[0], share=settings.control[1])


def as_stickiness(settings: Settings) -> messages.Stickiness:
    return messages.Stickiness(flags=settings.flags, keep_s=None if settings.keep == math.inf else settings.keep)


def as_ask(command: Decide) -> decisions.Ask:
    """As the model knows it."""
    ask = command.ask
    allowed = None if ask.allowed_arms is None else tuple(ask.allowed_arms)
    return decisions.Ask(
        command.key, ask, ask.unit_id, allowed, ask.sticky, command.is_flag, ask.deferred, ask.decision_id,
        command.idempotency_key,
    )  # fmt: skip


def as_answer(got: messages.Decided) -> decisions.Answer:
    expires_at = None if got.expires_at is None else got.expires_at.timestamp()
    return decisions.Answer(
        str(got.decision_id), got.arm, got.propensity, got.probabilities, got.state_version, got.stream, got.reason,
        expires_at, msgspec.json.encode(got),
    )  # fmt: skip


def as_got(got: Any) -> decisions.Answer | int:
    return got.status if isinstance(got, Problem) else as_answer(got)


def as_status(got: Any) -> str | int:
    return got.status  # type: ignore[no-any-return]  # of a Receipt, or of a Problem


def as_number(got: Any) -> int | None:
    return got.status if isinstance(got, Problem) else None
