"""Races: learners × environments × seeds, played in parallel, stored, and compared."""

from __future__ import annotations

from turncoat.learners.entries import told
from turncoat.racing.result import Result
from turncoat.racing.run import Progress, race

__all__ = ["Progress", "Result", "race", "told"]
