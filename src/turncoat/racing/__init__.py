"""Learners against environments, over many seeds: played, stored, measured."""

from __future__ import annotations

from turncoat.racing.entries import ENTRIES, FEW, entry, learner_of, told
from turncoat.racing.leagues import BANDIT, FRONT, LEAGUES, in_leagues, league_of
from turncoat.racing.result import Result
from turncoat.racing.run import Progress, race

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
