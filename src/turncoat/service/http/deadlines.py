"""Deadlines: what the engine thread has not answered in time is answered in its place, on the event loop.

All requests have the same time, so they end in the order of submission: one timer looks at the oldest. A request that
is still in the engine thread's queue by then is dropped there, so it is never recorded. One that is being recorded may
be committed later: a retry with the same Idempotency-Key gets that decision, and a reward counts once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from turncoat.service.messages import Command

Work = Command | Callable[[], Any]
LOOKS = 16  # of the timer, per deadline


class Receiver(Protocol):
    """Receives a result: a future, or what answers a request when it has its result."""

    def done(self) -> bool:
        """Whether it waits no more: the caller has disconnected."""

    def set_result(self, result: Any, /) -> None:
        """Receive it."""


class Submitted:
    """What was submitted to the engine thread."""

    __slots__ = ("is_late", "receiver", "until", "work")

    def __init__(self, work: Work, receiver: Receiver, until: float) -> None:
        self.work, self.receiver, self.until, self.is_late = work, receiver, until, False


class Deadlines:
    """The requests that wait for the engine thread. All methods run on one event loop."""

    def __init__(self, seconds: float, answer: Callable[[Submitted], None]) -> None:
        """`answer` answers what has waited for so many seconds."""
        self._seconds, self._answer = seconds, answer
        self._waiting: deque[Submitted] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timer."""
        self._loop = loop
        self._timer = loop.call_later(self._seconds / LOOKS, self._look)

    def add(self, work: Work, receiver: Receiver) -> Submitted:
        """Something is submitted."""
        one = Submitted(work, receiver, self._loop.time() + self._seconds)
        self._waiting.append(one)
        return one

    def close(self) -> None:
        """Stop the timer, once the engine thread has answered all that waits."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.call_later(self._seconds / LOOKS, self._look)
        now, waiting = self._loop.time(), self._waiting
        while waiting and (waiting[0].receiver.done() or waiting[0].until <= now):
            one = waiting.popleft()
            if not one.receiver.done():
                one.is_late = True
                self._answer(one)
