"""Damage of one experiment: recorded where every process shows it, and tried again less and less often.

    settings    settings or arms cannot be read: it neither decides nor learns
    snapshot    the published probabilities cannot be used: it neither decides nor learns
    learner     the learner's state cannot be used: it decides from the last snapshot, and does not learn
    log         the decisions that are due cannot be learned from: the same

The record holds the experiment's version. Whatever mends the experiment writes a version, and the record is void.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import NamedTuple

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import Damaged
from turncoat.service.store.interface import Session, Store, WriteConflict

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds until an experiment that failed is tried again: doubled each time
LONGEST_DETAIL = 500  # characters

COLUMNS = ("experiment", "version", "part", "detail", "since")
CURRENT = """
    SELECT d.experiment, d.part, d.detail, d.since FROM damage d
    JOIN experiment e ON e.id = d.experiment AND e.version = d.version
"""
VERSION = "SELECT key, version FROM experiment WHERE id = :id"
VOID = "DELETE FROM damage WHERE experiment = :id"

log = logging.getLogger("turncoat.engine")


class _Failure(NamedTuple):
    said: tuple[str, str]  # part and detail
    wait: float
    until: float


class DamagedExperiments:
    """The experiments whose last pass failed, here or in the process before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.reading() as session:
            self._failures = {number: _Failure(("", ""), 0.0, 0.0) for number in read_damage(session)}

    def __bool__(self) -> bool:
        return bool(self._failures)

    def due(self, now: float) -> set[int]:
        """Those that are to be tried again."""
        return self._failures.keys() - self.waiting(now)

    def waiting(self, now: float) -> set[int]:
        """Those that are not to be tried again yet. (The clock may have been set back.)"""
        return {number for number, one in self._failures.items() if one.until - one.wait <= now < one.until}

    def failed(self, experiment: int, problem: Exception, now: float) -> None:
        """Record a failure. The log and the store are told once for each different one."""
        before = self._failures.get(experiment)
        wait = FIRST_WAIT if before is None else min(max(2.0 * before.wait, FIRST_WAIT), LONGEST_WAIT)
        said = _said(problem)
        self._failures[experiment] = _Failure(said, wait, now + wait)
        if before is not None and before.said == said:
            return
        log.error("an experiment is left out: %s", said[1], exc_info=None if isinstance(problem, Damaged) else problem)
        with suppress(WriteConflict), self._store.transaction() as session:  # another process records it
            for key, version in session.rows(VERSION, id=experiment):
                session.run(VOID, id=experiment)
                detail = said[1] if isinstance(problem, Damaged) else Damaged.of(key, *said).detail
                session.insert("damage", COLUMNS, [(experiment, version, said[0], detail, now)])

    def passed(self, experiment: int) -> None:
        """It has been worked on: void its record."""
        if self._failures.pop(experiment, None) is not None:
            with suppress(WriteConflict), self._store.transaction() as session:
                session.run(VOID, id=experiment)

    def changed(self, experiment: int) -> None:
        """It has a new version, which voids its record: it may have been repaired."""
        self._failures.pop(experiment, None)


def _said(problem: Exception) -> tuple[str, str]:
    """Part and detail, as text that every store takes."""
    part, detail = "log", f"learning failed with {type(problem).__name__}: {problem}"
    if isinstance(problem, Damaged):
        part, detail = problem.part, problem.detail
    return part, detail.replace("\0", " ").encode("utf-8", "backslashreplace").decode()[:LONGEST_DETAIL]


def read_damage(session: Session) -> dict[int, messages.Damage]:
    """What is damaged at present, by experiment."""
    return {
        number: messages.Damage(part=part, detail=detail, since=as_datetime(since))
        for number, part, detail, since in session.rows(CURRENT)
    }
