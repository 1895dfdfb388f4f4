"""How many pulls a version plans ahead: m, the number of decisions that are waited for, plus one.

It is rounded down to a power of two (learners/turncoat/planned_asks.py). A decision of the learn stream is waited for
while it is open and younger than the reach. The reach is a quantile of the delays from a decision to the version that
learned its reward, counted by learners/turncoat/delays.py, here in milliseconds, in a record stored beside
the learner. So a reward that is lost for ever counts for no longer than almost all others take.

Of more than COUNTED decisions the newest are counted, and the time that they span says how many there are in all.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turncoat.service.experiments.snapshot import to_json
from turncoat.service.store.interface import DeferredResult, Session

COUNTED = 16_384
LEAST_PLANNED = 8  # a version without news is for no smaller m: slow traffic would make as many versions as decisions
MARGIN = 1.0  # seconds by which a decision may be recorded late, or another worker's clock be slow

WAITING = """
    SELECT COUNT(*), MIN(decided_at) FROM (
        SELECT d.decided_at FROM decision d
        WHERE d.experiment = :experiment AND d.applied_version IS NULL AND d.stream = 'learn' AND d.decided_at > :after
        ORDER BY d.decided_at DESC LIMIT :limit
    ) AS newest
"""
GROWING = """
    SELECT e.id, (SELECT v.m FROM version v WHERE v.experiment = e.id AND v.version = e.version),
           (SELECT l.delays FROM learner l WHERE l.experiment = e.id)
    FROM experiment e
    WHERE (SELECT MAX(d.decided_at) FROM decision d
           WHERE d.experiment = e.id AND d.applied_version IS NULL AND d.stream = 'learn' AND d.decided_at > :after)
          IS NOT NULL
"""


def no_delays() -> str:
    """The record of a new experiment: all open decisions are waited for."""
    from turncoat.learners.turncoat.delays import blank_delays, saved_delays

    return to_json(saved_delays(blank_delays()))


def with_delays(delays: str | None, told: Sequence[float]) -> str:
    """The record once these delays, in seconds, were counted too. Experiments of earlier versions have none (None)."""
    import numpy as np

    from turncoat.learners.turncoat.delays import count_delays, restored_delays, saved_delays

    record = restored_delays(None if delays is None else msgspec.json.decode(delays))
    milliseconds = np.rint(1e3 * np.array(told)).astype(np.int64)
    count_delays(record, np.maximum(milliseconds, 1))  # 1: the clock may have been set back
    return to_json(saved_delays(record))


def reach(delays: str | None) -> float:
    """In seconds. Without a record: next to nothing, so that nothing is waited for until the first reward."""
    return 1e-3 if delays is None else 1e-3 * float(msgspec.json.decode(delays)[0])


def is_record(delays: str | None) -> bool:
    """Whether a stored record can be read."""
    try:
        return delays is None or reach(delays) > 0.0
    except (msgspec.DecodeError, ValueError, TypeError, LookupError):
        return False


def pulls_to_plan(session: Session, experiment: int, delays: str | None, now: float) -> DeferredResult[int]:
    """m, for the decisions that are open in this transaction."""
    longest = reach(delays)
    found = session.send(WAITING, experiment=experiment, after=max(now - longest, -1.0), limit=COUNTED)

    def counted() -> int:
        from turncoat.learners.turncoat.planned_asks import rounded

        n, oldest = found()[0]
        if n == COUNTED and now - longest < oldest < now and longest < now:
            n = int(n * longest / (now - oldest))
        return rounded(n + 1)

    return counted


def has_doubled(before: int, m: int) -> bool:
    """Whether a version without news is due, where the present one plans `before` pulls."""
    return m >= max(2 * before, LEAST_PLANNED)
