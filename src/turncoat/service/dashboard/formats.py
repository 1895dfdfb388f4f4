"""Numbers, shares and times as people read them. Times are in UTC."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from turncoat.service.clock import as_datetime

NOTHING = "–"
SPACE = "\N{NO-BREAK SPACE}"
UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def figure(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that matter: 0.123, 12.3, 12,300."""
    if value is None or not math.isfinite(value):
        return NOTHING
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0.0:
        return "0"
    after = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(after, 0)}f}".replace("-", "−")


def plain(value: float | None) -> str:
    """A configured number, in the shortest exact form."""
    return NOTHING if value is None else f"{value:,.15g}".replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """The same with its sign, also where it is positive."""
    shown = figure(value, digits)
    return f"+{shown}" if value is not None and math.isfinite(value) and value > 0.0 else shown


def count(value: float | None) -> str:
    """How many."""
    return NOTHING if value is None else f"{round(value):,}"


def share(value: float | None) -> str:
    """A share in per cent: 62 %, 0.7 %, less than 0.1 %."""
    if value is None or not math.isfinite(value):
        return NOTHING
    percent = 100.0 * value
    if 0.0 < percent < 0.1:
        return f"<{SPACE}0.1{SPACE}%"
    whole = percent == 0.0 or 9.95 <= percent <= 99.0 or percent >= 99.95
    return f"{percent:.0f}{SPACE}%" if whole else f"{percent:.1f}{SPACE}%"


def span(seconds: float | None) -> str:
    """How long: 3.1 ms, 5 s, 12 min, 3 h, 2 d."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0.9995:
        return f"{1000.0 * seconds:.{int(seconds < 0.00995)}f}{SPACE}ms" if seconds >= 0.00005 else f"0{SPACE}s"
    size, unit = next((size, unit) for size, unit in UNITS if seconds >= size * 0.9995 or size == 1.0)
    number = f"{seconds / size:.0f}" if seconds >= 9.95 * size else f"{seconds / size:.1f}".removesuffix(".0")
    return f"{number}{SPACE}{unit}"


def moment(seconds: float | None) -> str:
    """When: 15 Nov 14:03:07."""
    return NOTHING if seconds is None else f"{as_datetime(seconds):%-d %b %H:%M:%S}"


def about(seconds: float | None, fine: bool = True) -> str:
    """When, to the second or the minute."""
    return moment(seconds) if fine or seconds is None else moment(seconds)[:-3]


def machine_moment(seconds: float | None) -> str:
    """When, for programs."""
    return "" if seconds is None else as_datetime(seconds).isoformat(timespec="milliseconds")


def dated(value: Any) -> str:
    """A datetime, to the millisecond."""
    return f"{value.astimezone(UTC):%-d %b %Y %H:%M:%S.%f}"[:-3] if isinstance(value, datetime) else NOTHING


def size(n_bytes: float | None) -> str:
    """Bytes: 12 MB."""
    if n_bytes is None:
        return NOTHING
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000.0:
            return f"{figure(n_bytes)}{SPACE}{unit}"
        n_bytes /= 1000.0
    return f"{figure(n_bytes)}{SPACE}TB"


_ALL = (figure, plain, signed, count, share, span, moment, about, machine_moment, dated, size)
FILTERS = {one.__name__: one for one in _ALL}
