"""Recent events: the last 2,000 decisions, open ones, refused rewards. The cost does not grow with the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from turncoat.service.dashboard.data.windows import Cell, read_cells
from turncoat.service.experiments.aggregates import FINE, MIDDLE
from turncoat.service.experiments.estimates import SampleRatio, sample_ratio
from turncoat.service.store.interface import Row, Session

LAST = 2_000  # decisions read, of all experiments
MOST_OPEN, MOST_REFUSED = 2_000, 5_000  # rows read
MOST_SHARES = 60_000  # probabilities decoded
PACE = 600.0  # seconds over which decisions are counted
HOURS = 24

LATEST = """
    SELECT arm, probabilities, version, stream, decided_at, outcome, rewarded_at FROM (
        SELECT experiment, arm, probabilities, version, stream, decided_at, outcome, rewarded_at
        FROM decision ORDER BY id DESC LIMIT :limit) AS latest
    WHERE experiment = :experiment
"""
SERVED = "SELECT version, probabilities FROM version WHERE experiment = :experiment AND version IN :versions"
OPEN = """
    SELECT arm, COUNT(*) FROM (
        SELECT arm FROM decision WHERE experiment = :experiment AND applied_version IS NULL
        ORDER BY expires_at DESC LIMIT :limit) AS latest
    GROUP BY arm
"""
NEW = """
    SELECT COUNT(*), MIN(expires_at) FROM (
        SELECT expires_at FROM decision
        WHERE experiment = :experiment AND applied_version IS NULL AND expires_at > :since
        ORDER BY expires_at DESC LIMIT :limit) AS latest
"""
REFUSED = """
    SELECT CAST(received_at AS BIGINT) / 3600, status, COUNT(*) FROM (
        SELECT received_at, status FROM refused WHERE experiment = :experiment AND received_at >= :since
        ORDER BY received_at DESC LIMIT :limit) AS latest
    GROUP BY 1, 2
"""
CLOSED = """
    SELECT start / :step, SUM(n), SUM(n_rewarded), SUM(n_defaulted), SUM(n_expired) FROM bucket
    WHERE experiment = :experiment AND width = :width AND start >= :since AND start < :until GROUP BY 1
"""
INBOX = "SELECT COUNT(*), MIN(received_at) FROM inbox WHERE experiment = :experiment"

KINDS = ("rewarded", "defaulted", "expired", "late", "duplicate", "conflict", "out_of_range", "orphan")


class Backlog(NamedTuple):
    """The number of rewards in the inbox, and the age of the oldest in seconds."""

    n: int
    lag: float


class Delays(NamedTuple):
    """Quantiles of the seconds from a decision to its reward."""

    half: float
    nine_tenths: float
    almost_all: float  # 99 %


class Latest(NamedTuple):
    """Statistics of the last decisions."""

    n: int
    ratio: SampleRatio
    delays: Delays | None


def read_latest(session: Session, experiment: int, n_arms: int) -> Latest:
    """The sample ratio and the delays of the last decisions."""
    limit = min(LAST, max(MOST_SHARES // max(n_arms, 1), 50))
    rows = session.rows(LATEST, experiment=experiment, limit=limit)
    learned = [(arm, own, version) for arm, own, version, stream, *_ in rows if stream == "learn"]
    waits = sorted(max(rewarded - decided, 0.0) for *_, decided, outcome, rewarded in rows if outcome == "rewarded")
    quantiles = [waits[int(q * len(waits))] for q in (0.5, 0.9, 0.99)] if waits else []
    return Latest(len(rows), _ratio(session, experiment, learned), Delays(*quantiles) if waits else None)


def _ratio(session: Session, experiment: int, learned: Sequence[tuple[str, str | None, int]]) -> SampleRatio:
    versions = {version for _, own, version in learned if own is None}
    found = session.rows(SERVED, experiment=experiment, versions=sorted(versions)) if versions else []
    served = {int(version): str(text) for version, text in found}
    texts = Counter(own if own is not None else served[version] for _, own, version in learned)
    expected: dict[str, tuple[float, float]] = {}
    for text, times in texts.items():
        for arm, p in msgspec.json.decode(text, type=dict[str, float]).items():
            mean, variance = expected.get(arm, (0.0, 0.0))
            expected[arm] = mean + times * p, variance + times * p * (1.0 - p)
    return sample_ratio(len(learned), Counter(arm for arm, _, _ in learned), expected)


def read_backlog(session: Session, experiment: int, now: float) -> Backlog:
    """The experiment's inbox."""
    n, oldest = session.rows(INBOX, experiment=experiment)[0]
    return Backlog(int(n), max(now - oldest, 0.0) if n else 0.0)


def read_open(session: Session, experiment: int) -> dict[str, int]:
    """Open decisions per arm; at most the latest 2,000 are counted."""
    return {arm: int(n) for arm, n in session.rows(OPEN, experiment=experiment, limit=MOST_OPEN)}


def read_pace(session: Session, experiment: int, window_s: float, age: float, now: float) -> float:
    """Decisions per hour, closed and open, at the rate of the last ten minutes."""
    time = min(PACE, max(age, 1.0))
    closed = read_closed(session, experiment, FINE, (int(now - time), int(now) + 1))
    n, first = session.rows(NEW, experiment=experiment, since=now - time + window_s, limit=MOST_OPEN)[0]
    taken = max(now - (float(first) - window_s), 1e-3) if n == MOST_OPEN else time
    return 3600.0 * (sum(row[1] for row in closed) / time + float(n) / taken)


def read_closed(session: Session, experiment: int, width: int, period: tuple[int, int]) -> list[list[int]]:
    """Per hour with any: its number since 1970, decisions closed, and of these rewarded, defaulted and expired ones."""
    rows = session.rows(CLOSED, experiment=experiment, width=width, step=3_600, since=period[0], until=period[1])
    return [[int(number) for number in row] for row in rows]


def read_recent(session: Session, experiment: int, settled: float, age: float) -> list[Cell]:
    """The closed decisions of the last settled hour."""
    width = FINE if age <= 7_000.0 else MIDDLE
    until = int(settled) // width * width
    return read_cells(session, experiment, width, 3_600, (until - 3_600, until))


def read_hours(session: Session, experiment: int, now: float) -> dict[str, list[int]]:
    """Decisions by outcome and refused rewards by reason, in each of the last 24 hours."""
    first = int(now) // 3_600 - HOURS + 1
    hours = {kind: [0] * HOURS for kind in KINDS}
    closed = read_closed(session, experiment, MIDDLE, (first * 3_600, int(now) + 1))
    found: list[Row] = [(hour, kind, n) for hour, _, *ns in closed for kind, n in zip(KINDS, ns, strict=False)]
    found += session.rows(REFUSED, experiment=experiment, since=first * 3_600.0, limit=MOST_REFUSED)
    for hour, kind, n in found:
        if 0 <= int(hour) - first < HOURS and kind in hours:
            hours[kind][int(hour) - first] += int(n)
    return hours
