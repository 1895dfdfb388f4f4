"""The outcome as a table: one column a campaign."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
from collections.abc import Callable, Sequence

from tests.chaos.campaign import CLIENTS, Outcome

READY = 2.0  # seconds: what was promised
SHOWN = 10  # violations of a campaign

ROWS: dict[str, Callable[[Outcome], object]] = {
    "kills": lambda one: len(one.ready),
    "acknowledged decisions": lambda one: one.verdict.decisions,
    "acknowledged rewards, accepted": lambda one: one.verdict.rewards,
    "  duplicate / conflict / late": lambda one: " / ".join(
        str(one.verdict.refused[status]) for status in ("duplicate", "conflict", "late")
    ),
    "unknown at the client, then retried": lambda one: one.verdict.unknown,
    "  of them recorded the first time": lambda one: one.verdict.committed,
    "acknowledged and missing": lambda one: one.verdict.count("missing"),
    "recorded or applied twice": lambda one: one.verdict.count("doubled"),
    "otherwise wrong": lambda one: one.verdict.count("wrong"),
    "rewards learned again by replay": lambda one: one.verdict.verified,
    "  learners that differ by a byte": lambda one: one.verdict.differing,
    "ready again, s: median (largest)": lambda one: _times(one.ready),
    f"  within {READY:g} s": lambda one: f"{sum(time <= READY for time in one.ready)} of {len(one.ready)}",
    "deciding again, s: median (largest)": lambda one: _times(one.deciding),
    "  among some arms, if it lived so long; n": lambda one: f"{len(one.choosing)}: {_times(one.choosing)}",
    "rounds/s, down times included": lambda one: f"{one.rounds / one.seconds:.0f}" if one.seconds else "none",
    "load average at the end": lambda one: f"{one.load:.1f}",
}


def show(outcomes: Sequence[Outcome]) -> str:
    """All of it, and the first violations."""
    named = [f"{one.plan.target}, {one.plan.store}" for one in outcomes]
    cells = [["kill -9 of", *named]]
    cells += [[name, *(str(value(one)) for one in outcomes)] for name, value in ROWS.items()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(pairs)).rstrip()
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join([*lines, "", _about(outcomes), *_violations(outcomes)])


def _times(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({max(seconds):.2f})" if seconds else "none"


def _about(outcomes: Sequence[Outcome]) -> str:
    broken = {one.plan.broken for one in outcomes} - {None}
    return (
        f"({CLIENTS} clients over HTTP on loopback; {os.cpu_count()} cores, shared by clients, service and database; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}; seed {outcomes[0].plan.seed}"
        f"{', broken on purpose: ' + ', '.join(map(str, broken)) if broken else ''})"
    )


def _violations(outcomes: Sequence[Outcome]) -> list[str]:
    lines: list[str] = []
    for one in outcomes:
        found = one.verdict.violations
        lines += [f"{one.plan.target}, {one.plan.store}: {kind}: {text}" for kind, text in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"{one.plan.target}, {one.plan.store}: and {len(found) - SHOWN} more")
    return ["", *lines] if lines else lines
