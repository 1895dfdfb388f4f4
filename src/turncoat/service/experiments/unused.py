"""Unused decisions: a deferred decision that is not activated within 30 days is closed, and nothing is learned from it.

A page that asks for all flags gets one decision per experiment and uses few of them; its user may never come back. Such
a decision has no window, so nothing else would ever close it. It ends as `expired`, also where there is a default
reward: what was not used has not failed. One that has rewards already was used: its window ends now.
"""

from __future__ import annotations

from turncoat.service.experiments.early_rewards import INBOX
from turncoat.service.store.interface import Session

UNUSED_SECONDS = 30 * 86_400.0
MOST = 1000  # decisions per transaction: callers wait for its end

UNUSED = """
    SELECT d.id, d.experiment, EXISTS (SELECT 1 FROM part p WHERE p.decision_id = d.id) FROM decision d
    WHERE d.applied_version IS NULL AND d.expires_at IS NULL AND d.decided_at <= :before
      AND (SELECT 1 FROM inbox i WHERE i.decision_id = d.id) IS NULL
    ORDER BY d.decided_at, d.id LIMIT :limit
"""
END = "UPDATE decision SET expires_at = :now WHERE id IN :ids AND expires_at IS NULL AND outcome IS NULL"


def end_unused(session: Session, now: float) -> None:
    """Close those that are old enough: the applier does it, as it does when a window has ended."""
    found = session.rows(UNUSED, before=now - UNUSED_SECONDS, limit=MOST)
    rewarded = sorted(number for number, _, has_parts in found if has_parts)
    rows = [
        (number, experiment, None, now, None, "default") for number, experiment, has_parts in found if not has_parts
    ]
    if rewarded:
        session.run(END, now=now, ids=rewarded)
    if rows:
        session.insert_new("inbox", INBOX, sorted(rows), key=1)
