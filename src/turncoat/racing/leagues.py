"""Leagues: learners are ranked among those that see the same.

Whoever sees the losses of all arms, or the arms' features, is no rival of those that see the loss of one arm; but
beside them it shows what seeing less costs. A learner's league comes from the setting that it states about itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turncoat.learners import Learner

BANDIT = "bandit"
LEAGUES = (BANDIT, "full information", "linear")
FRONT = 12  # learners of a league that stand in front, where many race


def setting_of(learner: object) -> str:
    """The setting that a learner states; what it sees, for learners of users', which need not state any."""
    if not isinstance(learner, Learner):
        return ""
    if learner.sees_all:
        return "full information"
    return learner.facts.setting if hasattr(learner, "facts") else ""


def league_of(setting: str) -> str:
    """The league of learners with this setting; whoever states none sees one loss a round."""
    return setting if setting in LEAGUES else BANDIT


def in_leagues(learners: Iterable[str], settings: Mapping[str, str]) -> dict[str, list[str]]:
    """The leagues that have learners, each with its own in the order given."""
    found: dict[str, list[str]] = {league: [] for league in LEAGUES}
    for learner in learners:
        found[league_of(settings.get(learner, ""))].append(learner)
    return {league: names for league, names in found.items() if names}
