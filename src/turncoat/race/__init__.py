"""Learners against environments, over many seeds: played, stored, measured."""

from __future__ import annotations

from turncoat.race.contest import Progress, race
from turncoat.race.entries import ENTRIES, FEW, entry, learner_of, told
from turncoat.race.result import Result

__all__ = ["ENTRIES", "FEW", "Progress", "Result", "entry", "learner_of", "race", "told"]
