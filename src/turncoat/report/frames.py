"""Frames: what a race hands to its report. Long polars frames, one row a number, and a few words about the race.

    frame        columns (null where a number does not exist)
    games        environment, horizon, n_arms, n_switches (of the planted path), oblivious (or it sees the arms played),
                 description
    traces       environment, learner, seed, t, regret (against L*(n_switches)), pseudo_regret (against planted)
    frontier     environment, learner, seed, S, regret (at the last round, against L*(S))
    growth       environment, learner, seed, horizon, regret: games of several horizons
    shares       environment, learner, seed, t, arm, share (of the rounds up to t)
    planted      environment, seed, start, arm: the planted path from round `start` on, until the next start
    trust        environment, learner, seed, t, base, candidate, probability, rho
    beliefs      environment, learner, seed, start, arm, sure: the arm believed best from round `start` on
    split        environment, learner, seed, t, base, candidate, master_regret, base_regret
    bounds       environment, learner, seed, theorem, candidate, bound, master_bound, base_bound
    times        environment, learner, seed, ns_per_round
    leaderboard  environment, learner, regret, low, high, rank, rank_low, rank_high, ns_per_round; and, if known,
                 setting (of the learner, which is ranked among those that see the same)
    overall      learner: all of them, best first; and, if known, mean_rank

Only `games` and `leaderboard` must be there; a figure whose frame is missing or empty is left out. Further columns are
welcome and ignored. Rounds t are counts of rounds played, so the last one is the horizon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from turncoat.errors import TableError
from turncoat.racing import in_leagues

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    "games": "environment horizon n_arms n_switches oblivious description",
    "leaderboard": "environment learner regret low high rank rank_low rank_high ns_per_round",
    "traces": "environment learner seed t regret pseudo_regret",
    "frontier": "environment learner seed S regret",
    "growth": "environment learner seed horizon regret",
    "shares": "environment learner seed t arm share",
    "planted": "environment seed start arm",
    "trust": "environment learner seed t base candidate probability rho",
    "beliefs": "environment learner seed start arm sure",
    "split": "environment learner seed t base candidate master_regret base_regret",
    "bounds": "environment learner seed theorem candidate bound master_bound base_bound",
    "times": "environment learner seed ns_per_round",
    "overall": "learner",
}


@dataclass(frozen=True)
class Frames:
    """The results of a race, ready to be drawn. The module says which columns each frame has."""

    games: pl.DataFrame
    leaderboard: pl.DataFrame
    traces: pl.DataFrame | None = None
    frontier: pl.DataFrame | None = None
    growth: pl.DataFrame | None = None
    shares: pl.DataFrame | None = None
    planted: pl.DataFrame | None = None
    trust: pl.DataFrame | None = None
    beliefs: pl.DataFrame | None = None
    split: pl.DataFrame | None = None
    bounds: pl.DataFrame | None = None
    times: pl.DataFrame | None = None
    overall: pl.DataFrame | None = None
    title: str = "A race of bandits"
    about: Mapping[str, str] = field(default_factory=dict)  # machine, versions, seeds: shown as they are, in this order

    def __post_init__(self) -> None:
        for frame in fields(self):
            if frame.name in COLUMNS:
                self._check(frame.name)
        for name in ("games", "leaderboard"):
            if getattr(self, name).is_empty():
                raise TableError(f"the frame {name!r} is empty; a report needs at least one row in it")

    def _check(self, name: str) -> None:
        frame = getattr(self, name)
        if frame is None:
            return
        wanted = COLUMNS[name].split()
        missing = [column for column in wanted if column not in frame.columns]
        if missing:
            lacks = ", ".join(missing)
            raise TableError(f"the frame {name!r} lacks the columns {lacks}; it needs {', '.join(wanted)}")

    def has(self, name: str) -> bool:
        """Is there anything in this frame?"""
        frame = getattr(self, name)
        return frame is not None and not frame.is_empty()

    def environments(self) -> list[str]:
        """The environments, in the order of `games`."""
        return list(dict.fromkeys(self.games["environment"].to_list()))

    def learners(self) -> list[str]:
        """The learners, best first: in the order of `overall`, or by their mean rank, league by league."""
        if self.overall is not None:
            return list(self.overall["learner"])
        ranks: dict[str, list[float]] = {}
        for row in self.leaderboard.iter_rows(named=True):
            ranks.setdefault(row["learner"], []).append(float(row["rank"]))
        best = sorted(ranks, key=lambda learner: (sum(ranks[learner]) / len(ranks[learner]), learner))
        return [learner for league in in_leagues(best, self.settings()).values() for learner in league]

    def settings(self) -> dict[str, str]:
        """What losses each learner is for, as far as the leaderboard says."""
        if "setting" not in self.leaderboard.columns:
            return {}
        return {
            learner: setting or "" for learner, setting in self.leaderboard.select("learner", "setting").iter_rows()
        }
