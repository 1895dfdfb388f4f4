"""The clock. Windows and lateness use the service's own clock only; tests bring another."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

EARLIEST, LATEST = 0.0, 253_402_300_799.0  # 1970 to 9999: the range of a datetime


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Seconds since 1970."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()


def as_datetime(seconds: float) -> datetime:
    """The same moment as a datetime, in UTC."""
    return datetime.fromtimestamp(min(max(seconds, EARLIEST), LATEST), UTC)


def as_seconds(moment: datetime) -> float:
    """The same moment in seconds since 1970; one without a zone is taken for UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
