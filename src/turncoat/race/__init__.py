"""Learners against an environment, over many seeds."""

from __future__ import annotations

from turncoat.race.entries import ENTRIES
from turncoat.race.standings import Standing, leaderboard, standings

__all__ = ["ENTRIES", "Standing", "leaderboard", "standings"]
