"""Learners against environments, over many seeds: played, stored, measured."""

from __future__ import annotations

from turncoat.race.contest import Progress, race
from turncoat.race.entries import ENTRIES, FEW, entry, learner_of, told
from turncoat.race.leagues import BANDIT, FRONT, LEAGUES, in_leagues, league_of
from turncoat.race.result import Result

__all__ = [
    "BANDIT",
    "ENTRIES",
    "FEW",
    "FRONT",
    "LEAGUES",
    "Progress",
    "Result",
    "entry",
    "in_leagues",
    "league_of",
    "learner_of",
    "race",
    "told",
]
